//! Turns errors into diagnostics for people: what failed, on which object, why, and what to do.

use std::borrow::Cow;
use std::fmt::Write as _;

use diag::{Diagnostic, Severity};

use super::class::SCHEMA_CHECK;
use super::{Class, Error, ErrorKind, ResponseLimit, Subject};
use crate::connect::CredentialError;
use crate::status::{ApiStatus, StatusCause};

/// A field that another manager holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldConflict {
    /// As in `spec.replicas`.
    pub field: String,
    pub manager: String,
}

fn field_conflict(cause: &StatusCause) -> Option<FieldConflict> {
    let is_conflict = cause.reason == "FieldManagerConflict";
    is_conflict.then(|| FieldConflict {
        field: cause.field.trim_start_matches('.').to_owned(),
        // conflict with "kubectl-edit" using apps/v1
        manager: cause.message.split('"').nth(1).unwrap_or("another manager").to_owned(),
    })
}

impl Error {
    /// The error as a diagnostic. `operation` is what the user asked for (`Plan`, `Create` …) and starts the title.
    pub fn diagnostic(&self, operation: &str) -> Diagnostic {
        self.diagnostic_naming(operation, &str::to_owned)
    }

    /// The same, where `name` turns a field as the server names it into one as the reader knows it.
    pub fn diagnostic_naming(&self, operation: &str, name: &dyn Fn(&str) -> String) -> Diagnostic {
        let class = self.class();
        // A managed object that vanished before a refresh is a warning. Before a write it means that the write did not
        // happen, and for a data source that there is nothing to return; both are errors.
        let severity = match class {
            Class::NotFound if matches!(operation, "Read" | "Read Target Resource") => Severity::Warning,
            _ => Severity::Error,
        };
        let title = format!("{operation}: {}", class.title());
        let mut diagnostic = Diagnostic::new(severity, class.code(), title).detail(self.detail(class, name));
        if let Subject::Object(object) = self.subject() {
            diagnostic = diagnostic.object(object.to_string());
        }
        if let [field] = self.refused_fields().as_slice() {
            diagnostic = diagnostic.field(name(&field.0));
        }
        match self.hint(class) {
            Some(hint) => diagnostic.hint(hint),
            None => diagnostic,
        }
    }

    /// For a conflict, the fields that other managers hold.
    pub fn field_conflicts(&self) -> Vec<FieldConflict> {
        let causes = self.status().map_or(&[][..], |status| &status.details.causes);
        causes.iter().filter_map(field_conflict).collect()
    }

    /// A conflict without the fields that are settled otherwise; `None` if no other is left.
    #[must_use]
    pub fn overlooking(self, is_settled: impl Fn(&FieldConflict) -> bool) -> Option<Self> {
        let ErrorKind::Status(mut status) = self.kind().clone() else { return Some(self) };
        let is_left =
            |cause: &StatusCause| field_conflict(cause).is_none_or(|conflict| !is_settled(&conflict));
        status.details.causes.retain(is_left);
        let is_conflict = !status.details.causes.is_empty();
        is_conflict.then(|| self.with_kind(ErrorKind::Status(status)))
    }

    /// The fields that the server rejects, as it names them, each with what it says of the first problem there.
    pub fn refused_fields(&self) -> Vec<(String, String)> {
        let mut found = self.status().map(findings).unwrap_or_default();
        for (field, _) in &mut found {
            *field = field.trim_start_matches('.').to_owned();
        }
        // A rule of a CRD about the whole object names `<nil>`.
        found.retain(|(field, _)| !matches!(field.as_str(), "" | "<nil>"));
        found.dedup_by(|next, first| next.0 == first.0);
        found
    }

    fn detail(&self, class: Class, name: &dyn Fn(&str) -> String) -> String {
        let mut detail = match (class, self.kind()) {
            (Class::FieldManagerConflict, _) => {
                let line = |held: FieldConflict| {
                    format!("\n  - {} (managed by {})", name(&held.field), held.manager)
                };
                let lines: String = self.field_conflicts().into_iter().map(line).collect();
                format!("Other managers hold fields of {} that would be set:\n{lines}", self.subject())
            }
            (_, ErrorKind::KindMissing(missing)) => {
                let name = match self.subject() {
                    Subject::Object(object) => Some(object.name.as_str()),
                    _ => None,
                };
                missing.explain(name, self.0.waited)
            }
            (_, ErrorKind::NamespaceMissing { namespace }) => {
                let mut text = format!("Namespace \"{namespace}\" not found");
                if !self.0.waited.is_zero() {
                    let _ = write!(text, " after {} s", self.0.waited.as_secs());
                }
                format!("{text}.\n\n{} needs it to exist.", self.subject())
            }
            (
                Class::FieldValidation | Class::Cel | Class::Invalid | Class::Immutable,
                ErrorKind::Status(status),
            ) => self.explain(status, name),
            (_, ErrorKind::Status(status)) => {
                format!("{}. The server says: {}", self.attempt(), status.message)
            }
            (_, kind) => format!("{}: {}", self.attempt(), diag::error_chain(kind)),
        };
        if !self.0.waited.is_zero()
            && let Some(webhook) = self.unavailable_webhook()
        {
            let _ = write!(detail, "\n\nWaited {} s for {webhook} to respond.", self.0.waited.as_secs());
        }
        if let Some(last) = self.retries().last() {
            let _ = write!(
                detail,
                "\n\nTried {} times; the previous attempt failed with: {}.",
                self.retries().len() + 1,
                last.why
            );
        }
        detail
    }

    /// `Could not read ConfigMap shop/a at https://k8s.example.com`
    fn attempt(&self) -> String {
        let place = self.server().map_or_else(String::new, |server| format!(" at {server}"));
        format!("Could not {} {}{place}", self.verb(), self.subject())
    }

    /// The server's findings, one paragraph each, or its whole message if it lists none.
    fn explain(&self, status: &ApiStatus, name: &dyn Fn(&str) -> String) -> String {
        let found = findings(status);
        let rejected = format!("The server rejected {}", self.subject());
        let mut text = match found.len() {
            0 => return format!("{rejected}: {}", status.message),
            1 => format!("{rejected}:"),
            count => format!("{rejected} for {count} reasons:"),
        };
        for (field, message) in &found {
            let message = ends(message);
            let _ = match field.as_str() {
                // A policy's finding is about the whole object.
                "" => write!(text, "\n\n  Error: {message}"),
                field => write!(text, "\n\n  Field: {}\n  Error: {message}", name(field)),
            };
        }
        text
    }

    fn hint(&self, class: Class) -> Option<String> {
        let text = match class {
            Class::AuthenticationFailed => match self.kind() {
                ErrorKind::Credentials(cause) => match cause.downcast_ref::<CredentialError>() {
                    Some(error) => error.advice(),
                    None => "Check what the credential plugin prints.",
                },
                _ => {
                    "The credentials may have expired or belong to another cluster. Renew the token or certificate, or log in again."
                }
            },
            Class::InsufficientPermissions if self.is_unauthorized() => {
                "Ask an administrator of the cluster for a Role or ClusterRole with the verb and resource named above; `kubectl auth can-i` shows what is granted."
            }
            Class::InsufficientPermissions => {
                "Follow the server's message: a webhook, policy, quota or ongoing deletion forbids this, and no permission is missing."
            }
            Class::ConnectionFailed => match self.kind() {
                ErrorKind::Tls(_) => {
                    "Check cluster_ca_certificate (or certificate-authority in the kubeconfig): it must contain the CA that signed this server's certificate. If the certificate is for another name, set tls_server_name."
                }
                ErrorKind::UnexpectedResponse { .. } => {
                    "Check the URL: the host may not be a Kubernetes API server, or the path prefix may be wrong."
                }
                _ => {
                    "Check the host and port, that the cluster is running, and that no firewall or proxy blocks the connection."
                }
            },
            Class::NotFound if self.status().is_some_and(ApiStatus::concerns_the_path) => {
                "Use another kind, or another way to reach it: the API server lets no client do this with objects of this kind."
            }
            Class::NotFound => "Check its name and namespace; another client may have deleted it.",
            Class::NamespaceMissing => {
                "Create the namespace in the same apply, check its spelling, or make this object depend on the resource that creates it."
            }
            Class::FieldManagerConflict => {
                let fields: Vec<String> =
                    self.field_conflicts().iter().map(|conflict| format!("{:?}", conflict.field)).collect();
                return Some(format!(
                    "To leave them to their managers: ignore_fields = [{}]",
                    fields.join(", ")
                ));
            }
            Class::Outdated => "Another client changed the object at the same time. Try again.",
            Class::FieldValidation => match self.status().map(|status| &status.message) {
                Some(message) if message.contains("quantities must match") => {
                    "Write quantities as 500m, 0.5, 128Mi or 1Gi."
                }
                _ => return Some(self.field_advice()),
            },
            Class::Immutable => {
                "Revert the change, or replace the object (terraform apply -replace, or delete it and create it again)."
            }
            Class::Cel => "See the documentation of the CRD, which defines this rule.",
            Class::Invalid => "Correct the object as the server's message says.",
            Class::AlreadyExists => "Import the existing object, or choose another name.",
            Class::Other | Class::Timeout if self.unavailable_webhook().is_some() => {
                "Check that the webhook's Service has ready Pods and that its certificate is trusted, or remove its configuration; until then the server rejects every request that the webhook must handle."
            }
            Class::Timeout => {
                "The server may be overloaded or hard to reach. Try again, and check its health."
            }
            Class::InvalidGroup | Class::KindMissing | Class::Other => match self.kind() {
                ErrorKind::KindMissing(missing) => return Some(missing.advise()),
                ErrorKind::ResponseTooLarge(ResponseLimit::Bytes(_)) => {
                    "Check that the host is a Kubernetes API server. If it is, request less at a time or make the object smaller."
                }
                ErrorKind::ResponseTooLarge(ResponseLimit::Levels(_)) => {
                    "Reduce the nesting of the object; a controller may have added it."
                }
                ErrorKind::BrokenResponse(_) => {
                    "The server or a proxy closed the connection early. The request may have taken effect: check before you retry."
                }
                _ => return None,
            },
        };
        Some(text.to_owned())
    }
}

impl Error {
    /// What to do about the fields that the server rejects: a wrong value of an enumeration, a missing field, or a field
    /// that does not exist.
    fn field_advice(&self) -> String {
        let causes = self.status().map_or(&[][..], |status| &status.details.causes);
        let advice = causes.iter().map(|cause| {
            let allowed = cause.message.split_once("supported values: ").map(|(_, values)| values);
            match (cause.reason.as_str(), allowed) {
                ("FieldValueNotSupported", Some(values)) => {
                    Some(format!("Set {} to one of its allowed values: {values}.", cause.field))
                }
                ("FieldValueRequired", _) => Some(format!("Set {}, which is required.", cause.field)),
                _ => None,
            }
        });
        let usual = "Check the spelling and position of the fields named above; `kubectl explain` lists the valid ones.";
        let advice: Option<Vec<String>> = advice.collect();
        advice.filter(|advice| !advice.is_empty()).map_or_else(|| usual.to_owned(), |advice| advice.join(" "))
    }
}

/// Fields and what is wrong with them, with a broken rule on a separate line.
fn findings(status: &ApiStatus) -> Vec<(String, String)> {
    if status.details.causes.is_empty() {
        return named_fields(&status.message);
    }
    let finding = |cause: &StatusCause| match cause.message.split_once("failed rule:") {
        Some((message, rule)) => format!("{}\n  Rule: {}", message.trim_end_matches([' ', ':']), rule.trim()),
        None => cause.message.clone(),
    };
    status.details.causes.iter().map(|cause| (cause.field.clone(), finding(cause))).collect()
}

/// The fields named in the message of a rejection without causes, each with its problem.
///
/// `strict decoding error: unknown field "spec.replicaz", unknown field "x"`, and
/// `failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.replicaz: field not declared in
/// schema`,
/// where several problems follow `errors:`, one per line.
fn named_fields(message: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for problem in ["unknown field", "duplicate field"] {
        let mut rest = message;
        while let Some((_, after)) = rest.split_once(&format!("{problem} \"")) {
            let Some((field, after)) = after.split_once('"') else { break };
            found.push((field.to_owned(), problem.to_owned()));
            rest = after;
        }
    }
    let checked = message.strip_prefix(SCHEMA_CHECK).and_then(|rest| rest.split_once("): "));
    for line in checked.map_or("", |(_, problems)| problems).lines() {
        if let Some((field, problem)) = line.trim().strip_prefix('.').and_then(|line| line.split_once(": ")) {
            found.push((field.to_owned(), problem.to_owned()));
        }
    }
    found
}

/// A finding of the server, of which only the ends are shown if it is long: it may repeat the whole value that it rejects, and
/// says why at its end.
fn ends(message: &str) -> Cow<'_, str> {
    const LONGEST: usize = 300;
    let count = message.chars().count();
    if count <= LONGEST {
        return message.into();
    }
    let start: String = message.chars().take(LONGEST / 2).collect();
    let end: String = message.chars().skip(count - LONGEST / 2).collect();
    format!("{start} … {end}").into()
}
