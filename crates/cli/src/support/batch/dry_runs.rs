//! Which objects need a dry run, and which can be compared locally.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use cluster::Session;
use manifest::{GroupVersionKind, ObjectRef};
use plan::{Admission, Intervention, LastAnswer, LocalAnswer, Question, question};
use tokio::sync::OnceCell;

/// The number of unchanged objects from which listing webhooks and policies takes fewer requests than asking about
/// each.
const WORTH_LISTING: usize = 5;

/// The answers that need no request to the API server.
#[derive(Default)]
pub(crate) struct DryRuns {
    /// Without the objects that are settled: there may be many.
    known: RefCell<HashMap<ObjectRef, Known>>,
    /// How many objects were found to be as an apply would leave them.
    applied: Cell<usize>,
    /// Listed at most once; `None` without permission.
    admission: OnceCell<Option<Admission>>,
    interventions: RefCell<HashMap<GroupVersionKind, Intervention>>,
}

/// What is known of an object without a request about it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Known {
    /// It is already as an apply would leave it.
    pub(crate) is_applied: bool,
    /// The API server's last answer is remembered and still right.
    pub(crate) is_answered: bool,
}

impl Known {
    /// An answer that is outdated is as good as none.
    const fn last_answer(self) -> LastAnswer {
        if self.is_answered { LastAnswer::Current } else { LastAnswer::Forgotten }
    }
}

impl DryRuns {
    /// Whether an object needs a dry run, of which this is `known`.
    pub(crate) async fn note(&self, session: &Session, target: &ObjectRef, known: Known) -> Question {
        if known.is_applied {
            self.applied.update(|count| count + 1);
            if self.applied.get() >= WORTH_LISTING && !known.is_answered {
                self.admission(session).await;
            }
        }
        self.decide(session, target, known).await
    }

    /// Remembers an object that is not settled.
    pub(crate) fn remember(&self, target: &ObjectRef, known: Known) {
        self.known.borrow_mut().insert(target.clone(), known);
    }

    /// Whether an object that is not settled needs a dry run.
    pub(crate) async fn question(&self, session: &Session, target: &ObjectRef) -> Question {
        self.decide(session, target, self.known(target)).await
    }

    /// What is known of an object for which the API server has refused a dry run or an apply.
    pub(crate) async fn local_answer(&self, session: &Session, target: &ObjectRef) -> LocalAnswer {
        let known = self.known(target);
        if known.is_answered {
            return LocalAnswer::Unchanged;
        }
        let intervention =
            if known.is_applied { self.intervention(session, target).await } else { Intervention::Unknown };
        plan::local_answer(|| known.is_applied, intervention)
    }

    fn known(&self, target: &ObjectRef) -> Known {
        self.known.borrow().get(target).copied().unwrap_or_default()
    }

    async fn decide(&self, session: &Session, target: &ObjectRef, known: Known) -> Question {
        let intervention = match self.admission.get() {
            Some(_) if !known.is_answered => self.intervention(session, target).await,
            _ => Intervention::Unknown,
        };
        question(known.last_answer(), || known.is_applied, intervention)
    }

    /// Found out once per kind.
    async fn intervention(&self, session: &Session, target: &ObjectRef) -> Intervention {
        let found = self.interventions.borrow().get(&target.gvk).copied();
        if let Some(intervention) = found {
            return intervention;
        }
        let intervention = match (self.admission(session).await, session.resource(&target.gvk).await) {
            (Some(admission), Ok(resource)) => admission.intervention(target.group(), &resource.plural),
            _ => Intervention::Unknown,
        };
        self.interventions.borrow_mut().insert(target.gvk.clone(), intervention);
        intervention
    }

    async fn admission(&self, session: &Session) -> Option<&Admission> {
        let list = async || {
            let objects = session.list_kinds(Admission::GROUP, &Admission::KINDS).await.ok()?;
            Some(Admission::of(&objects))
        };
        self.admission.get_or_init(list).await.as_ref()
    }
}
