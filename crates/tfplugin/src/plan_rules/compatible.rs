//! What may become of a planned value: a known one stays, an unknown one becomes what was promised.

use unicode_normalization::UnicodeNormalization;

use super::{Plan, Violation};
use crate::path::Path;
use crate::value::{Object, Value};

/// Checks the plan made during the apply against the one that was approved.
pub fn check_second_plan(prior: Option<&Object>, first: Plan<'_>, second: Plan<'_>) -> Vec<Violation> {
    let (before, now) = (Action::of(prior, first), Action::of(prior, second));
    // An update may turn out to change nothing.
    if before != now && (before, now) != (Action::Update, Action::Nothing) {
        let rule = format!("the approved action stays: {} became {}", before.word(), now.word());
        return vec![Violation::new(&Path::root(), rule)];
    }
    let mut violations = Vec::new();
    if let (Some(first), Some(second)) = (first.planned, second.planned) {
        check_object(first, second, &mut Path::root(), &mut violations);
    }
    violations
}

/// What Terraform does about a plan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Create,
    Update,
    Replace,
    Delete,
    Nothing,
}

impl Action {
    fn of(prior: Option<&Object>, plan: Plan<'_>) -> Self {
        match (prior, plan.planned) {
            (None, None) => Self::Nothing,
            (None, Some(_)) => Self::Create,
            (Some(_), None) => Self::Delete,
            (Some(prior), Some(planned)) if prior == planned => Self::Nothing,
            // A path counts only where something changes.
            (Some(prior), Some(planned)) => {
                let changes = plan.requires_replace.iter().any(|path| prior.at(path) != planned.at(path));
                if changes { Self::Replace } else { Self::Update }
            }
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::Nothing => "no change",
        }
    }
}

/// Checks that `actual` is something that `planned` may become.
pub(super) fn check_object(
    planned: &Object,
    actual: &Object,
    path: &mut Path,
    violations: &mut Vec<Violation>,
) {
    check(&Value::Object(planned.clone()), &Value::Object(actual.clone()), path, violations);
}

fn check(planned: &Value, actual: &Value, path: &mut Path, violations: &mut Vec<Violation>) {
    match (planned, actual) {
        (Value::Unknown(refinement), actual) => {
            if !refinement.allows(actual) {
                violations
                    .push(Violation::new(path, "an unknown value becomes one that its refinement allows"));
            }
        }
        (_, Value::Unknown(_)) => violations.push(Violation::new(path, "a known planned value stays known")),
        (Value::List(before), Value::List(after)) if before.len() != after.len() => {
            violations.push(Violation::new(path, "no element appears or vanishes"));
        }
        (Value::Object(before), Value::Object(after))
            if !before.iter().map(|(name, _)| name).eq(after.iter().map(|(name, _)| name)) =>
        {
            violations.push(Violation::new(path, "no element appears or vanishes"));
        }
        (Value::List(_), Value::List(_)) | (Value::Object(_), Value::Object(_)) => {
            for ((step, before), (_, after)) in planned.children().zip(actual.children()) {
                path.within(step, |path| check(before, after, path, violations));
            }
        }
        (Value::Set(before), Value::Set(after)) => {
            // Unknown elements may turn out to be equal, so the set can only shrink.
            let fits = |before: &Value, after: &Value| {
                let mut violations = Vec::new();
                check(before, after, &mut Path::root(), &mut violations);
                violations.is_empty()
            };
            let all_expected = after.iter().all(|after| before.iter().any(|before| fits(before, after)));
            let all_kept = before.iter().all(|before| after.iter().any(|after| fits(before, after)));
            if !all_expected || !all_kept || after.len() > before.len() {
                violations.push(Violation::new(path, "no element of a set appears or vanishes"));
            }
        }
        (Value::Dynamic(before), Value::Dynamic(after)) if before.ty == after.ty => {
            check(&before.value, &after.value, path, violations);
        }
        (before, after) if same(before, after) => {}
        _ => violations.push(Violation::new(path, "a known planned value does not change")),
    }
}

/// Whether two values are equal for Terraform: whatever is said about an unknown, and however a text is composed.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Unknown(_), Value::Unknown(_)) => true,
        (Value::String(a), Value::String(b)) => a == b || a.nfc().eq(b.nfc()),
        (Value::List(_), Value::List(_)) | (Value::Object(_), Value::Object(_)) => {
            a.children().count() == b.children().count()
                && a.children().zip(b.children()).all(|((at, a), (bt, b))| at == bt && same(a, b))
        }
        (Value::Set(a), Value::Set(b)) => {
            a.len() == b.len()
                && a.iter().all(|a| b.iter().any(|b| same(a, b)))
                && b.iter().all(|b| a.iter().any(|a| same(a, b)))
        }
        (Value::Dynamic(a), Value::Dynamic(b)) => a.ty == b.ty && same(&a.value, &b.value),
        _ => a == b,
    }
}
