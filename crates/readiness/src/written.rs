//! A `wait_for` as written, and everything that can be wrong with it.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use diag::Diagnostic;
use fields::jsonpath::JsonPath;
use manifest::{GoDuration, GroupVersionKind};

use crate::check::{Cut, Mode, Path, TRUE, Wait};
use crate::codes;
use crate::known_conditions::known_conditions;

/// 10 minutes.
const DEFAULT_TIMEOUT: GoDuration = GoDuration::from_nanos(600_000_000_000);

/// Kinds that do not roll out, by group; all others are accepted.
const WITHOUT_ROLLOUT: [(&str, &[&str]); 6] = [
    (
        "",
        &[
            "ConfigMap",
            "LimitRange",
            "Namespace",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
    ),
    ("autoscaling", &["HorizontalPodAutoscaler"]),
    ("networking.k8s.io", &["Ingress", "NetworkPolicy"]),
    ("policy", &["PodDisruptionBudget"]),
    ("rbac.authorization.k8s.io", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
    ("storage.k8s.io", &["StorageClass"]),
];

/// A setting that may not be known yet, as in a Terraform plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Written<T> {
    #[default]
    Absent,
    /// Set to something that will be known later.
    Unknown,
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

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenWait {
    /// The path of a field that has to be set.
    pub field: Written<String>,
    /// Paths of fields, each with the text its value has to have.
    pub field_value: Written<BTreeMap<String, String>>,
    /// The type of a condition that has to be True, or `TYPE=STATUS`, as kubectl has it.
    pub condition: Written<String>,
    /// Whether the rollout has to be complete.
    pub rollout: Written<bool>,
    /// How long to wait at most, as a Go duration.
    pub timeout: Written<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// `None` if it waits for nothing, is wrong, or is not known yet.
    pub wait: Option<Wait>,
    /// Errors and warnings; `field` names the attribute.
    pub diagnostics: Vec<Diagnostic>,
}

impl WrittenWait {
    /// Reads the wait and checks that it makes sense for objects of this kind, if that is known.
    pub fn parse(&self, kind: Option<&GroupVersionKind>, cut: Cut) -> Parsed {
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
        let wait = mode.zip(timeout).map(|(mode, timeout)| Wait { mode, timeout, cut, conditions: None });
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

    /// `None` if it is wrong.
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

    /// The modes that are set, by precedence. An empty value counts as not set.
    fn modes(&mut self, written: &WrittenWait, gvk: Option<&GroupVersionKind>) -> Vec<Mode> {
        let mut modes = Vec::new();
        if written.rollout.known() == Some(&true) {
            self.rollout_kind(gvk);
            modes.push(Mode::Rollout);
        }
        if let Some(text) = written.field.known().filter(|text| !text.is_empty()) {
            modes.extend(self.field(text).map(Mode::Field));
        }
        if let Some(values) = written.field_value.known().filter(|values| !values.is_empty()) {
            let read = |(text, value): (&String, &String)| Some((self.field_value(text)?, value.clone()));
            modes.extend(values.iter().map(read).collect::<Option<_>>().map(Mode::FieldValue));
        }
        if let Some(text) = written.condition.known().filter(|text| !text.is_empty()) {
            let (kind, status) = text.split_once('=').unwrap_or((text, TRUE));
            let status = if status.eq_ignore_ascii_case(TRUE) { TRUE } else { status };
            self.known_condition(gvk, kind);
            modes.push(Mode::Condition { kind: kind.to_owned(), status: status.to_owned() });
        }
        modes
    }

    fn rollout_kind(&mut self, gvk: Option<&GroupVersionKind>) {
        if let Some(kind) = gvk.filter(|gvk| !rolls_out(gvk)).map(GroupVersionKind::kind) {
            let detail = format!(
                "{kind} does not roll out, so rollout = true has nothing to wait for. Rollout is for Deployment, \
                 StatefulSet, DaemonSet, ReplicaSet, Job and kinds that report Ready or Available. Use field, field_value \
                 or condition instead."
            );
            self.error(codes::ROLLOUT_UNSUPPORTED, "Rollout Not Supported", "wait_for.rollout", detail);
        }
    }

    /// Warns of a condition that Kubernetes never sets on this kind: most likely its name is wrong.
    fn known_condition(&mut self, gvk: Option<&GroupVersionKind>, wanted: &str) {
        let Some(gvk) = gvk else { return };
        let Some(known) = known_conditions(gvk.group(), gvk.kind()) else { return };
        if known.iter().any(|known| known.eq_ignore_ascii_case(wanted)) {
            return;
        }
        let sets = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let detail = format!(
            "Kubernetes sets no condition {wanted:?} on a {}, so this wait ends without it, unless another controller has set \
             it by then. Conditions it sets: {sets}.",
            gvk.kind()
        );
        let diagnostic = Diagnostic::warning(codes::UNKNOWN_CONDITION, "Unknown Condition")
            .detail(detail)
            .field("wait_for.condition")
            .hint("Wait for one of these conditions, for a field, or for the rollout.");
        self.diagnostics.push(diagnostic);
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

pub(crate) fn rolls_out(gvk: &GroupVersionKind) -> bool {
    !WITHOUT_ROLLOUT.iter().any(|(group, kinds)| *group == gvk.group() && kinds.contains(&gvk.kind()))
}

fn no_condition() -> Diagnostic {
    Diagnostic::warning(codes::NO_CONDITION, "Wait Has No Condition")
        .detail("None of field, field_value, condition and rollout = true is set, so there is nothing to wait for.")
        .field("wait_for")
        .hint("Say what to wait for, or remove wait_for.")
}
