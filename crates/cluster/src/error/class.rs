//! Classifies errors: by type and reason first, by the server's message last.

use diag::Code;

use super::{Error, ErrorKind, Subject};
use crate::codes;
use crate::status::{ApiStatus, StatusCause};

/// The class of an error, with the title that users know and search for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The server rejected our credentials, or we could not obtain any.
    AuthenticationFailed,
    /// Authenticated, but not authorized.
    InsufficientPermissions,
    /// No connection, or the response did not come from an API server.
    ConnectionFailed,
    NotFound,
    NamespaceMissing,
    /// Other managers hold fields that would be set.
    FieldManagerConflict,
    /// The object changed between read and write.
    Outdated,
    Timeout,
    /// Fields are unknown, missing, or have invalid values.
    FieldValidation,
    /// Fields cannot be changed after creation.
    Immutable,
    /// A CEL rule in the CRD rejected the object.
    Cel,
    /// The object is invalid in some other way.
    Invalid,
    AlreadyExists,
    /// A built-in kind, in a group that does not contain it.
    InvalidGroup,
    KindMissing,
    Other,
}

impl Class {
    /// The title that users know.
    pub const fn title(self) -> &'static str {
        self.title_and_code().0
    }

    /// A stable word for it: the name of its code.
    pub const fn name(self) -> &'static str {
        self.code().name()
    }

    pub(super) const fn code(self) -> Code {
        self.title_and_code().1
    }

    const fn title_and_code(self) -> (&'static str, Code) {
        match self {
            Self::AuthenticationFailed => ("Authentication Failed", codes::AUTHENTICATION_FAILED),
            Self::InsufficientPermissions => ("Insufficient Permissions", codes::PERMISSION_DENIED),
            Self::ConnectionFailed => ("Cluster Connection Failed", codes::CONNECTION_FAILED),
            Self::NotFound => ("Resource Not Found", codes::NOT_FOUND),
            Self::NamespaceMissing => ("Namespace Not Found", codes::NAMESPACE_MISSING),
            Self::FieldManagerConflict => ("Field Manager Conflict", codes::FIELD_CONFLICT),
            Self::Timeout => ("Kubernetes API Timeout", codes::TIMEOUT),
            Self::FieldValidation => ("Field Validation Failed", codes::FIELD_INVALID),
            Self::Immutable => ("Immutable Field Changed", codes::FIELD_IMMUTABLE),
            Self::Cel => ("CEL Validation Failed", codes::RULE_BROKEN),
            Self::Invalid => ("Invalid Resource", codes::OBJECT_INVALID),
            Self::AlreadyExists => ("Resource Already Exists", codes::ALREADY_EXISTS),
            Self::InvalidGroup => ("Invalid API Group", codes::GROUP_WRONG),
            Self::KindMissing => ("Custom Resource Definition Not Found", codes::KIND_MISSING),
            Self::Outdated => ("Kubernetes API Error", codes::OUTDATED),
            Self::Other => ("Kubernetes API Error", codes::API_ERROR),
        }
    }
}

impl Error {
    /// Whether the authorizer denied the request, not a webhook, a policy or a quota. Only the authorizer's message says
    /// what a user "cannot" do.
    pub fn is_unauthorized(&self) -> bool {
        self.class() == Class::InsufficientPermissions
            && self.status().is_none_or(|status| status.message.contains(" cannot "))
    }

    pub fn class(&self) -> Class {
        match self.kind() {
            // A code without a `Status` body comes from an intermediary that rejects or fails in the server's place.
            ErrorKind::Credentials(_) | ErrorKind::UnexpectedResponse { code: 401, .. } => {
                Class::AuthenticationFailed
            }
            ErrorKind::UnexpectedResponse { code: 403, .. } => Class::InsufficientPermissions,
            ErrorKind::TimedOut(_) | ErrorKind::UnexpectedResponse { code: 504 | 408, .. } => Class::Timeout,
            // Every API server serves discovery and the paths it lists; a server without them is not an API server.
            ErrorKind::Unreachable(_)
            | ErrorKind::Tls(_)
            | ErrorKind::UnexpectedResponse { code: 404, .. } => Class::ConnectionFailed,
            ErrorKind::NamespaceMissing { .. } => Class::NamespaceMissing,
            ErrorKind::KindMissing(missing) if missing.group_of_builtin().is_some() => Class::InvalidGroup,
            ErrorKind::KindMissing(_) => Class::KindMissing,
            ErrorKind::RequestTooDeep { .. } => Class::Invalid,
            ErrorKind::BrokenResponse(_)
            | ErrorKind::ResponseTooLarge(_)
            | ErrorKind::UnexpectedResponse { .. } => Class::Other,
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

    /// Whether the object's kind is not built into Kubernetes.
    fn is_custom(&self) -> bool {
        let group = match self.subject() {
            Subject::Object(object) => object.group(),
            Subject::Kind(gvk) => gvk.group(),
            Subject::Cluster => return false,
        };
        !manifest::is_built_in_group(group)
    }
}

/// The prefix of server-side apply's schema errors, the same for one problem and for several.
pub(super) const SCHEMA_CHECK: &str = "failed to create typed patch object";

/// Unknown and duplicate fields come as a 400 (strict decoding) or, together with wrong types, as a 500 from the schema
/// check of server-side apply.
fn is_field_validation(message: &str) -> bool {
    ["unknown field", "duplicate field", "strict decoding error", SCHEMA_CHECK]
        .iter()
        .any(|words| message.contains(words))
}

/// A quantity or a type that does not parse; such responses have no causes.
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

/// Whether every finding is about an immutable field.
///
/// The word "forbidden" is not evidence: most forbidden values are merely not allowed, and treating them as immutable
/// would destroy an object because of a typo.
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
        // The usual form of this rule in a CRD.
        || says("self == oldself")
}

/// Whether a CEL rule of the CRD is broken, rather than its schema, whose findings say "in body" or name a type.
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
