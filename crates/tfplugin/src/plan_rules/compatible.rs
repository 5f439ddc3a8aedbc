//! What may become of a planned value: a known one stays, an unknown one becomes what was promised.

use unicode_normalization::UnicodeNormalization;

use super::{Plan, Violation};
use crate::path::Path;
use crate::schema::Schema;
use crate::types::Type;
use crate::value::{Object, Value};

/// Checks the plan made during the apply against the one that was approved.
pub fn check_second_plan(
    schema: &Schema,
    prior: Option<&Object>,
    first: Plan<'_>,
    second: Plan<'_>,
) -> Vec<Violation> {
    let (before, now) = (Action::of(prior, first), Action::of(prior, second));
    // An update may turn out to change nothing.
    if before != now && (before, now) != (Action::Update, Action::Nothing) {
        let rule = format!("the approved action stays: {} became {}", before.word(), now.word());
        return vec![Violation::new(&Path::root(), rule)];
    }
    let mut violations = Vec::new();
    if let (Some(first), Some(second)) = (first.planned, second.planned) {
        check_object(schema, first, second, &mut violations);
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
    schema: &Schema,
    planned: &Object,
    actual: &Object,
    violations: &mut Vec<Violation>,
) {
    let (planned, actual) = (Value::Object(planned.clone()), Value::Object(actual.clone()));
    check(&planned, &actual, &schema.ty(), &mut Path::root(), violations);
}

fn check(planned: &Value, actual: &Value, ty: &Type, path: &mut Path, violations: &mut Vec<Violation>) {
    let mut violate = |rule: &str| violations.push(Violation::new(path, rule));
    match (planned, actual) {
        (Value::Unknown(refinement), actual) => {
            if !refinement.allows(actual) {
                violate("an unknown value becomes one that its refinement allows");
            }
        }
        (_, Value::Unknown(_)) => violate("a known planned value stays known"),
        (Value::List(_), Value::List(_)) | (Value::Object(_), Value::Object(_)) => {
            let (before, after) = (planned.children(ty), actual.children(ty));
            if !before.iter().map(|(step, ..)| step).eq(after.iter().map(|(step, ..)| step)) {
                return violate("no element appears or vanishes");
            }
            for ((step, before, ty), (_, after, _)) in before.into_iter().zip(after) {
                path.within(step, |path| check(before, after, ty, path, violations));
            }
        }
        (Value::Set(before), Value::Set(after)) => {
            let Type::Set(element) = ty else { return };
            // Unknown elements may turn out to be equal, so the set can only shrink.
            let fits = |before: &Value, after: &Value| {
                let mut violations = Vec::new();
                check(before, after, element, &mut Path::root(), &mut violations);
                violations.is_empty()
            };
            let all_expected = after.iter().all(|after| before.iter().any(|before| fits(before, after)));
            let all_kept = before.iter().all(|before| after.iter().any(|after| fits(before, after)));
            if !all_expected || !all_kept || after.len() > before.len() {
                violate("no element of a set appears or vanishes");
            }
        }
        (Value::Dynamic(before), Value::Dynamic(after)) if before.ty == after.ty => {
            check(&before.value, &after.value, &before.ty, path, violations);
        }
        (before, after) if same(before, after) => {}
        _ => violate("a known planned value does not change"),
    }
}

/// Whether two values are equal for Terraform: whatever is said about an unknown, and however a text is composed.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Unknown(_), Value::Unknown(_)) => true,
        (Value::String(a), Value::String(b)) => a == b || a.nfc().eq(b.nfc()),
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|((at, a), (bt, b))| at == bt && same(a, b))
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
