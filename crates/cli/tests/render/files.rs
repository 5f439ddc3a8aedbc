//! Files and functions in, composed objects out.

use functions::{RunRequest, response};
use serde_json::{Value, json};

use crate::fixture::{Fixture, XR, config_map};
use crate::schema;

#[test]
fn an_xr_is_shown_with_its_composed_resources() {
    let fixture = Fixture::new();
    fixture.composition(&["main"], |_| {});
    fixture.serve(config_map);
    insta::assert_snapshot!(fixture.render(&["-r", "-c"]), @r#"
    exit 0
    ---
    apiVersion: example.org/v1
    kind: XApp
    metadata:
      name: shop
    spec:
      crossplane:
        resourceRefs:
        - apiVersion: v1
          kind: ConfigMap
          name: shop-9c1a21435007
    status:
      conditions:
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: WatchCircuitClosed
        status: "True"
        type: Responsive
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: Available
        status: "True"
        type: MapReady
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: ReconcileSuccess
        status: "True"
        type: Synced
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        message: 'Unready resources: map'
        reason: Creating
        status: "False"
        type: Ready
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: Healthy
        status: "True"
        type: Healthy
      size: 3
    ---
    apiVersion: v1
    data:
      size: "3"
    kind: ConfigMap
    metadata:
      annotations:
        crossplane.io/composition-resource-name: map
      generateName: shop-
      labels:
        crossplane.io/composite: shop
      name: shop-9c1a21435007
      ownerReferences:
      - apiVersion: example.org/v1
        blockOwnerDeletion: true
        controller: true
        kind: XApp
        name: shop
        uid: 1b0dc85e-913f-5925-9e76-a269606f5ce6
    ---
    apiVersion: render.crossplane.io/v1beta1
    kind: Result
    message: composed a map
    reason: Composed
    severity: SEVERITY_NORMAL
    step: run-main
    ---
    apiVersion: render.crossplane.io/v1beta1
    fields:
      seen: true
    kind: Context
    "#);
    insta::assert_snapshot!(fixture.render(&["--output", "name"]), @r"
    exit 0
    xapp.example.org/shop
    configmap/shop-9c1a21435007
    ");
}

#[test]
fn existing_resources_are_observed_and_undesired_ones_deleted() {
    let fixture = Fixture::new();
    fixture.composition(&["main", "function-auto-ready"], |_| {});
    fixture.serve(config_map);
    let observed = |key: &str, name: &str| {
        format!(
            "
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
  annotations:
    crossplane.io/composition-resource-name: {key}
  ownerReferences:
  - {{apiVersion: example.org/v1, kind: XApp, name: shop, uid: 6b7d8f33-6d0f-4e0c-8f2e-6f1c1d1a2b3c, controller: true}}
"
        )
    };
    fixture.write(
        "xr.yaml",
        &XR.replace("name: shop", "name: shop\n  uid: 6b7d8f33-6d0f-4e0c-8f2e-6f1c1d1a2b3c"),
    );
    fixture.write("observed/map.yaml", &observed("map", "kept"));
    fixture.write("observed/old.yaml", &observed("old", "goes"));
    insta::assert_snapshot!(fixture.render(&["-o", &fixture.path("observed"), "-x"]), @r#"
    exit 0
    ---
    apiVersion: example.org/v1
    kind: XApp
    metadata:
      name: shop
      uid: 6b7d8f33-6d0f-4e0c-8f2e-6f1c1d1a2b3c
    spec:
      crossplane:
        resourceRefs:
        - apiVersion: v1
          kind: ConfigMap
          name: kept
      size: 3
    status:
      conditions:
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: WatchCircuitClosed
        status: "True"
        type: Responsive
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: Available
        status: "True"
        type: MapReady
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: ReconcileSuccess
        status: "True"
        type: Synced
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: Available
        status: "True"
        type: Ready
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: Healthy
        status: "True"
        type: Healthy
      size: 3
    ---
    apiVersion: v1
    data:
      size: "3"
    kind: ConfigMap
    metadata:
      annotations:
        crossplane.io/composition-resource-name: map
      labels:
        crossplane.io/composite: shop
      name: kept
      ownerReferences:
      - apiVersion: example.org/v1
        blockOwnerDeletion: true
        controller: true
        kind: XApp
        name: shop
        uid: 6b7d8f33-6d0f-4e0c-8f2e-6f1c1d1a2b3c
    --- stderr
    would be deleted: ConfigMap goes
    "#);
}

#[test]
fn a_fatal_result_is_shown_and_composes_nothing() {
    let fixture = Fixture::new();
    fixture.composition(&["main"], |_| {});
    fixture.serve(|request: RunRequest| async move {
        let mut answer = response::to(&request);
        response::fatal(&mut answer, "no such image").condition_false("ImageReady", "NotFound");
        Ok(answer)
    });
    insta::assert_snapshot!(fixture.render(&["-r"]), @r#"
    exit 1
    ---
    apiVersion: example.org/v1
    kind: XApp
    metadata:
      name: shop
    status:
      conditions:
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: WatchCircuitClosed
        status: "True"
        type: Responsive
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        message: 'cannot compose resources: pipeline step "run-main" returned a fatal
          result: no such image'
        reason: ReconcileError
        status: "False"
        type: Synced
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        message: no such image
        reason: NotFound
        status: "False"
        type: ImageReady
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: Creating
        status: "False"
        type: Ready
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        message: 'cannot compose resources: pipeline step "run-main" returned a fatal
          result: no such image (error id 015f57c6)'
        reason: FatalResult
        status: "False"
        type: Healthy
    ---
    apiVersion: render.crossplane.io/v1beta1
    kind: Result
    message: no such image
    severity: SEVERITY_FATAL
    step: run-main
    --- stderr
    error[render-function]: cannot compose resources: pipeline step "run-main" returned a fatal result:
                            no such image

      The function of step "run-main" stopped the pipeline; nothing would be applied.
    "#);
}

#[expect(clippy::too_many_lines, reason = "one request with everything a function can require, shown whole")]
#[test]
fn requirements_are_resolved_from_files() {
    let fixture = Fixture::new();
    fixture.composition(&["main"], |composition| {
        composition["spec"]["pipeline"][0]["credentials"] =
            json!([{"name": "db", "source": "Secret", "secretRef": {"namespace": "default", "name": "db"}}]);
    });
    fixture.serve(|request: RunRequest| async move {
        let mut answer = response::to(&request);
        let selector = composition::protocol::ResourceSelector {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            matching: composition::protocol::Match::Labels([("app".to_owned(), "shop".to_owned())].into()),
            namespace: None,
        };
        answer.requirements.resources.insert("maps".to_owned(), selector);
        let names: Vec<String> = request
            .required_resources
            .get("maps")
            .into_iter()
            .flatten()
            .map(|one| one.object["metadata"]["name"].to_string())
            .collect();
        let user = request.credentials["db"].get("user").cloned().unwrap_or_default();
        response::normal(&mut answer, format!("{names:?} for {}", String::from_utf8_lossy(&user)));
        let given = request.context.unwrap_or_default();
        response::normal(&mut answer, format!("context {}", Value::Object(given)));
        Ok(answer)
    });
    fixture.write(
        "extra.yaml",
        "
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: shop, labels: {app: shop}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: shop}
",
    );
    fixture.write(
        "more.yaml",
        "
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: shop, labels: {app: shop}}
",
    );
    fixture.write(
        "secret.yaml",
        "
apiVersion: v1
kind: Secret
metadata: {name: db, namespace: default}
stringData: {user: alice}
",
    );
    fixture.write("region.json", r#"{"name": "eu"}"#);
    let arguments = |fixture: &Fixture| {
        [
            "-r",
            "-e",
            &fixture.path("extra.yaml"),
            "--extra-resources",
            &fixture.path("more.yaml"),
            "--function-credentials",
            &fixture.path("secret.yaml"),
            "--context-files",
            &format!("region={}", fixture.path("region.json")),
            "--context-values",
            "size=3",
        ]
        .map(str::to_owned)
    };
    let arguments = arguments(&fixture);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let printed = fixture.render(&[&arguments[..], &["-c", "--output", "json", "--quiet"]].concat());
    let printed = schema::check("render", printed.strip_prefix("exit 0\n").unwrap());
    assert_eq!(printed["compositeResource"]["metadata"]["name"], "shop");
    insta::assert_snapshot!(fixture.render(&arguments), @r#"
    exit 0
    ---
    apiVersion: example.org/v1
    kind: XApp
    metadata:
      name: shop
    spec:
      crossplane:
        resourceRefs: []
    status:
      conditions:
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: WatchCircuitClosed
        status: "True"
        type: Responsive
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: ReconcileSuccess
        status: "True"
        type: Synced
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: Available
        status: "True"
        type: Ready
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: Healthy
        status: "True"
        type: Healthy
    ---
    apiVersion: render.crossplane.io/v1beta1
    kind: Result
    message: '["\"a\"", "\"b\""] for alice'
    severity: SEVERITY_NORMAL
    step: run-main
    ---
    apiVersion: render.crossplane.io/v1beta1
    kind: Result
    message: context {"region":{"name":"eu"},"size":3}
    severity: SEVERITY_NORMAL
    step: run-main
    "#);
    insta::assert_snapshot!(fixture.render(&["-r"]), @r#"
    exit 1
    --- stderr
    error[render-input]: step "run-main" needs credentials from Secret default/db

    hint: Write the Secret to a file and pass it with --function-credentials.
    "#);
}

#[test]
fn a_definition_places_engine_fields_and_sets_defaults() {
    let fixture = Fixture::new();
    fixture.composition(&["main"], |_| {});
    fixture.serve(config_map);
    fixture.write("xr.yaml", &XR.replace("  size: 3", "  color: red"));
    let xrd = |kind: &str| {
        json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
            "metadata": {"name": "xapps.example.org"},
            "spec": {
                "group": "example.org", "names": {"kind": kind, "plural": "xapps"},
                "versions": [{"name": "v1", "served": true, "referenceable": true, "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {"spec": {"type": "object", "properties": {
                        "size": {"type": "integer", "default": 7}, "color": {"type": "string"},
                    }}},
                }}}],
            },
        })
    };
    fixture.write("xrd.yaml", &manifest::to_yaml(&xrd("XApp")));
    insta::assert_snapshot!(fixture.render(&["--xrd", &fixture.path("xrd.yaml"), "-x"]), @r#"
    exit 0
    ---
    apiVersion: example.org/v1
    kind: XApp
    metadata:
      name: shop
    spec:
      color: red
      resourceRefs:
      - apiVersion: v1
        kind: ConfigMap
        name: shop-9c1a21435007
      size: 7
    status:
      conditions:
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: WatchCircuitClosed
        status: "True"
        type: Responsive
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: Available
        status: "True"
        type: MapReady
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: ReconcileSuccess
        status: "True"
        type: Synced
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        message: 'Unready resources: map'
        reason: Creating
        status: "False"
        type: Ready
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: Healthy
        status: "True"
        type: Healthy
      size: 7
    ---
    apiVersion: v1
    data:
      size: "7"
    kind: ConfigMap
    metadata:
      annotations:
        crossplane.io/composition-resource-name: map
      generateName: shop-
      labels:
        crossplane.io/composite: shop
      name: shop-9c1a21435007
      ownerReferences:
      - apiVersion: example.org/v1
        blockOwnerDeletion: true
        controller: true
        kind: XApp
        name: shop
        uid: 1b0dc85e-913f-5925-9e76-a269606f5ce6
    "#);
    fixture.write("xrd.yaml", &manifest::to_yaml(&xrd("XOther")));
    insta::assert_snapshot!(fixture.render(&["--xrd", &fixture.path("xrd.yaml")]), @r#"
    exit 1
    --- stderr
    error[render-input]: the files contradict each other

      CompositeResourceDefinition "xapps.example.org" (composite Group=example.org Kind=XOther) does not
      match the input XR's Group=example.org Kind=XApp
    "#);
}

#[expect(clippy::too_many_lines, reason = "whole commands with whole outputs")]
#[test]
fn invalid_inputs_get_an_error_with_a_hint() {
    let fixture = Fixture::new();
    fixture.composition(&["unheard-of"], |_| {});
    fixture.functions("127.0.0.1:1");
    insta::assert_snapshot!(fixture.render(&[]), @r#"
    exit 1
    ---
    apiVersion: example.org/v1
    kind: XApp
    metadata:
      name: shop
    status:
      conditions:
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: WatchCircuitClosed
        status: "True"
        type: Responsive
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        message: 'cannot compose resources: cannot run Composition pipeline step "run-unheard-of":
          cannot run Function "unheard-of": function "unheard-of" is not among the functions:
          start it, and annotate its Function with render.crossplane.io/runtime: Development
          and render.crossplane.io/runtime-development-target: HOST:PORT (render starts
          no containers)'
        reason: ReconcileError
        status: "False"
        type: Synced
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: Creating
        status: "False"
        type: Ready
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        message: 'cannot compose resources: cannot run Composition pipeline step "run-unheard-of":
          cannot run Function "unheard-of": function "unheard-of" is not among the functions:
          start it, and annotate its Function with render.crossplane.io/runtime: Development
          and render.crossplane.io/runtime-development-target: HOST:PORT (render starts
          no containers) (error id d1b94cc7)'
        reason: FunctionNotFound
        status: "False"
        type: Healthy
    --- stderr
    error[render-function]: cannot compose resources: cannot run Composition pipeline step
                            "run-unheard-of": cannot run Function "unheard-of": function "unheard-of" is
                            not among the functions: start it, and annotate its Function with
                            render.crossplane.io/runtime: Development and
                            render.crossplane.io/runtime-development-target: HOST:PORT (render starts no
                            containers)
    "#);
    fixture.composition(&["main"], |_| {});
    insta::assert_snapshot!(fixture.render(&["--timeout", "20s"]), @r#"
    exit 1
    ---
    apiVersion: example.org/v1
    kind: XApp
    metadata:
      name: shop
    status:
      conditions:
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: WatchCircuitClosed
        status: "True"
        type: Responsive
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        message: 'cannot compose resources: cannot run Composition pipeline step "run-main":
          cannot run Function "main": rpc error: code = Unavailable desc = cannot reach
          the function at 127.0.0.1:1: 127.0.0.1:1: cannot connect: Connection refused
          (os error 111)'
        reason: ReconcileError
        status: "False"
        type: Synced
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        reason: Creating
        status: "False"
        type: Ready
      - lastTransitionTime: "2024-01-01T00:00:00Z"
        message: 'cannot compose resources: cannot run Composition pipeline step "run-main":
          cannot run Function "main": rpc error: code = Unavailable desc = cannot reach
          the function at 127.0.0.1:1: 127.0.0.1:1: cannot connect: Connection refused
          (os error 111) (error id 33dd436a)'
        reason: ReconcileError
        status: "False"
        type: Healthy
    --- stderr
    error[render-function]: cannot compose resources: cannot run Composition pipeline step "run-main":
                            cannot run Function "main": rpc error: code = Unavailable desc = cannot
                            reach the function at 127.0.0.1:1: 127.0.0.1:1: cannot connect: Connection
                            refused (os error 111)
    "#);
    fixture.write("xr.yaml", &format!("{XR}---{XR}").replacen("name: shop", "name: other", 1));
    insta::assert_snapshot!(fixture.render(&[]), @"
    exit 1
    --- stderr
    error[render-input]: DIR/xr.yaml has 2 objects; expected one, the composite resource

    hint: Put the XR, the Composition and the XRD into separate files.
    ");
    fixture.write("xr.yaml", XR);
    fixture.composition(&[], |_| {});
    insta::assert_snapshot!(fixture.render(&[]), @"
    exit 1
    --- stderr
    error[render-input]: the pipeline in DIR/composition.yaml has no steps

    hint: List the functions to run under spec.pipeline.
    ");
}

#[test]
fn functions_are_annotated_by_the_command_line_and_observed_objects_need_no_name() {
    let fixture = Fixture::new();
    fixture.composition(&["main"], |_| {});
    // It has no place to run, and no valid package.
    fixture.write(
        "functions.yaml",
        "
apiVersion: pkg.crossplane.io/v1
kind: Function
metadata: {name: main}
spec: {package: main}
",
    );
    fixture.write(
        "observed.yaml",
        "
---
---
apiVersion: v1
kind: ConfigMap
metadata:
  annotations: {crossplane.io/composition-resource-name: map}
",
    );
    let target = format!("render.crossplane.io/runtime-development-target={}", fixture.endpoint(config_map));
    let shown = fixture.render(&[
        "-o",
        &fixture.path("observed.yaml"),
        "-a",
        "render.crossplane.io/runtime=Development",
        "--function-annotations",
        &target,
    ]);
    assert!(shown.starts_with("exit 0"), "{shown}");
    assert!(shown.contains("name: shop-9c1a21435007") && !shown.contains("would be deleted"), "{shown}");
}
