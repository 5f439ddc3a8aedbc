//! The manifests in `deploy/`: they apply as they are, list everything, and speak of metrics that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use operator::composition::metrics::{CompositionMetrics, Standing};
use operator::operations::metrics::CloudMetrics;
use operator::runtime::metrics::{Loss, Metrics};
use serde_json::Value;
use testkit::Sandbox;

const DEPLOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");

#[test]
fn the_kustomization_applies_unchanged() {
    let sandbox = Sandbox::shared();
    let run = |arguments: &[&str]| {
        let output = sandbox.kubectl(arguments);
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {reported}");
        assert!(!reported.contains("Warning"), "{reported}");
        String::from_utf8(output.stdout).unwrap()
    };
    let apply = ["apply", "--server-side", "--force-conflicts", "--kustomize", DEPLOY];
    run(&apply);
    let again = run(&apply);
    assert_eq!(again.lines().count(), built().split("---\n").count(), "{again}");
    let account = "--as=system:serviceaccount:plimsoll-system:plimsoll-operator";
    let may = |what: &[&str]| {
        let asked = [&["auth", "can-i", account], what].concat();
        sandbox.kubectl(&asked).status.success()
    };
    for allowed in [
        &["watch", "queues.queue.oracle.com"][..],
        &["update", "queues.queue.oracle.com", "--subresource=status"],
        &["create", "events", "--namespace=default"],
        &["update", "leases.coordination.k8s.io/plimsoll-operator", "--namespace=plimsoll-system"],
        &["create", "secrets", "--namespace=default"],
        &["watch", "secrets/plimsoll-tls-client", "--namespace=plimsoll-system"],
        &["update", "compositeresourcedefinitions.apiextensions.crossplane.io", "--subresource=status"],
        &["create", "deployments.apps", "--namespace=plimsoll-system"],
    ] {
        assert!(may(allowed), "{allowed:?}");
    }
    for forbidden in [
        &["delete", "queues.queue.oracle.com"][..],
        &["create", "queues.queue.oracle.com"],
        &["get", "pods", "--namespace=default"],
        &["delete", "events", "--namespace=default"],
        &["create", "serviceaccounts", "--namespace=default"],
        &["delete", "services", "--namespace=plimsoll-system"],
        &["create", "functions.pkg.crossplane.io"],
        &["update", "leases.coordination.k8s.io/plimsoll-operator", "--namespace=default"],
        &["create", "clusterrolebindings.rbac.authorization.k8s.io"],
        &["bind", "clusterroles.rbac.authorization.k8s.io"],
        &["impersonate", "users"],
    ] {
        assert!(!may(forbidden), "{forbidden:?}");
    }
    run(&["delete", "deployment", "plimsoll-operator", "--namespace=plimsoll-system"]);
}

#[test]
fn metrics_are_exposed_only_behind_authentication() {
    let alone = built();
    assert!(alone.contains("- --metrics-address=127.0.0.1:8080\n"), "they stay in the pod");
    assert!(!alone.contains("kind: Service\n"));

    // A component belongs to a kustomization, which must not contain what it refers to.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let deploy = pathdiff(folder.path(), DEPLOY);
    let kustomization = format!("resources: [{deploy}]\ncomponents: [{deploy}/monitoring]\n");
    fs::write(folder.path().join("kustomization.yaml"), kustomization).unwrap();
    let output = Sandbox::shared().kubectl(&["kustomize", folder.path().to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let built = String::from_utf8(output.stdout).unwrap();
    let count = |line: &str| built.lines().filter(|one| one.trim() == line).count();
    let kinds = ["PrometheusRule", "ServiceMonitor", "Service", "Deployment", "ConfigMap"];
    // Not those that a CRD defines.
    let of_kind = |kind: &str| built.lines().filter(|line| line.strip_prefix("kind: ") == Some(kind)).count();
    assert_eq!(kinds.map(of_kind), [2, 1, 1, 1, 1]);
    assert!(built.contains("- --metrics-address=127.0.0.1:8080\n"));
    assert_eq!(count("- --upstream=http://127.0.0.1:8080/"), 1);
    assert_eq!(count("- containerPort: 8443"), 1);
    assert_eq!(count("- containerPort: 8080"), 0);
}

/// `to`, relative to `from`; both are absolute.
fn pathdiff(from: &Path, to: &str) -> String {
    let (from, to) = (fs::canonicalize(from).unwrap(), fs::canonicalize(to).unwrap());
    let common = from.components().zip(to.components()).take_while(|(one, other)| one == other).count();
    let up = from.components().skip(common).map(|_| "..".to_owned());
    let down = to.components().skip(common).map(|part| part.as_os_str().to_str().unwrap().to_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

/// The manifests as they are applied.
fn built() -> String {
    String::from_utf8(Sandbox::shared().kubectl(&["kustomize", DEPLOY]).stdout).unwrap()
}

/// The ClusterRoles in a list of documents, by name.
fn cluster_roles(documents: &str) -> Vec<(&str, &str)> {
    let is_role = |document: &&str| document.lines().any(|line| line == "kind: ClusterRole");
    let roles = documents.split("---\n").filter(is_role);
    let named =
        roles.map(|role| (role.lines().find_map(|line| line.strip_prefix("  name: ")).unwrap(), role));
    named.collect()
}

/// Files that only those install who need them.
const OPT_IN: [&str; 3] = ["roles-definitions.yaml", "roles-impersonation.yaml", "roles-users.yaml"];

#[test]
fn what_makes_the_account_powerful_is_opt_in() {
    let (built, kustomization) =
        (built(), fs::read_to_string(format!("{DEPLOY}/kustomization.yaml")).unwrap());
    for verb in ["escalate", "impersonate", "bind", "'*'"] {
        assert!(!built.contains(&format!("  - {verb}\n")), "{verb}");
    }
    for file in OPT_IN {
        assert!(kustomization.contains(&format!("\n  # - {file}\n")), "{file}");
    }
}

#[test]
fn the_operator_survives_a_node_and_is_closed_to_the_network() {
    let built = built();
    let document = |kind: &str| {
        let is_kind = |document: &&str| document.lines().any(|line| line == format!("kind: {kind}"));
        built.split("---\n").find(is_kind).unwrap_or_else(|| panic!("there is no {kind}"))
    };
    for (kind, expected) in [
        ("Namespace", "    pod-security.kubernetes.io/enforce: restricted\n"),
        ("PodDisruptionBudget", "  minAvailable: 1\n"),
        ("NetworkPolicy", "  ingress: []\n"),
        ("NetworkPolicy", "  - Ingress\n"),
        ("Deployment", "topologyKey: kubernetes.io/hostname\n"),
        ("Deployment", "  replicas: 2\n"),
    ] {
        assert!(document(kind).contains(expected), "{kind}: {expected}");
    }
    // The admission plugin of the API server decides, not this test, what level the pods of the Deployment have.
    let pod = [
        "run",
        "privileged",
        "--image=any",
        "--privileged",
        "--namespace=plimsoll-system",
        "--dry-run=server",
    ];
    let sandbox = Sandbox::shared();
    sandbox.deploy();
    let refused = sandbox.kubectl(&pod);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("violates PodSecurity"), "{refused:?}");
}

#[test]
fn the_composition_half_does_not_list_watch_or_delete_secrets() {
    let built = built();
    let roles = cluster_roles(&built);
    let (_, role) = roles.iter().find(|(name, _)| *name == "plimsoll-composition").unwrap();
    let rules: Vec<&str> =
        role.split("\n- apiGroups:").filter(|rule| rule.contains("  - secrets\n")).collect();
    assert_eq!(rules.len(), 1, "{rules:?}");
    let (_, verbs) = rules[0].split_once("  verbs:\n").unwrap();
    assert_eq!(
        verbs.split_whitespace().filter(|word| *word != "-").collect::<Vec<_>>(),
        ["get", "create", "patch"]
    );
}

#[test]
fn every_role_is_explained() {
    let readme = fs::read_to_string(format!("{DEPLOY}/README.md")).unwrap();
    let opt_in = OPT_IN.map(|file| fs::read_to_string(format!("{DEPLOY}/{file}")).unwrap()).join("---\n");
    let all = format!("{}---\n{opt_in}", built());
    let names: Vec<&str> = cluster_roles(&all).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 15, "{names:?}");
    for name in names {
        assert!(readme.contains(&format!("\n| `{name}` |")), "{name}");
    }
}

#[test]
fn every_definition_is_listed() {
    let kustomization = fs::read_to_string(format!("{DEPLOY}/kustomization.yaml")).unwrap();
    for file in fs::read_dir(format!("{DEPLOY}/crds")).unwrap() {
        let line = format!("\n  - crds/{}\n", file.unwrap().file_name().to_str().unwrap());
        assert!(kustomization.contains(&line), "{line}");
    }
}

/// Every metric with every label, as the operator serves them.
fn served() -> String {
    let metrics = Metrics::new();
    let standing = || Standing {
        xrd: "xrd".to_owned(),
        condition: "Healthy",
        status: "False",
        reason: "InternalError".to_owned(),
    };
    let (cloud, composition) = (metrics.part::<CloudMetrics>(), metrics.part::<CompositionMetrics>());
    cloud.operation("Queue", "u", Some(("create", Timestamp::now())));
    composition.claim("u", vec![standing()]);
    composition.composite("u", vec![standing()]);
    cloud.call("GetQueue", "ok", Duration::ZERO);
    composition.function_call("function", "ok", Duration::ZERO);
    composition.function_waiting("function", 1);
    metrics.reconciled("composite", "ok", Duration::ZERO);
    metrics.reconcile_panicked("composite");
    metrics.controller_panicked("composite");
    metrics.queue("composite", || Some(1));
    metrics.event_lost(Loss::Refused);
    metrics.text(Timestamp::now())
}

/// Checks that every metric and label in an expression is served; the metrics.
fn check_expression(expression: &str, served: &str) -> BTreeSet<String> {
    let words = expression.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let metrics: BTreeSet<String> =
        words.filter(|word| word.starts_with("plimsoll_")).map(str::to_owned).collect();
    assert!(!metrics.is_empty(), "{expression}");
    for metric in &metrics {
        let is_sample =
            |line: &&str| line.strip_prefix(metric.as_str()).is_some_and(|rest| rest.starts_with(['{', ' ']));
        let sample = served.lines().find(is_sample).unwrap_or_else(|| panic!("{metric} is not in\n{served}"));
        let labels = [("by (", ')'), ("{", '}')].into_iter().flat_map(|(opens, closes)| {
            let parts = expression.split(opens).skip(1).filter_map(move |part| part.split(closes).next());
            parts
                .flat_map(|part| part.split(','))
                .map(|label| label.split(['=', '!']).next().unwrap_or_default().trim().to_owned())
        });
        // Prometheus adds the Service that it scraped.
        for label in labels.filter(|label| label != "service") {
            assert!(sample.contains(&format!("{label}=\"")), "{label} of {expression} is not in {sample}");
        }
    }
    metrics
}

#[test]
fn alerts_use_existing_metrics_and_cover_every_reason() {
    let served = served();
    let rules = ["alerts.yaml", "leader.yaml"].map(|name| {
        let text = fs::read_to_string(format!("{DEPLOY}/monitoring/{name}")).unwrap();
        let read = manifest::read(&diag::Source::new(name, text), &manifest::Limits::default());
        read.single().unwrap().value()["spec"]["groups"][0]["rules"].as_array().unwrap().clone()
    });
    let expressions: Vec<&str> = rules.iter().flatten().map(|rule| rule["expr"].as_str().unwrap()).collect();
    for expression in &expressions {
        check_expression(expression, &served);
    }
    // Any unhealthy claim or XR, with no reason left out.
    for counted in ["plimsoll_claims", "plimsoll_composites"] {
        let all = format!(r#"({counted}{{condition="Healthy",status="False"}}) > 0"#);
        assert!(expressions.iter().any(|expression| expression.ends_with(&all)), "{all}");
    }
}

#[test]
fn the_dashboard_shows_every_metric_the_operator_serves() {
    let served = served();
    let dashboard = fs::read_to_string(format!("{DEPLOY}/monitoring/dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let shown: BTreeSet<String> =
        targets.flat_map(|target| check_expression(target["expr"].as_str().unwrap(), &served)).collect();
    let names = served.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    for name in names.filter(|name| *name != "plimsoll_retries") {
        assert!(shown.iter().any(|metric| metric.starts_with(name)), "{name} is not on the dashboard");
    }
}
