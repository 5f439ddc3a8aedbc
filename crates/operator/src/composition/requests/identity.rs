//! Who asks, and what they may know.
//!
//! The API server authenticates users, and nothing in an object says which of them wrote it. So a request names its author,
//! and an admission policy (`deploy/requests.yaml`) rejects one that names another. The operator answers only while it sees that
//! policy at work, and asks the API server for the author's rights to everything it would show.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use cluster::{Error, Session, Write};
use composition::object;
use composition::protocol::Object;
use jiff::Timestamp;
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use serde_json::{Value, json};

use super::wire::{Operation, RequestSpec, Requester, request_kind};
use crate::runtime::client::MANAGER;

/// The name of the policy and its binding.
pub(super) const POLICY: &str = "plimsoll-requests";
/// The name of a request that is not written.
const PROBE: &str = "plimsoll-probe";

fn kind(text: &str) -> GroupVersionKind {
    text.parse().expect("a fixed kind")
}

/// How the API server knows the user of `session`.
pub async fn requester(session: &Session) -> Result<Requester, Error> {
    let review = ObjectRef::new(kind("authentication.k8s.io/v1/SelfSubjectReview"), None, "");
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let answer = session.create(&review, &body, Write::by("plimsoll")).await?;
    Ok(serde_json::from_value(answer.object["status"]["userInfo"].clone()).unwrap_or_default())
}

/// Since when the API server rejects a request that names another author; nothing if it does not. Asked with a request that would
/// be one, and is not written.
pub(super) async fn certified_since(
    session: &Session,
    namespace: &Namespace,
) -> Result<Option<Timestamp>, Error> {
    let target = ObjectRef::new(request_kind(), Some(namespace.clone()), PROBE);
    let spec = RequestSpec {
        operation: Operation::Plan,
        requester: Requester { username: "plimsoll:another-user".to_owned(), ..Requester::default() },
        key: String::new(),
        question: String::new(),
        timeout_seconds: 1,
    };
    let body = json!({
        "apiVersion": target.api_version().to_string(), "kind": target.kind(),
        "metadata": {"name": target.name, "namespace": namespace.as_str()},
        "spec": spec,
    });
    match session.create(&target, &body, Write::by(MANAGER).dry_run()).await {
        Ok(_) => Ok(None),
        Err(error) => match error.status().and_then(|status| denying_binding(&status.message)) {
            Some(binding) => in_force_since(session, binding).await,
            None => Err(error),
        },
    }
}

/// The binding by which the policy denied the probe. Users can have a request refused with words of their own, for instance by
/// a quota of that name.
fn denying_binding(message: &str) -> Option<&str> {
    let rest = message.strip_prefix(&format!("requests.plimsoll.dev \"{PROBE}\" is forbidden: "))?;
    let rest = rest.strip_prefix(&format!("ValidatingAdmissionPolicy '{POLICY}' with binding '"))?;
    let (binding, rest) = rest.split_once('\'')?;
    rest.starts_with(" denied request").then_some(binding)
}

/// When the younger one of the policy and its binding was made. What was written before was not checked.
async fn in_force_since(session: &Session, binding: &str) -> Result<Option<Timestamp>, Error> {
    let mut since = None;
    for (what, name) in [("ValidatingAdmissionPolicy", POLICY), ("ValidatingAdmissionPolicyBinding", binding)]
    {
        let gvk = kind(&format!("admissionregistration.k8s.io/v1/{what}"));
        let read = session.read(&ObjectRef::new(gvk, None, name)).await?;
        let Some(created) = read.as_ref().and_then(|read| created(read.object.as_object()?)) else {
            return Ok(None);
        };
        since = since.max(Some(created));
    }
    Ok(since)
}

/// When an object was written, to the second.
pub(super) fn created(object: &Object) -> Option<Timestamp> {
    object::text(object, &["metadata", "creationTimestamp"])?.parse().ok()
}

/// What one user may do, each question asked once.
pub(super) struct Rights<'a> {
    session: &'a Session,
    requester: &'a Requester,
    known: Mutex<HashMap<Question, bool>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Question {
    verb: &'static str,
    gvk: GroupVersionKind,
    namespace: Option<Namespace>,
    /// `None` for all objects of the kind.
    name: Option<String>,
}

impl<'a> Rights<'a> {
    pub(super) fn of(requester: &'a Requester, session: &'a Session) -> Self {
        Self { session, requester, known: Mutex::default() }
    }

    /// Whether the user may do this with the object, by a right on all of its kind or on this one; with all of its kind, if it
    /// has no name. What cannot be answered is not allowed.
    pub(super) async fn may(&self, verb: &'static str, target: &ObjectRef) -> bool {
        let of_kind =
            Question { verb, gvk: target.gvk.clone(), namespace: target.namespace.clone(), name: None };
        let of_object = Question { name: Some(target.name.clone()), ..of_kind.clone() };
        self.is_allowed(of_kind).await || (!target.name.is_empty() && self.is_allowed(of_object).await)
    }

    async fn is_allowed(&self, question: Question) -> bool {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let answered = known().get(&question).copied();
        if let Some(answer) = answered {
            return answer;
        }
        match self.ask(&question).await {
            Ok(answer) => {
                known().insert(question, answer);
                answer
            }
            Err(error) => {
                tracing::warn!(%error, "cannot ask for the rights of a user");
                false
            }
        }
    }

    async fn ask(&self, question: &Question) -> Result<bool, Error> {
        let Ok(resource) = self.session.resource(&question.gvk).await else { return Ok(false) };
        // A right in a namespace says nothing about objects of the cluster.
        let namespace = question.namespace.as_ref().filter(|_| resource.namespaced);
        let Requester { username, uid, groups, extra } = self.requester;
        let target = ObjectRef::new(kind("authorization.k8s.io/v1/SubjectAccessReview"), None, "");
        let body = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {
                "user": username, "uid": uid, "groups": groups, "extra": extra,
                "resourceAttributes": {
                    "verb": question.verb, "group": question.gvk.group(), "version": question.gvk.version(),
                    "resource": resource.plural,
                    "namespace": namespace.map(Namespace::as_str).unwrap_or_default(),
                    "name": question.name.as_deref().unwrap_or_default(),
                },
            },
        });
        let answer = self.session.create(&target, &body, Write::by(MANAGER)).await?;
        Ok(answer.object["status"]["allowed"] == Value::Bool(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_policy_certifies() {
        let check = |message: &str, expected: Option<&str>| {
            assert_eq!(denying_binding(message), expected, "{message}");
        };
        let probe = "requests.plimsoll.dev \"plimsoll-probe\" is forbidden:";
        let denied = "ValidatingAdmissionPolicy 'plimsoll-requests' with binding 'plimsoll-requests' denied request: \
                      spec.requester.username must be the user who writes the request";
        check(&format!("{probe} {denied}"), Some("plimsoll-requests"));
        check(
            &format!("{probe} {}", denied.replace("binding 'plimsoll-requests'", "binding 'own'")),
            Some("own"),
        );
        check(denied, None);
        check(
            &format!("{probe} exceeded quota: plimsoll-requests, requested: count/requests.plimsoll.dev=1"),
            None,
        );
        check(&format!("admission webhook \"a.example.org\" denied the request: {probe} {denied}"), None);
        check(&format!("{probe} {}", denied.replace("Policy 'plimsoll-requests'", "Policy 'other'")), None);
        check(&format!("{probe} ValidatingAdmissionPolicy 'plimsoll-requests' with binding 'a'"), None);
        check(&format!("requests.plimsoll.dev \"other\" is forbidden: {denied}"), None);
    }
}
