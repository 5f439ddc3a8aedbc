//! The chapter about Argo CD and Flux: its rules judge objects of every state as the chapter says. Flux's expressions are evaluated here;
//! Argo CD's script runs in the interpreter that Argo CD has, in the long tests.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use cel::{Context, Program, Value as Cel};
use diag::Source;
use manifest::Limits;
use serde_json::{Value, json};
use testkit::ReleaseTool;

use crate::blocks::{self, Block};
use crate::text;

const CHAPTER: &str = "../../book/src/gitops.md";

/// A file of the chapter.
fn file(name: &str) -> Value {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(CHAPTER);
    let page = std::fs::read_to_string(page).unwrap();
    let file = blocks::of(&page).into_iter().find_map(|block| match block {
        Block::File { name: found, content } => (found == name).then_some(content),
        Block::Commands(_) | Block::Transcript(_) => None,
    });
    yaml(&file.unwrap())
}

fn yaml(content: &str) -> Value {
    let mut documents = manifest::read(&Source::new("file", content), &Limits::default()).documents;
    documents.remove(0).unwrap().into_value()
}

/// An object of generation 2 with conditions `Type=Status Reason @generation`.
fn object(conditions: &[&str]) -> Value {
    let conditions = conditions.iter().map(|line| {
        let (kind, rest) = line.split_once('=').unwrap();
        let [status, reason, generation] = rest.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let generation: i64 = generation.trim_start_matches('@').parse().unwrap();
        json!({
            "type": kind, "status": status, "reason": reason, "message": format!("{kind} is {status}"),
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": generation,
        })
    });
    let conditions: Vec<Value> = conditions.collect();
    json!({"metadata": {"name": "a", "generation": 2}, "status": {"conditions": conditions}})
}

/// Claims and XRs: their conditions, and how Argo CD and Flux judge them.
const CLAIMS: [(&[&str], &str, &str); 7] = [
    (
        &["Ready=True Available @2", "Synced=True ReconcileSuccess @2", "Healthy=True Healthy @2"],
        "Healthy: Ready is True",
        "current",
    ),
    (
        &["Ready=False Waiting @2", "Synced=True ReconcileSuccess @2"],
        "Progressing: Ready is False",
        "in progress",
    ),
    (
        &["Ready=True Available @2", "Synced=True ReconcileSuccess @2", "Healthy=False InternalError @2"],
        "Degraded: Healthy is False",
        "failed",
    ),
    (&["Ready=True Available @1", "Synced=False ReconcileError @2"], "Degraded: Synced is False", "failed"),
    (
        &["Ready=True Available @1", "Synced=True ReconcileSuccess @1"],
        "Progressing: the operator has not seen this generation yet",
        "in progress",
    ),
    (&["Ready=True Available @2", "Synced=False ReconcilePaused @2"], "Suspended: paused", "current"),
    (&[], "Progressing: the operator has not seen this generation yet", "in progress"),
];

/// Cloud resources.
const QUEUES: [(&[&str], &str, &str); 4] = [
    (
        &["Ready=True Available @2", "Progressing=False Idle @2", "Stalled=False Idle @2"],
        "Healthy: Ready is True",
        "current",
    ),
    (
        &["Ready=True Available @1", "Progressing=True Updating @2", "Stalled=False Updating @2"],
        "Progressing: Progressing is True",
        "in progress",
    ),
    (
        &["Ready=True Available @2", "Progressing=True Retrying @2", "Stalled=False Retrying @2"],
        "Progressing: Progressing is True",
        "current",
    ),
    (
        &["Ready=False Failed @2", "Progressing=False Failed @2", "Stalled=True Failed @2"],
        "Degraded: Stalled is True",
        "failed",
    ),
];

#[test]
fn flux_waits_for_what_was_applied_and_fails_when_it_is_broken() {
    let apps = file("apps.yaml");
    let checks = apps["spec"]["healthCheckExprs"].as_array().unwrap();
    for (kind, cases) in [("App", &CLAIMS[..]), ("Queue", &QUEUES)] {
        let check = checks.iter().find(|check| check["kind"] == kind).unwrap();
        for (conditions, _, expected) in cases {
            let object = object(conditions);
            let holds = |name: &str| is_true(check[name].as_str().unwrap(), &object);
            let judged = match (holds("failed"), holds("current")) {
                (true, _) => "failed",
                (false, true) => "current",
                (false, false) => "in progress",
            };
            assert_eq!(judged, *expected, "{kind} {conditions:?}");
        }
    }
    let platform = file("platform.yaml");
    let offered = platform["spec"]["healthCheckExprs"][0]["current"].as_str().unwrap();
    assert!(is_true(
        offered,
        &object(&[
            "Established=True WatchingCompositeResource @2",
            "Offered=True WatchingCompositeResourceClaim @2"
        ])
    ));
    assert!(!is_true(offered, &object(&["Established=False TerminatingCompositeResource @2"])));
}

/// An expression on the top-level fields of an object, as Flux evaluates it.
fn is_true(expression: &str, object: &Value) -> bool {
    let mut context = Context::default();
    for (name, field) in object.as_object().unwrap() {
        context.add_variable_from_value(name.as_str(), cel(field));
    }
    match Program::compile(expression).unwrap().execute(&context) {
        Ok(Cel::Bool(verdict)) => verdict,
        other => panic!("{expression}: {other:?}"),
    }
}

fn cel(json: &Value) -> Cel {
    match json {
        Value::Number(number) => Cel::Int(number.as_i64().unwrap()),
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(cel).collect())),
        Value::Object(fields) => {
            let fields: HashMap<String, Cel> =
                fields.iter().map(|(name, field)| (name.clone(), cel(field))).collect();
            Cel::Map(fields.into())
        }
        other => panic!("{other}"),
    }
}

#[test]
fn argo_cd_judges_every_state_as_the_chapter_says() {
    if !super::is_whole() {
        return;
    }
    let map = file("argocd-cm.yaml");
    let customizations = yaml(map["data"]["resource.customizations"].as_str().unwrap());
    let folder = tempfile::tempdir().unwrap();
    for (group, cases) in [("example.org/*", &CLAIMS[..]), ("*.oracle.com/*", &QUEUES)] {
        let script = customizations[group]["health.lua"].as_str().unwrap();
        for (conditions, expected, _) in cases {
            let program = format!(
                "obj = {}\nlocal function judge()\n{script}\nend\nlocal health = judge()\nprint(health.status .. \": \" .. health.message)\n",
                lua(&object(conditions))
            );
            let file = folder.path().join("health.lua");
            std::fs::write(&file, program).unwrap();
            let output = ReleaseTool::Lua.command().arg(&file).output().unwrap();
            assert_eq!(
                text(&output.stdout).trim_end(),
                *expected,
                "{conditions:?}: {}",
                text(&output.stderr)
            );
        }
    }
}

/// A value as Lua writes it.
fn lua(json: &Value) -> String {
    match json {
        Value::Array(items) => format!("{{ {} }}", items.iter().map(lua).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, field)| format!("{name} = {}", lua(field)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
