//! Asks the running operator by a request, an object that it answers in its status and that goes with this command.

use std::cell::RefCell;
use std::time::Duration;

use aws_lc_rs::rand;
use cluster::{Class, Delete, Error, Session, Write};
use diag::Diagnostic;
use manifest::{Namespace, ObjectRef};
use operator::composition::requests::{
    MAX_QUESTION, OpeningKey, Operation, RequestSpec, RequestState, RequestStatus, Requester, open, pack,
    request_kind, requester,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::connect::Cluster;
use super::exit::Failure;
use crate::codes;

/// The field manager of requests.
const MANAGER: &str = "plimsoll";
/// How soon an operator that runs takes a request up.
const TAKEN_UP: Duration = Duration::from_secs(10);
const FIRST_POLL: Duration = Duration::from_millis(20);
const LONGEST_POLL: Duration = Duration::from_millis(500);

/// Requests that are written and not deleted yet.
#[derive(Default)]
pub(crate) struct OpenRequests(RefCell<Vec<(Session, ObjectRef)>>);

impl OpenRequests {
    /// Deletes them, after an interruption.
    pub(crate) async fn delete(&self) {
        let open = self.0.take();
        for (session, request) in open {
            delete(&session, &request).await;
        }
    }

    async fn close(&self, request: &ObjectRef) {
        let found = self.0.borrow().iter().find(|(_, open)| open == request).cloned();
        let Some((session, _)) = found else { return };
        delete(&session, request).await;
        self.0.borrow_mut().retain(|(_, open)| open != request);
    }
}

async fn delete(session: &Session, request: &ObjectRef) {
    let how = Delete { timeout: Duration::ZERO, ..Delete::of(request) };
    // What cannot be deleted now, the operator deletes.
    let _left = session.delete(request, &how).await;
}

/// Why the operator gave no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// The answer does not fit into an object.
    TooLarge,
    Failed(Box<Diagnostic>),
}

impl From<Diagnostic> for Unanswered {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Failed(Box::new(diagnostic))
    }
}

impl From<Unanswered> for Failure {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::TooLarge => {
                Diagnostic::error(codes::OPERATOR_REFUSED, "the operator's response exceeds the size limit")
                    .into()
            }
            Unanswered::Failed(diagnostic) => Self::Diagnostic(diagnostic),
        }
    }
}

/// Asks the operator of one cluster.
pub(crate) struct Ask<'a> {
    session: &'a Session,
    namespace: Namespace,
    requester: Requester,
    timeout: Duration,
    open: &'a OpenRequests,
    /// What to do if there is no operator.
    advice: &'static str,
}

impl<'a> Ask<'a> {
    /// `timeout` is for each answer; `advice` is for a user without an operator.
    pub(crate) async fn new(
        cluster: &'a Cluster,
        timeout: Duration,
        open: &'a OpenRequests,
        advice: &'static str,
    ) -> Result<Self, Diagnostic> {
        let session = &cluster.session;
        match session.resource(&request_kind()).await {
            Ok(_) => {}
            Err(error) if error.is_kind_absent() => {
                return Err(Diagnostic::error(
                    codes::OPERATOR_SILENT,
                    "no operator answers requests in this cluster",
                )
                .detail("The CRD requests.plimsoll.dev is not installed.")
                .hint(advice));
            }
            Err(error) => return Err(error.diagnostic("Ask")),
        }
        let requester = requester(session).await.map_err(|error| error.diagnostic("Ask"))?;
        Ok(Self { session, namespace: cluster.namespace.clone(), requester, timeout, open, advice })
    }

    /// The same, with requests in another namespace.
    pub(crate) fn in_namespace(self, namespace: Namespace) -> Self {
        Self { namespace, ..self }
    }

    /// The answer to a question.
    pub(crate) async fn answer<T: DeserializeOwned>(
        &self,
        operation: Operation,
        question: &impl Serialize,
    ) -> Result<T, Unanswered> {
        let unusable = |error: &dyn std::error::Error| {
            Diagnostic::error(codes::ENVIRONMENT, format!("cannot ask the operator: {error}"))
        };
        let question = pack(question).map_err(|error| unusable(&error))?;
        if question.len() > MAX_QUESTION {
            return Err(Unanswered::TooLarge);
        }
        let key = OpeningKey::new().map_err(|error| unusable(&error))?;
        let spec = RequestSpec {
            operation,
            requester: self.requester.clone(),
            key: key.public(),
            question,
            timeout_seconds: u32::try_from(self.timeout.as_secs()).unwrap_or(u32::MAX).clamp(1, 3600),
        };
        let request = self.write(&spec).await?;
        let answered = tokio::time::timeout(self.timeout, self.wait(&request)).await;
        self.open.close(&request).await;
        let answer = answered.map_err(|_| {
            let title = format!("the operator did not answer within {} s", self.timeout.as_secs());
            Diagnostic::error(codes::OPERATOR_SILENT, title)
                .hint("Raise the time limit, or look into the operator's log.")
        })??;
        open(&answer, key).map_err(|error| unusable(&error).into())
    }

    async fn write(&self, spec: &RequestSpec) -> Result<ObjectRef, Unanswered> {
        let mut random = [0; 16];
        rand::fill(&mut random).expect("the system has random numbers");
        // The name cannot be guessed: who may get requests cannot find those of others.
        let name = format!("plimsoll-{:032x}", u128::from_be_bytes(random));
        let target = ObjectRef::new(request_kind(), Some(self.namespace.clone()), name);
        let body = json!({
            "apiVersion": target.api_version().to_string(), "kind": target.kind(),
            "metadata": {"name": target.name, "namespace": self.namespace.as_str()},
            "spec": spec,
        });
        // Before it is written: an interruption may come while the answer is on its way.
        self.open.0.borrow_mut().push((self.session.clone(), target.clone()));
        match self.session.create(&target, &body, Write::by(MANAGER)).await {
            Ok(_) => Ok(target),
            Err(error) => {
                self.open.0.borrow_mut().retain(|(_, open)| *open != target);
                Err(self.unwritable(&error).into())
            }
        }
    }

    fn unwritable(&self, error: &Error) -> Diagnostic {
        let diagnostic = error.diagnostic("Ask");
        match error.class() {
            Class::InsufficientPermissions => diagnostic.hint(format!(
                "Ask for the ClusterRole plimsoll-requests in a namespace, and choose it with --namespace. {}",
                self.advice
            )),
            Class::NamespaceMissing => {
                diagnostic.hint("Choose a namespace that exists with --namespace; the request is written there.")
            }
            _ => diagnostic,
        }
    }

    /// The encrypted answer.
    async fn wait(&self, request: &ObjectRef) -> Result<String, Unanswered> {
        let began = Instant::now();
        let mut poll = FIRST_POLL;
        loop {
            tokio::time::sleep(poll).await;
            poll = (poll * 3 / 2).min(LONGEST_POLL);
            let found = self.session.read(request).await.map_err(|error| error.diagnostic("Ask"))?;
            let Some(found) = found else {
                return Err(Diagnostic::error(codes::OPERATOR_SILENT, format!("{request} was deleted"))
                    .detail("It is this command's question to the operator, which had not answered it yet.")
                    .hint("Run the command again.")
                    .into());
            };
            let status = found.object.get("status").unwrap_or(&Value::Null);
            let status = RequestStatus::deserialize(status).unwrap_or_default();
            match status.state {
                Some(RequestState::Answered) => return Ok(status.answer),
                Some(RequestState::TooLarge) => return Err(Unanswered::TooLarge),
                Some(RequestState::Refused) => return Err(refused(&status.message).into()),
                None if began.elapsed() > TAKEN_UP => return Err(self.silence().into()),
                None | Some(RequestState::Running) => {}
            }
        }
    }

    fn silence(&self) -> Diagnostic {
        Diagnostic::error(codes::OPERATOR_SILENT, "no operator accepted the request")
            .detail(format!("Within {} s, none has taken the request up.", TAKEN_UP.as_secs()))
            .hint(self.advice)
    }
}

fn refused(message: &str) -> Diagnostic {
    let mut letters = message.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    Diagnostic::error(codes::OPERATOR_REFUSED, "the operator does not answer")
        .detail(format!("{first}{}.", letters.as_str().trim_end_matches('.')))
}
