//! The situations that errors fall into: by type and reason first, by the server's text last.

use super::{Error, ErrorKind, Subject};
use crate::status::{ApiStatus, StatusCause};

/// A situation that people know, with the title they search for (terraform-provider.md, 8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The server does not believe who we are, or we could not say it.
    AuthenticationFailed,
    /// We are known and may not.
    InsufficientPermissions,
    /// There is no connection, or somebody else answers.
    ConnectionFailed,
    /// The object is not there.
    NotFound,
    /// The namespace is not there.
    NamespaceMissing,
    /// Other managers hold fields we want to set.
    FieldManagerConflict,
    /// The object changed between our reading and our writing it.
    Outdated,
    /// The server did not answer in time.
    Timeout,
    /// Some fields are unknown, missing, or have values they must not have.
    FieldValidation,
    /// Some fields cannot be changed any more.
    Immutable,
    /// A rule of the CRD's author is broken.
    Cel,
    /// The object is invalid in some other way.
    Invalid,
    /// The object is there already.
    AlreadyExists,
    /// A kind of Kubernetes itself, in a group that does not have it.
    InvalidGroup,
    /// No such kind.
    KindMissing,
    /// Anything else.
    Other,
}

impl Class {
    /// The title users know.
    pub const fn title(self) -> &'static str {
        match self {
            Self::AuthenticationFailed => "Authentication Failed",
            Self::InsufficientPermissions => "Insufficient Permissions",
            Self::ConnectionFailed => "Cluster Connection Failed",
            Self::NotFound => "Resource Not Found",
            Self::NamespaceMissing => "Namespace Not Found",
            Self::FieldManagerConflict => "Field Manager Conflict",
            Self::Timeout => "Kubernetes API Timeout",
            Self::FieldValidation => "Field Validation Failed",
            Self::Immutable => "Immutable Field Changed",
            Self::Cel => "CEL Validation Failed",
            Self::Invalid => "Invalid Resource",
            Self::AlreadyExists => "Resource Already Exists",
            Self::InvalidGroup => "Invalid API Group",
            Self::KindMissing => "Custom Resource Definition Not Found",
            Self::Outdated | Self::Other => "Kubernetes API Error",
        }
    }
}

impl Error {
    /// The situation this error is.
    pub fn class(&self) -> Class {
        match self.kind() {
            // A code without a status comes from somebody in between, who refuses or fails in the server's place.
            ErrorKind::Credentials(_) | ErrorKind::Foreign { code: 401, .. } => Class::AuthenticationFailed,
            ErrorKind::Foreign { code: 403, .. } => Class::InsufficientPermissions,
            ErrorKind::TimedOut(_) | ErrorKind::Foreign { code: 504 | 408, .. } => Class::Timeout,
            // Discovery is on every API server, and so are the paths that it lists: whoever lacks them is none.
            ErrorKind::Unreachable(_) | ErrorKind::Tls(_) | ErrorKind::Foreign { code: 404, .. } => {
                Class::ConnectionFailed
            }
            ErrorKind::NamespaceMissing { .. } => Class::NamespaceMissing,
            ErrorKind::KindMissing(missing) if missing.home_of_builtin().is_some() => Class::InvalidGroup,
            ErrorKind::KindMissing(_) => Class::KindMissing,
            ErrorKind::TooDeep { .. } => Class::Invalid,
            ErrorKind::Broken(_) | ErrorKind::Unwieldy(_) | ErrorKind::Foreign { .. } => Class::Other,
            ErrorKind::Status(status) => self.class_of(status),
        }
    }

    fn class_of(&self, status: &ApiStatus) -> Class {
        match (status.code, status.reason.as_str()) {
            (401, _) | (_, "Unauthorized") => Class::AuthenticationFailed,
            (403, _) | (_, "Forbidden") => Class::InsufficientPermissions,
            (404, _) | (_, "NotFound") => Class::NotFound,
            (_, "AlreadyExists") => Class::AlreadyExists,
            (409, _) if status.has_cause("FieldManagerConflict") => Class::FieldManagerConflict,
            (409, _) => Class::Outdated,
            (504 | 408, _) | (_, "Timeout" | "ServerTimeout") => Class::Timeout,
            (400 | 500, _) if is_field_validation(&status.message) => Class::FieldValidation,
            (422, _) if is_immutable(status) => Class::Immutable,
            (422, _) if self.is_custom() && is_cel(status) => Class::Cel,
            (422, _) if names_fields(status) => Class::FieldValidation,
            (422, _) => Class::Invalid,
            (400 | 500, _) if is_conversion(&status.message) => Class::FieldValidation,
            _ => Class::Other,
        }
    }

    /// Whether the object is of a kind that Kubernetes does not come with.
    fn is_custom(&self) -> bool {
        let group = match self.subject() {
            Subject::Object(object) => object.group(),
            Subject::Kind(gvk) => gvk.group(),
            Subject::Cluster => return false,
        };
        group.contains('.') && !group.ends_with(".k8s.io")
    }
}

/// How the apply's own schema check begins what it says; the same words stand before one problem and before several.
pub(super) const SCHEMA_CHECK: &str = "failed to create typed patch object";

/// Unknown and duplicate fields come as a 400 (strict decoding), or, with wrong types, as a 500 from the apply's own
/// schema check.
fn is_field_validation(message: &str) -> bool {
    ["unknown field", "duplicate field", "strict decoding error", SCHEMA_CHECK]
        .iter()
        .any(|words| message.contains(words))
}

/// A quantity or a type that cannot be read; such an answer has no causes.
fn is_conversion(message: &str) -> bool {
    [
        "failed to convert",
        "quantities must match",
        "unable to convert unstructured object",
        "cannot unmarshal",
    ]
    .iter()
    .any(|words| message.contains(words))
}

/// Whether every single finding is that a field cannot be changed.
///
/// The word "forbidden" means nothing here: most forbidden values are merely not allowed, and taking them for immutable
/// would destroy an object for a typing error.
fn is_immutable(status: &ApiStatus) -> bool {
    let causes = &status.details.causes;
    !causes.is_empty() && causes.iter().all(is_immutable_cause)
}

pub(super) fn is_immutable_cause(cause: &StatusCause) -> bool {
    if !matches!(cause.reason.as_str(), "FieldValueInvalid" | "FieldValueForbidden") {
        return false;
    }
    let message = cause.message.to_lowercase();
    let says = |words: &str| message.contains(words);
    says("immutable")
        || says("may not change")
        || says("may not be changed")
        || says("cannot be changed")
        || says("can not be changed")
        || says("may not be modified")
        || says("cannot change roleref")
        // StatefulSets: "updates to statefulset spec for fields other than … are forbidden"; StorageClasses:
        // "updates to parameters are forbidden."
        || (says("updates to ") && says(" are forbidden"))
        // The usual way to say it in a CRD.
        || says("self == oldself")
}

/// Whether a rule in the CRD is broken, rather than its schema, whose findings say "in body" or name a type.
fn is_cel(status: &ApiStatus) -> bool {
    status.details.causes.iter().any(|cause| {
        let says = |words: &str| cause.message.contains(words);
        says("failed rule:")
            || says("x-kubernetes-validations")
            || (cause.reason == "FieldValueInvalid" && !says(" in body ") && !says("must be of type"))
    })
}

fn names_fields(status: &ApiStatus) -> bool {
    status.details.causes.iter().any(|cause| {
        let known = match cause.reason.as_str() {
            "FieldValueNotSupported" | "FieldValueRequired" | "FieldValueTypeInvalid" => true,
            _ => cause.message.contains("must be") || cause.message.contains(" should be "),
        };
        known && !cause.field.is_empty()
    })
}
