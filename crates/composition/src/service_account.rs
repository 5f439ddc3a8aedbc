//! The ServiceAccount that composed resources are written as, so that RBAC decides what a tenant may compose.

use std::fmt;

use manifest::Namespace;

use crate::composite::Composite;
use crate::naming::LABEL_CLAIM_NAMESPACE;
use crate::object;
use crate::protocol::Object;

/// The annotation of a Composition that names another ServiceAccount than the default.
pub const ANNOTATION_SERVICE_ACCOUNT: &str = "plimsoll.dev/service-account";

/// A ServiceAccount in the namespace of a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServiceAccount {
    pub namespace: String,
    pub name: String,
}

/// It cannot be a ServiceAccount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} is not the namespace and name of a ServiceAccount. Correct the annotation {ANNOTATION_SERVICE_ACCOUNT}, the flag or the XR"
)]
pub struct InvalidAccount(pub ServiceAccount);

impl ServiceAccount {
    /// The account that writes the resources of `xr`: the one that its Composition names, else `default`, in the namespace of
    /// the XR or its claim. `None`: the operator itself, since no account is named or the XR is in no namespace.
    pub fn of(
        xr: Composite<'_>,
        composition: Option<&Object>,
        default: Option<&str>,
    ) -> Result<Option<Self>, InvalidAccount> {
        let named = composition.and_then(|one| object::annotation(one, ANNOTATION_SERVICE_ACCOUNT));
        let (Some(name), Some(namespace)) = (named.or(default), tenant(xr)) else { return Ok(None) };
        let account = Self { namespace, name: name.to_owned() };
        if is_name(&account.namespace) && is_name(name) {
            Ok(Some(account))
        } else {
            Err(InvalidAccount(account))
        }
    }

    /// The user it is to the API server, which adds the groups of service accounts by itself.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }
}

impl fmt::Display for ServiceAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The namespace of the tenant that an XR serves. An XR that another composes for a claim has no reference to the claim, but its
/// labels.
fn tenant(xr: Composite<'_>) -> Option<String> {
    let of_claim = || xr.claim_ref()?.namespace.as_ref().map(Namespace::as_str).map(str::to_owned);
    let own = object::namespace(xr.object).map(str::to_owned);
    own.or_else(of_claim).or_else(|| object::label(xr.object, LABEL_CLAIM_NAMESPACE).map(str::to_owned))
}

/// Colons would make it an account of another namespace, and what is not valid in a header cannot be sent.
fn is_name(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = [name.bytes().next(), name.bytes().last()];
    name.len() <= 253
        && ends.into_iter().all(|end| end.is_some_and(is_inner))
        && name.bytes().all(|byte| is_inner(byte) || matches!(byte, b'-' | b'.'))
}

#[cfg(test)]
mod tests;
