use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use tfplugin::json::{self, UndefinedAttributes};
use tfplugin::provider::Provider as _;
use tfplugin::schema::Kind;

use super::*;

/// The kind of block a configuration is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Block {
    Provider,
    Resource(&'static str),
    Data(&'static str),
}

use Block::{Data, Resource as Managed};

const OBJECT: Block = Managed("k8sconnect_object");
const PATCH: Block = Managed("k8sconnect_patch");
const WAIT: Block = Managed("k8sconnect_wait");
const DATA: Block = Data("k8sconnect_object");
const SPLIT: Block = Data("k8sconnect_yaml_split");
const SCOPED: Block = Data("k8sconnect_yaml_scoped");

fn schema(block: Block) -> Schema {
    let provider = Provider::in_environment(Environment::default());
    match block {
        Block::Provider => provider.schema(),
        Managed(name) => resource(&provider, name).schema(),
        Data(name) => data_source(&provider, name).schema(),
    }
}

fn resource(provider: &Provider, name: &str) -> Arc<dyn Resource> {
    provider.resources().into_iter().find(|resource| resource.type_name() == name).unwrap()
}

fn data_source(provider: &Provider, name: &str) -> Arc<dyn DataSource> {
    provider.data_sources().into_iter().find(|source| source.type_name() == name).unwrap()
}

/// The problems of a configuration, from the rules of single attributes and from those across attributes.
fn check(block: Block, config: &Json) -> Vec<String> {
    fn attributes(of: &[Attribute], config: &Attributes, path: &Path, found: &mut Diagnostics) {
        for attribute in of {
            let (value, path) = (config.get(&attribute.name), path.clone().attribute(&attribute.name));
            if value.is_null() || value.is_unknown() {
                continue;
            }
            for rule in &attribute.validators {
                found.add(rule.check(value, &path).or_at(&path));
            }
            if let (Kind::Nested(nested), Some(object)) = (&attribute.kind, value.as_object()) {
                attributes(nested, object, &path, found);
            }
        }
    }
    let provider = Provider::in_environment(Environment::default());
    let schema = schema(block);
    let config =
        json::decode(config.to_string().as_bytes(), &schema.ty(), UndefinedAttributes::Refuse).unwrap();
    let config = config.as_object().unwrap();
    let mut found = Diagnostics::new();
    attributes(&schema.attributes, config, &Path::root(), &mut found);
    found.add(match block {
        Block::Provider => provider.validate(config),
        Managed(name) => resource(&provider, name).validate(config),
        Data(name) => data_source(&provider, name).validate(config),
    });
    let shown = |(path, diagnostic): (Option<&Path>, &Diagnostic)| {
        let place = diagnostic
            .location
            .as_ref()
            .map_or_else(String::new, |location| format!(" {}", location.position()));
        format!("{}{place}: {}", path.map(ToString::to_string).unwrap_or_default(), diagnostic.summary)
    };
    found.iter().map(shown).collect()
}

/// A valid configuration of `block`, overlaid with `change`.
fn config(block: Block, change: &Json) -> Json {
    let reference = json!({"api_version": "v1", "kind": "ConfigMap", "name": "a"});
    let mut config = match block {
        OBJECT => json!({"yaml_body": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"}),
        PATCH => json!({"target": reference, "patch": "data: {a: b}"}),
        WAIT => json!({"object_ref": reference, "wait_for": {"field": "data.x"}}),
        DATA => reference,
        Block::Provider | SPLIT | SCOPED => json!({}),
        other => panic!("{other:?}"),
    };
    for (name, value) in change.as_object().unwrap() {
        config[name] = value.clone();
    }
    config
}

fn with_cluster(change: &Json) -> Json {
    let mut cluster = json!({"host": "https://h", "insecure": true, "token": "t"});
    for (name, value) in change.as_object().unwrap() {
        cluster[name] = value.clone();
    }
    json!({"cluster": cluster})
}

/// The attributes set in a case, as in `cluster.exec.command`.
fn set(of: &[Attribute], config: &Json, prefix: &str, paths: &mut BTreeSet<String>) {
    for attribute in of {
        let Some(value) = config.get(&attribute.name) else { continue };
        let path = format!("{prefix}{}", attribute.name);
        if let Kind::Nested(nested) = &attribute.kind {
            set(nested, value, &format!("{path}."), paths);
        }
        paths.insert(path);
    }
}

fn configurable(of: &[Attribute], prefix: &str, paths: &mut BTreeSet<String>) {
    for attribute in of.iter().filter(|attribute| !attribute.is_computed()) {
        let path = format!("{prefix}{}", attribute.name);
        if let Kind::Nested(nested) = &attribute.kind {
            configurable(nested, &format!("{path}."), paths);
        }
        paths.insert(path);
    }
}

/// A change to a valid configuration, and the expected diagnostics: `path line:column: title`.
type Case = (Block, Json, &'static [&'static str]);

/// Invalid input. An attribute that accepts any value is in a case with another one that does not.
fn cases() -> Vec<Case> {
    let mut cases = [object_cases(), patch_cases(), other_cases()].concat();
    cases.extend([OBJECT, WAIT, DATA].into_iter().flat_map(wait_cases));
    cases.extend([OBJECT, PATCH, WAIT, DATA, Block::Provider].into_iter().flat_map(connection_cases));
    cases
}

fn object_cases() -> Vec<Case> {
    vec![
        (OBJECT, json!({"yaml_body": "a: ["}), &["yaml_body 1:4: Invalid YAML"]),
        (OBJECT, json!({"yaml_body": "apiVersion: v1\nkind: Pod\n"}), &["yaml_body 1:1: Invalid YAML"]),
        (
            OBJECT,
            json!({"yaml_body": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nstatus: {}\n"}),
            &["yaml_body 4:1: Server-managed fields not allowed in yaml_body"],
        ),
        (
            OBJECT,
            json!({"yaml_body": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    k8sconnect.terraform.io/x: y\n"}),
            &["yaml_body 6:5: Provider internal annotations not allowed in yaml_body"],
        ),
        (OBJECT, json!({"yaml_body": null}), &["yaml_body: Missing Required Field"]),
        (OBJECT, json!({"yaml_body_wo": "kind: Pod"}), &["yaml_body_wo: Invalid Write-Only Fields"]),
        (
            OBJECT,
            json!({"yaml_body_wo_version": "1"}),
            &["yaml_body_wo_version: Write-Only Version Without a Value"],
        ),
        (OBJECT, json!({"conflict_policy": "never"}), &["conflict_policy: Invalid Attribute Value"]),
        (OBJECT, json!({"delete_timeout": "soon"}), &["delete_timeout: Invalid Duration"]),
        (
            OBJECT,
            json!({"delete_protection": true, "force_destroy": true}),
            &["delete_protection: Conflicting Deletion Settings"],
        ),
        (
            OBJECT,
            json!({"ignore_fields": ["spec", "spec["]}),
            &["ignore_fields[1]: Invalid Field Path Syntax"],
        ),
        (
            OBJECT,
            json!({"ignore_fields": ["metadata.annotations.k8sconnect.terraform.io/terraform-id"]}),
            &["ignore_fields[0]: Cannot ignore provider internal annotations"],
        ),
        (OBJECT, json!({"wait_for": {"field": "spec.x"}}), &["wait_for.field: Field Outside Status"]),
    ]
}

fn patch_cases() -> Vec<Case> {
    vec![
        // It may be in a state that is to be destroyed, so the plan rejects it.
        (PATCH, json!({"patch": "a: ["}), &[]),
        (PATCH, json!({"conflict_policy": "never"}), &["conflict_policy: Invalid Attribute Value"]),
        (PATCH, json!({"patch": "status: {}"}), &["patch: Status Field in Patch"]),
        (PATCH, json!({"patch": "metadata: {uid: x}"}), &["patch: Server-Managed Field in Patch"]),
        (
            PATCH,
            json!({"patch": "metadata: {annotations: {k8sconnect.terraform.io/x: y}}"}),
            &["patch: Provider Internal Annotation in Patch"],
        ),
        (
            PATCH,
            json!({"patch": "spec: {containers: [{image: a}]}"}),
            &["patch: Invalid Strategic Merge Patch"],
        ),
        (PATCH, json!({"patch": null, "json_patch": "{}"}), &["json_patch: Invalid JSON Patch"]),
        (
            PATCH,
            json!({"patch": null, "json_patch": r#"[{"op": "jump", "path": "/a"}]"#}),
            &["json_patch: Invalid JSON Patch Operation"],
        ),
        (
            PATCH,
            json!({"patch": null, "json_patch": r#"[{"op": "remove", "path": "/status"}]"#}),
            &["json_patch: Patching Server-Managed Field"],
        ),
        (PATCH, json!({"patch": null, "merge_patch": "[]"}), &["merge_patch: Invalid JSON Merge Patch"]),
        (
            PATCH,
            json!({"patch": null, "merge_patch": r#"{"status": {}}"#}),
            &["merge_patch: Status Field in Merge Patch"],
        ),
        (
            PATCH,
            json!({"patch": null, "merge_patch": r#"{"metadata": {"uid": "x"}}"#}),
            &["merge_patch: Server-Managed Field in Merge Patch"],
        ),
        (PATCH, json!({"patch_wo": "[]"}), &["patch_wo: Invalid Write-Only Fields"]),
        (PATCH, json!({"patch_wo_version": "1"}), &["patch_wo_version: Write-Only Version Without a Value"]),
        (
            PATCH,
            json!({"patch": null, "merge_patch": "{}", "patch_wo": "{}"}),
            &["merge_patch: Invalid Attribute Combination"],
        ),
        (PATCH, json!({"patch": null}), &["patch: Invalid Attribute Combination"]),
        (PATCH, json!({"merge_patch": "{}"}), &["patch: Invalid Attribute Combination"]),
    ]
}

fn other_cases() -> Vec<Case> {
    vec![
        (SPLIT, json!({}), &[": Invalid Configuration"]),
        (SPLIT, json!({"content": "a", "pattern": "b", "kustomize_path": "c"}), &[": Invalid Configuration"]),
        (
            SCOPED,
            json!({"content": "a", "pattern": "b", "kustomize_path": "c"}),
            &[": Invalid Configuration"],
        ),
        (Block::Provider, json!({"conflict_policy": "never"}), &["conflict_policy: Invalid Attribute Value"]),
        (
            Block::Provider,
            json!({"managed_fields_verbosity": "loud"}),
            &["managed_fields_verbosity: Invalid Attribute Value"],
        ),
        (
            Block::Provider,
            json!({"cluster": {"config_paths": ["a"], "in_cluster": true, "tls_server_name": "x"}}),
            &["cluster: Invalid Cluster Connection Configuration"],
        ),
        (
            Block::Provider,
            json!({"cluster": {"in_cluster": true, "impersonate": {"groups": ["g"]}}}),
            &["cluster: Invalid Cluster Connection Configuration"],
        ),
        (
            Block::Provider,
            json!({"cluster": {"in_cluster": true, "kubeconfig": "{}", "impersonate": {"user": "u"}}}),
            &["cluster: Invalid Cluster Connection Configuration"],
        ),
    ]
}

fn wait_cases(block: Block) -> Vec<Case> {
    let waits: [(Json, &'static [&'static str]); 7] = [
        (json!({"field": "status.x["}), &["wait_for.field: Invalid JSONPath Syntax"]),
        (json!({"field_value": {"status.x[": "1"}}), &["wait_for.field_value: Invalid JSONPath"]),
        (json!({"field": "status.x", "timeout": "soon"}), &["wait_for.timeout: Invalid Duration"]),
        (json!({"field": "status.x", "timeout": "0s"}), &["wait_for.timeout: Invalid Timeout"]),
        (json!({"rollout": true}), &["wait_for.rollout: Rollout Not Supported"]),
        (json!({"rollout": false}), &["wait_for: Wait Has No Condition"]),
        (
            json!({"condition": "Ready", "field": "status.x"}),
            &["wait_for.field: Invalid Attribute Combination", "wait_for.condition: Unknown Condition"],
        ),
    ];
    waits.map(|(wait, expected)| (block, json!({"wait_for": wait}), expected)).into()
}

fn connection_cases(block: Block) -> Vec<Case> {
    let exec = |exec: Json| with_cluster(&json!({"token": null, "exec": exec}));
    let connections: [(Json, &'static [&'static str]); 8] = [
        (
            with_cluster(&json!({"host": null, "insecure": null, "cluster_ca_certificate": "c"})),
            &["cluster: Invalid Cluster Connection Configuration"],
        ),
        (with_cluster(&json!({"insecure": false})), &["cluster: Invalid Cluster Connection Configuration"]),
        (
            with_cluster(&json!({"token": null, "proxy_url": "http://p"})),
            &["cluster: Invalid Cluster Connection Configuration"],
        ),
        (
            with_cluster(&json!({"client_certificate": "c"})),
            &["cluster: Invalid Cluster Connection Configuration"],
        ),
        (with_cluster(&json!({"client_key": "k"})), &["cluster: Invalid Cluster Connection Configuration"]),
        (
            with_cluster(&json!({"kubeconfig": "{}", "context": "c"})),
            &["cluster: Invalid Cluster Connection Configuration"],
        ),
        (
            exec(json!({"api_version": "v1", "command": "", "args": ["a"], "env": {"A": "b"}})),
            &["cluster.exec: Invalid Exec Authentication Configuration"],
        ),
        (
            exec(json!({"api_version": "", "command": "login"})),
            &["cluster.exec: Invalid Exec Authentication Configuration"],
        ),
    ];
    let mut cases: Vec<Case> = connections.map(|(cluster, expected)| (block, cluster, expected)).into();
    // A data source checks the parts of a connection when it is read.
    if block != DATA {
        let parts: [(Json, &'static [&'static str]); 3] = [
            (with_cluster(&json!({"host": "nowhere"})), &["cluster.host: Invalid URL"]),
            (with_cluster(&json!({"proxy_url": "nowhere"})), &["cluster.proxy_url: Invalid URL"]),
            (json!({"cluster": {"kubeconfig": "a: ["}}), &["cluster.kubeconfig: Invalid Kubeconfig"]),
        ];
        cases.extend(parts.map(|(cluster, expected)| (block, cluster, expected)));
    }
    if block != Block::Provider {
        let expected: &[&str] = &[
            "cluster: Missing Cluster Connection Configuration",
            "cluster: Missing Required Configuration Block",
        ];
        cases.push((block, json!({"cluster": {}}), expected));
    }
    cases
}

#[test]
fn bad_input_of_every_attribute_has_the_known_title_and_a_path() {
    let mut covered: BTreeSet<(Block, String)> = BTreeSet::new();
    for (block, change, expected) in cases() {
        let config = config(block, &change);
        assert_eq!(check(block, &config), expected, "{block:?} {config}");
        let mut paths = BTreeSet::new();
        set(&schema(block).attributes, &config, "", &mut paths);
        covered.extend(paths.into_iter().map(|path| (block, path)));
    }
    for block in [Block::Provider, OBJECT, PATCH, WAIT, DATA, SPLIT, SCOPED] {
        assert_eq!(
            check(block, &config(block, &json!({}))).len(),
            usize::from(matches!(block, SPLIT | SCOPED))
        );
        let mut paths = BTreeSet::new();
        configurable(&schema(block).attributes, "", &mut paths);
        for path in paths {
            // The object's kind and name are checked when it is read: only the cluster knows its kinds.
            let names_object =
                ["api_version", "kind", "name", "namespace"].iter().any(|name| path.ends_with(name));
            assert!(names_object || covered.contains(&(block, path.clone())), "{block:?} {path} has no case");
        }
    }
}
