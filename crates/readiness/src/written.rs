//! A `wait_for` as it was written, with everything that can be wrong with it.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use diag::Diagnostic;
use fields::jsonpath::JsonPath;
use manifest::GoDuration;

use crate::check::{Cut, Mode, Path, Wait};
use crate::codes;

/// How long a wait takes at most when it does not say: 10 minutes.
const DEFAULT_TIMEOUT: GoDuration = GoDuration::from_nanos(600_000_000_000);

/// Kinds that do not roll out; all others are accepted.
const WITHOUT_ROLLOUT: [&str; 20] = [
    "ConfigMap",
    "Secret",
    "Service",
    "Namespace",
    "ServiceAccount",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "Ingress",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodDisruptionBudget",
    "HorizontalPodAutoscaler",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "StorageClass",
    "Node",
    "Pod",
];

/// A setting that may not be known yet, as in a Terraform plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Written<T> {
    /// Not set.
    #[default]
    Absent,
    /// Set to something that will be known later.
    Unknown,
    /// Set to this.
    Known(T),
}

impl<T> Written<T> {
    fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Absent | Self::Unknown => None,
        }
    }

    fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }
}

/// A wait as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenWait {
    /// The path of a field that has to be there.
    pub field: Written<String>,
    /// Paths of fields, each with the text its value has to have.
    pub field_value: Written<BTreeMap<String, String>>,
    /// The type of a condition that has to be True.
    pub condition: Written<String>,
    /// Whether the rollout has to be complete.
    pub rollout: Written<bool>,
    /// How long to wait at most, as a Go duration.
    pub timeout: Written<String>,
}

/// What came of reading a wait.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The wait; none if it waits for nothing, is wrong, or is not known yet.
    pub wait: Option<Wait>,
    /// What is wrong or suspicious with it, `field` naming the attribute.
    pub diagnostics: Vec<Diagnostic>,
}

impl WrittenWait {
    /// Reads and checks the wait for an object of this `kind`, if it is known.
    pub fn parse(&self, kind: Option<&str>, cut: Cut) -> Parsed {
        let mut reader = Reader { cut, diagnostics: Vec::new() };
        reader.conflicts(self);
        let timeout = reader.timeout(self.timeout.known());
        let modes = reader.modes(self, kind);
        let unknown = self.rollout.is_unknown()
            || self.field.is_unknown()
            || self.field_value.is_unknown()
            || self.condition.is_unknown();
        if modes.is_empty() && !unknown && !reader.has_errors() {
            reader.diagnostics.push(no_condition());
        }
        reader.shadowed(&modes);
        // What is known runs only if nothing before it may still turn out to be set; errors stop everything.
        let decided = !unknown && !self.timeout.is_unknown() && !reader.has_errors();
        let mode = modes.into_iter().next().filter(|_| decided);
        let wait = mode.zip(timeout).map(|(mode, timeout)| Wait { mode, timeout, cut });
        Parsed { wait, diagnostics: reader.diagnostics }
    }
}

struct Reader {
    cut: Cut,
    diagnostics: Vec<Diagnostic>,
}

impl Reader {
    fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Modes that are set and exclude each other, in the words of Terraform's own validators.
    fn conflicts(&mut self, written: &WrittenWait) {
        let set = [
            ("wait_for.field", written.field.known().is_some()),
            ("wait_for.field_value", written.field_value.known().is_some()),
            ("wait_for.condition", written.condition.known().is_some()),
        ];
        let set: Vec<&str> = set.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| *name).collect();
        for (position, first) in set.iter().enumerate() {
            for second in &set[position + 1..] {
                let detail = format!("Attribute {second:?} cannot be specified when {first:?} is specified");
                self.error(codes::CONFLICT, "Invalid Attribute Combination", first, detail);
            }
        }
    }

    /// The timeout; none if it is wrong.
    fn timeout(&mut self, text: Option<&String>) -> Option<GoDuration> {
        let Some(text) = text else {
            return Some(DEFAULT_TIMEOUT);
        };
        let (title, detail) = match text.parse::<GoDuration>() {
            Ok(timeout) if timeout > GoDuration::default() => return Some(timeout),
            Ok(_) => ("Invalid Timeout", format!("timeout must be positive, got {text:?}.")),
            Err(error) => ("Invalid Duration", format!("{text:?} is not a duration: {error}.")),
        };
        self.error(codes::INVALID_TIMEOUT, title, "wait_for.timeout", detail);
        if let Some(diagnostic) = self.diagnostics.last_mut() {
            diagnostic.hint = Some("Write it like \"30s\", \"5m\" or \"1h30m\".".to_owned());
        }
        None
    }

    /// The modes that are set, in the order in which they come first. What is empty is not set.
    fn modes(&mut self, written: &WrittenWait, kind: Option<&str>) -> Vec<Mode> {
        let mut modes = Vec::new();
        if written.rollout.known() == Some(&true) {
            self.rollout_kind(kind);
            modes.push(Mode::Rollout);
        }
        if let Some(text) = written.field.known().filter(|text| !text.is_empty()) {
            modes.extend(self.field(text).map(Mode::Field));
        }
        if let Some(values) = written.field_value.known().filter(|values| !values.is_empty()) {
            let read = |(text, value): (&String, &String)| Some((self.field_value(text)?, value.clone()));
            modes.extend(values.iter().map(read).collect::<Option<_>>().map(Mode::FieldValue));
        }
        if let Some(kind) = written.condition.known().filter(|kind| !kind.is_empty()) {
            modes.push(Mode::Condition(kind.clone()));
        }
        modes
    }

    fn rollout_kind(&mut self, kind: Option<&str>) {
        if let Some(kind) = kind.filter(|kind| WITHOUT_ROLLOUT.contains(kind)) {
            let detail = format!(
                "{kind} does not roll out, so rollout = true has nothing to wait for. Rollout is for Deployment, \
                 StatefulSet, DaemonSet, ReplicaSet, Job and kinds that report Ready or Available. Use field, field_value \
                 or condition instead."
            );
            self.error(codes::ROLLOUT_UNSUPPORTED, "Rollout Not Supported", "wait_for.rollout", detail);
        }
    }

    fn field(&mut self, text: &str) -> Option<Path> {
        let path = self.path(text, "Invalid JSONPath Syntax", "wait_for.field")?;
        if self.cut == Cut::Status && !path.is_below_status() {
            let detail = format!(
                "The field {text:?} is not below status. Only what is below status can become the object's status \
                 attribute; wait for other fields with a k8sconnect_wait resource."
            );
            self.error(codes::OUTSIDE_STATUS, "Field Outside Status", "wait_for.field", detail);
        }
        Some(path)
    }

    fn field_value(&mut self, text: &str) -> Option<Path> {
        self.path(text, "Invalid JSONPath", "wait_for.field_value")
    }

    fn path(&mut self, text: &str, title: &str, attribute: &str) -> Option<Path> {
        match JsonPath::parse_relaxed(text) {
            Ok(path) => Some(Path { text: text.to_owned(), path }),
            Err(error) => {
                let detail = format!(
                    "{text:?} is not a path in kubectl's JSONPath: {error}.\n\nExamples:\n  status.phase\n  \
                     status.loadBalancer.ingress[0].ip\n  status.conditions[?(@.type==\"Ready\")].status\n  \
                     metadata.annotations.example\\.com/name"
                );
                self.error(codes::INVALID_PATH, title, attribute, detail);
                None
            }
        }
    }

    /// Says which modes are set in vain.
    fn shadowed(&mut self, modes: &[Mode]) {
        if let [Mode::Rollout, others @ ..] = modes
            && !others.is_empty()
        {
            let others = others.iter().map(Mode::to_string).collect::<Vec<_>>().join(", ");
            let diagnostic = Diagnostic::warning(codes::SHADOWED, "Wait Has Several Conditions")
                .detail(format!("With rollout = true only the rollout is waited for, not {others}."))
                .field("wait_for.rollout")
                .hint("Use one wait for each.");
            self.diagnostics.push(diagnostic);
        }
    }

    fn error(&mut self, code: diag::Code, title: &str, attribute: &str, detail: String) {
        self.diagnostics.push(Diagnostic::error(code, title).detail(detail).field(attribute));
    }
}

fn no_condition() -> Diagnostic {
    Diagnostic::warning(codes::NO_CONDITION, "Wait Has No Condition")
        .detail("None of field, field_value, condition and rollout = true is set, so there is nothing to wait for.")
        .field("wait_for")
        .hint("Say what to wait for, or remove wait_for.")
}
