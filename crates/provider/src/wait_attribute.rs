//! The schema and the parser of `wait_for`, shared by `k8sconnect_object` and `k8sconnect_wait`.

use std::collections::BTreeMap;

use diag::Diagnostic;
use manifest::ObjectRef;
use readiness::{Planned, Wait, Written, WrittenWait};
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::schema::{Attribute, Kind};
use tfplugin::types::Type;
use tfplugin::value::{Object, Value};

pub(crate) fn attributes() -> Kind {
    Kind::nested([
        Attribute::optional("field", Type::String).description(
            "Wait until this field is set. The path is kubectl's JSONPath: `status.loadBalancer.ingress`.",
        ),
        Attribute::optional("field_value", Type::map(Type::String))
            .description("Wait until each of these fields has the given value, as text."),
        Attribute::optional("condition", Type::String)
            .description("Wait until the condition of this type is `True`, for instance `Ready`. `Ready=False` waits for another status."),
        Attribute::optional("rollout", Type::Bool).description("Wait until the rollout is complete."),
        Attribute::optional("timeout", Type::String)
            .description("How long to wait at most, such as `30s` or `5m`. Default: `10m`."),
    ])
}

/// `None` if it is not set.
pub(crate) fn read(value: &Value) -> Option<WrittenWait> {
    if value.is_unknown() {
        return Some(WrittenWait { field: Written::Unknown, ..WrittenWait::default() });
    }
    let object = value.as_object()?;
    Some(WrittenWait {
        field: written(object.get("field"), text),
        field_value: written(object.get("field_value"), texts),
        condition: written(object.get("condition"), text),
        rollout: written(object.get("rollout"), Value::as_bool),
        timeout: written(object.get("timeout"), text),
    })
}

/// The problems of a `wait_for`, each at the attribute it concerns.
pub(crate) fn located(problems: Vec<Diagnostic>) -> Diagnostics {
    let mut diagnostics = Diagnostics::new();
    for problem in problems {
        let attribute = problem.field.as_deref().unwrap_or("wait_for");
        diagnostics.add_at(attribute.split('.').fold(Path::root(), Path::attribute), problem);
    }
    diagnostics
}

/// The planned value of a waited field, which is `prior` in the state. `changes` means that the object is created or
/// changed; a wait that is `owed` has to run again.
pub(crate) fn planned(wait: Option<&Wait>, prior: Option<&Value>, changes: bool, owed: bool) -> Value {
    let prior = prior.unwrap_or(&Value::Null);
    match Planned::new(wait, !prior.is_null(), changes, owed) {
        Planned::Null => Value::Null,
        Planned::Unknown => Value::unknown(),
        Planned::Prior => prior.clone(),
    }
}

/// Logs why a wait for `target` continues.
pub(crate) fn log(target: &ObjectRef) -> impl FnMut(&str) {
    move |why| tracing::debug!(%target, why, "still waiting")
}

fn written<T>(value: &Value, read: impl Fn(&Value) -> Option<T>) -> Written<T> {
    match read(value) {
        _ if !value.is_wholly_known() => Written::Unknown,
        Some(value) => Written::Known(value),
        None => Written::Absent,
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn texts(value: &Value) -> Option<BTreeMap<String, String>> {
    let entries = value.as_object().map(Object::iter)?;
    Some(entries.filter_map(|(key, value)| Some((key.to_owned(), text(value)?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_neither_set_nor_absent() {
        let read = |field: Value, values: Value| {
            read(&Value::Object(Object::new().with("field", field).with("field_value", values))).unwrap()
        };
        let empty = || Value::Object(Object::new());
        let map = |value: Value| Value::Object(Object::new().with("status.phase", value));
        assert_eq!(read(Value::unknown(), Value::Null).field, Written::Unknown);
        assert_eq!(read("a".into(), Value::Null).field, Written::Known("a".to_owned()));
        assert_eq!(read(Value::Null, map(Value::unknown())).field_value, Written::Unknown);
        assert_eq!(read(Value::Null, empty()).field_value, Written::Known(BTreeMap::new()));
        assert_eq!(super::read(&Value::Null), None);
        assert_eq!(super::read(&Value::unknown()).unwrap().field, Written::Unknown);
    }
}
