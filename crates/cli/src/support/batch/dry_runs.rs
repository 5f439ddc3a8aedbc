//! Which objects need a dry run, and which can be compared locally.

use std::cell::RefCell;
use std::collections::HashSet;

use cluster::Session;
use manifest::ObjectRef;
use plan::{Admission, Intervention, LastAnswer, LocalAnswer, Question, question};
use tokio::sync::OnceCell;

/// The number of unchanged objects from which listing webhooks and policies takes fewer requests than asking about
/// each.
const WORTH_LISTING: usize = 5;

/// The answers that need no request to the API server.
#[derive(Default)]
pub(crate) struct DryRuns {
    /// The objects that are already as an apply would leave them.
    applied: RefCell<HashSet<ObjectRef>>,
    /// The objects of which the API server's last answer is remembered and still right.
    answered: RefCell<HashSet<ObjectRef>>,
    /// Listed at most once; `None` without permission.
    admission: OnceCell<Option<Admission>>,
}

impl DryRuns {
    /// Takes note of what is known of an object. It is forgotten if the object is settled.
    pub(crate) async fn note(
        &self,
        session: &Session,
        target: &ObjectRef,
        is_applied: bool,
        is_answered: bool,
    ) -> Question {
        if is_answered {
            self.answered.borrow_mut().insert(target.clone());
        }
        if is_applied {
            self.applied.borrow_mut().insert(target.clone());
            if self.applied.borrow().len() >= WORTH_LISTING && !is_answered {
                self.admission(session).await;
            }
        }
        self.question(session, target).await
    }

    /// Forgets an object that needs no dry run.
    pub(crate) fn forget(&self, target: &ObjectRef) {
        self.answered.borrow_mut().remove(target);
        // Those that are left make it worth to list webhooks and policies, or not.
        if self.admission.initialized() {
            self.applied.borrow_mut().remove(target);
        }
    }

    /// Whether an object needs a dry run.
    pub(crate) async fn question(&self, session: &Session, target: &ObjectRef) -> Question {
        let last_answer = self.last_answer(target);
        let intervention = match self.admission.get() {
            Some(_) if last_answer == LastAnswer::Forgotten => self.intervention(session, target).await,
            _ => Intervention::Unknown,
        };
        question(last_answer, || self.applied.borrow().contains(target), intervention)
    }

    /// What is known of an object for which the API server has refused a dry run or an apply.
    pub(crate) async fn local_answer(&self, session: &Session, target: &ObjectRef) -> LocalAnswer {
        if self.last_answer(target) == LastAnswer::Current {
            return LocalAnswer::Unchanged;
        }
        let is_applied = self.applied.borrow().contains(target);
        let intervention =
            if is_applied { self.intervention(session, target).await } else { Intervention::Unknown };
        plan::local_answer(|| is_applied, intervention)
    }

    /// An answer that is outdated is as good as none.
    fn last_answer(&self, target: &ObjectRef) -> LastAnswer {
        if self.answered.borrow().contains(target) { LastAnswer::Current } else { LastAnswer::Forgotten }
    }

    async fn intervention(&self, session: &Session, target: &ObjectRef) -> Intervention {
        match (self.admission(session).await, session.resource(&target.gvk).await) {
            (Some(admission), Ok(resource)) => admission.intervention(target.group(), &resource.plural),
            _ => Intervention::Unknown,
        }
    }

    async fn admission(&self, session: &Session) -> Option<&Admission> {
        let list = async || {
            let objects = session.list_kinds(Admission::GROUP, &Admission::KINDS).await.ok()?;
            Some(Admission::of(&objects))
        };
        self.admission.get_or_init(list).await.as_ref()
    }
}
