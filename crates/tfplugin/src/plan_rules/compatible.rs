//! What a planned value may become: a known one stays, an unknown one becomes what its refinement allows.

use unicode_normalization::UnicodeNormalization;

use super::Violation;
use crate::path::Path;
use crate::schema::Schema;
use crate::types::Type;
use crate::value::{Object, Value};

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
                return violate("elements are neither added nor removed");
            }
            for ((step, before, ty), (_, after, _)) in before.into_iter().zip(after) {
                path.within(step, |path| check(before, after, ty, path, violations));
            }
        }
        (Value::Set(before), Value::Set(after)) => {
            let Type::Set(element) = ty else { return };
            // Unknown elements may turn out equal, so the set can only shrink.
            let fits = |before: &Value, after: &Value| {
                let mut violations = Vec::new();
                check(before, after, element, &mut Path::root(), &mut violations);
                violations.is_empty()
            };
            let all_expected = after.iter().all(|after| before.iter().any(|before| fits(before, after)));
            let all_kept = before.iter().all(|before| after.iter().any(|after| fits(before, after)));
            if !all_expected || !all_kept || after.len() > before.len() {
                violate("elements of a set are neither added nor removed");
            }
        }
        (Value::Dynamic(before), Value::Dynamic(after)) if before.ty == after.ty => {
            check(&before.value, &after.value, &before.ty, path, violations);
        }
        (before, after) if same(before, after) => {}
        _ => violate("a known planned value does not change"),
    }
}

/// Whether Terraform considers two values equal: refinements and Unicode composition do not count.
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
