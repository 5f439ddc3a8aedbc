//! Reading and writing compared with the Go libraries of Kubernetes, over thousands of generated cases.
//!
//! A difference is a failure unless `differences.rs` has an entry for it that says why. The cases are the same in every
//! run; `PLIMSOLL_SEED=<number>` makes others, and `PLIMSOLL_CASES=<number>` more of them.

mod differences;
mod generate;
mod runner;

use diag::{Diagnostic, Source};
use manifest::Limits;
use proptest::strategy::Strategy;
use serde_json::{Value, json};
use testkit::oracle::Oracle;

use differences::Reading;

/// Checks `law` for generated cases; without an oracle there is nothing to check, and that is said once.
#[track_caller]
fn property<S: Strategy>(name: &str, cases: S, law: impl Fn(S::Value) -> Result<(), String>) {
    Oracle::shared();
    runner::property(name, cases, law);
}

/// What we make of a text of one document: the JSON of its value, or what is wrong with it.
fn ours(text: &str) -> Result<String, String> {
    let stream = manifest::read(&Source::new("test.yaml", text), &Limits::default());
    let show = |problems: Vec<Diagnostic>| {
        let texts = problems.iter().map(|problem| format!("{} ({})", problem.summary, problem.detail));
        texts.collect::<Vec<_>>().join("; ")
    };
    match stream.documents.len() {
        // Go reads nothing as null.
        0 => Ok("null".to_owned()),
        1 => stream.single().map(|document| manifest::to_json(document.value())).map_err(show),
        count => Err(format!("{count} documents")),
    }
}

fn ask(op: &str, input: &Value) -> Result<String, String> {
    let answer = Oracle::shared().ask(op, input)?;
    Ok(answer.as_str().expect("this operation answers with a text").to_owned())
}

/// Go has two ways to read: one forgives keys that are set twice, also by a merge, the other forgives neither. We
/// forgive only what a merge key sets.
#[track_caller]
fn check_reading(text: &str) -> Result<(), String> {
    let (strict, lenient) = (ask("yaml.toObjectStrict", &json!(text)), ask("yaml.toObject", &json!(text)));
    let ours = ours(text);
    let agree = match &ours {
        Ok(value) => lenient.as_ref() == Ok(value),
        Err(_) => strict.is_err(),
    };
    let go = if ours.is_ok() { lenient } else { strict };
    if agree || differences::in_reading(&Reading { text, ours: &ours, go: &go }).is_some() {
        return Ok(());
    }
    Err(format!("text:\n{text}\nas a literal: {text:?}\nGo:   {go:?}\nours: {ours:?}"))
}

#[test]
fn plain_scalars_are_read_as_go_reads_them() {
    property("scalars", generate::plain_scalar(), |text| check_reading(&format!("{text}\n")));
}

#[test]
fn tagged_scalars_are_read_as_go_reads_them() {
    property("tags", generate::tagged_scalar(), |text| check_reading(&format!("a: {text}\n")));
}

#[test]
fn keys_are_read_as_go_reads_them() {
    property("keys", generate::plain_scalar(), |text| check_reading(&format!("{text}: x\n")));
}

#[test]
fn documents_are_read_as_go_reads_them() {
    property("documents", generate::document(), |text| check_reading(&text));
}

#[test]
fn token_soup_is_read_as_go_reads_it() {
    property("soup", generate::soup(), |text| check_reading(&text));
}

/// Every document that Go divides a text into, read by itself, is the document we read at that place.
#[test]
fn streams_are_divided_as_go_divides_them() {
    property("streams", generate::stream(), |text| {
        let parts = Oracle::shared().ask("yaml.documents", &json!(text))?;
        let parts = parts.as_array().expect("a list of texts");
        let go: Vec<Value> = parts
            .iter()
            .map(|part| ask("yaml.toObjectStrict", part).map_or(json!("refused"), Value::from))
            .collect();
        let go: Vec<Value> = go.into_iter().filter(|value| *value != "null").collect();
        let stream = manifest::read(&Source::new("test.yaml", text.as_str()), &Limits::default());
        let ours = stream.documents.iter().map(|document| match document {
            Ok(document) => Value::from(manifest::to_json(document.value())),
            Err(_) => json!("refused"),
        });
        let ours: Vec<Value> = ours.filter(|value| *value != "null").collect();
        if ours == go { Ok(()) } else { Err(format!("{text:?}\nGo:   {go:?}\nours: {ours:?}")) }
    });
}

#[test]
fn json_is_written_as_go_writes_it() {
    property("json", generate::value(), |value| {
        let text = manifest::to_json(&value);
        let same = |op: &str, ours: &str| match ask(op, &json!(text)) {
            Ok(go) if go == ours => Ok(()),
            go => Err(format!("Go:   {go:?}\nours: {ours:?}")),
        };
        same("json.compact", &text)?;
        same("json.indent", &manifest::to_json_pretty(&value))
    });
}

#[test]
fn numbers_are_written_as_go_writes_them() {
    property("floats", generate::float(), |float| {
        let same = |op, ours: String| match ask(op, &json!(float.to_bits())) {
            Ok(go) if go == ours => Ok(()),
            go => Err(format!("Go:   {go:?}\nours: {ours:?}")),
        };
        if float.is_finite() {
            same("json.float", manifest::json_float(float))?;
        }
        same("json.floatVerb", manifest::display_float(float))
    });
}

#[test]
fn yaml_is_written_as_go_writes_it() {
    property("yaml", generate::value(), |value| {
        let ours = manifest::to_yaml(&value);
        let go = ask("yaml.fromJSON", &json!(manifest::to_json(&value)));
        if go.as_ref() == Ok(&ours) || differences::in_writing(&value, &ours, &go).is_some() {
            return Ok(());
        }
        Err(format!("value: {value}\nGo:   {go:?}\nours: {ours:?}\n{ours}"))
    });
}
