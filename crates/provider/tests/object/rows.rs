//! Every way in which holding a field can change, as a plan shows it: three of them warn, and four that are not the doing of
//! the configuration are reported.

use serde_json::{Value, json};
use testkit::terraform::Client;

use crate::case::Case;

const IGNORE: &str = "ignore_fields = [\"spec.replicas\"]";
const DRIFT: &str = "Drift Detected - Reverting External Changes";
const TAKING: &str = "Ownership Conflict - Taking Field from Active Controller";
const OVERWRITING: &str = "Ownership Conflict - Overwriting Concurrent External Changes";

/// What happens to `spec.replicas` of one Deployment, which is applied with 3.
struct Row {
    name: &'static str,
    ignored_before: bool,
    /// What another manager sets it to before the plan.
    changed_to: Option<u32>,
    planned: u32,
    ignored_now: bool,
    /// The title and the line of the warning.
    warning: Option<(&'static str, &'static str)>,
    /// Its value after the apply.
    result: u32,
}

/// The rows that a configuration can reach.
#[rustfmt::skip]
const ROWS: [Row; 12] = [
    row("left-alone", true, None, 3, true, None, 3),
    row("left-to-others", true, Some(8), 3, true, None, 8),
    row("edited-but-left", true, None, 4, true, None, 3),
    row("edited-and-left-to-others", true, Some(8), 4, true, None, 8),
    row("take", true, None, 3, false, None, 3),
    row("take-from-active", true, Some(8), 3, false, Some((TAKING, "spec.replicas: 8 → 3")), 3),
    row("release", false, None, 3, true, None, 3),
    row("release-to-other", false, Some(8), 3, true, None, 8),
    row("hold", false, None, 3, false, None, 3),
    row("revert-drift", false, Some(8), 3, false, Some((DRIFT, "spec.replicas: 8 → 3 (modified by: autoscaler)")), 3),
    row("update", false, None, 4, false, None, 4),
    row("overwrite-concurrent", false, Some(8), 4, false, Some((OVERWRITING, "spec.replicas")), 4),
];

const fn row(
    name: &'static str,
    ignored_before: bool,
    changed_to: Option<u32>,
    planned: u32,
    ignored_now: bool,
    warning: Option<(&'static str, &'static str)>,
    result: u32,
) -> Row {
    Row { name, ignored_before, changed_to, planned, ignored_now, warning, result }
}

impl Row {
    fn write(&self, case: &Case, replicas: u32, ignored: bool) {
        let name = self.name;
        let body = format!(
            "apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: NS}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec: {{containers: [{{name: web, image: 'web:1'}}]}}"
        );
        case.object(name, &body, if ignored { IGNORE } else { "" });
    }

    /// The warnings about this Deployment among the output of a plan, each up to the next one.
    fn warnings<'a>(&self, case: &Case, output: &'a str) -> Vec<&'a str> {
        let about = format!("(Deployment {}/{})", case.namespace.name(), self.name);
        output.split("Warning: ").skip(1).filter(|warning| warning.contains(&about)).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_row_is_planned_and_applied() {
    for client in Client::all() {
        let case = Case::new("rows", client).await;
        for row in &ROWS {
            row.write(&case, 3, row.ignored_before);
        }
        case.workspace.apply(&[]).expect_success();
        let deployment = |row: &Row| json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": row.name}});
        for row in &ROWS {
            if let Some(replicas) = row.changed_to {
                let change = json!({"spec": {"replicas": replicas}});
                case.namespace.merge_as("autoscaler", &deployment(row), &change).await;
            }
        }
        for row in &ROWS {
            row.write(&case, row.planned, row.ignored_now);
        }
        let planned = case.workspace.plan(&[]).expect_success().text();
        for row in &ROWS {
            let warnings = row.warnings(&case, &planned);
            match row.warning {
                None => assert!(warnings.is_empty(), "{}: {warnings:#?}", row.name),
                Some((title, line)) => {
                    let [warning] = warnings[..] else { panic!("{}: {warnings:#?}\n{planned}", row.name) };
                    assert!(warning.starts_with(title) && warning.contains(line), "{}: {warning}", row.name);
                }
            }
        }
        case.workspace.apply(&[]).expect_success();
        for row in &ROWS {
            let live = case.namespace.get(&deployment(row)).await.unwrap();
            assert_eq!(live["spec"]["replicas"], row.result, "{}", row.name);
        }
        case.workspace.plan(&["-detailed-exitcode"]).expect_success();
    }
}

/// Has the API server drop `data.dropped` from every ConfigMap of the test's namespace.
fn dropping(case: &Case) -> Value {
    let name = case.namespace.name();
    json!({"apiVersion": "v1", "kind": "List", "items": [
        {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": {"name": name},
            "spec": {
                "reinvocationPolicy": "Never",
                "matchConstraints": {
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
                    "resourceRules": [
                        {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE", "UPDATE"]},
                    ],
                },
                "matchConditions": [{"name": "written", "expression": "has(object.data) && 'dropped' in object.data"}],
                "mutations": [{"patchType": "JSONPatch", "jsonPatch": {
                    "expression": "[JSONPatch{op: 'remove', path: '/data/dropped'}]",
                }}],
            },
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": name},
            "spec": {"policyName": name},
        },
    ]})
}

/// Starts or stops dropping it, and waits until that has an effect.
async fn drops(case: &Case, verb: &str) {
    let file = case.workspace.path("policy.json");
    case.workspace.write("policy.json", &dropping(case).to_string());
    case.namespace.kubectl(&[verb, "-f", &file.display().to_string()]).expect("an administrator may");
    let probe = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe"}, "data": {"dropped": "x"}});
    while case.namespace.apply_as("probe", &probe).await["data"]["dropped"].is_null() != (verb == "create") {}
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_that_the_server_drops_or_adds_are_reported_with_their_row() {
    let case = Case::new("unkept", Client::any()).await;
    let write = |names: &[&str], value: &str| {
        for name in names {
            let body = format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: NS}}\ndata: {{k: {value}, dropped: x}}"
            );
            case.object(name, &body, "");
        }
    };
    let change = async |name: &str| {
        let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        case.namespace.merge_as("intruder", &settings, &json!({"data": {"dropped": "theirs"}})).await;
    };
    let check = |expected: &[(&str, &str)]| {
        let planned = case.workspace.plan(&[]).expect_success().text();
        for (name, row) in expected {
            let about = format!("(ConfigMap {}/{name})", case.namespace.name());
            let mut warnings = planned.split("Warning: ").skip(1).filter(|warning| warning.contains(&about));
            let (Some(warning), None) = (warnings.next(), warnings.next()) else {
                panic!("{name}: {planned}")
            };
            assert!(warning.starts_with("Field Not Kept by the API Server"), "{warning}");
            assert!(warning.contains(&format!("data.dropped ({row})")), "{row}: {warning}");
        }
    };
    let (kept, unkept) = (["lost", "lost-changed"], ["gained", "gained-changed"]);
    write(&kept, "one");
    case.workspace.apply(&[]).expect_success();
    drops(&case, "create").await;
    change("lost-changed").await;
    write(&kept, "two");
    check(&[("lost", "lost unasked"), ("lost-changed", "lost unasked while another manager changed it")]);
    write(&unkept, "one");
    case.workspace.apply(&[]).expect_success();
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();

    drops(&case, "delete").await;
    change("gained-changed").await;
    write(&unkept, "two");
    check(&[
        ("gained", "gained unasked"),
        ("gained-changed", "gained unasked while another manager changed it"),
    ]);
    case.workspace.apply(&[]).expect_success();
    let settings = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gained-changed"}});
    assert_eq!(case.namespace.get(&settings).await.unwrap()["data"]["dropped"], "x");
    case.workspace.plan(&["-detailed-exitcode"]).expect_success();
}
