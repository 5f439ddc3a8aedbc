use super::*;

fn revision(spec: Value) -> Object {
    let mut revision = object::object(json!({
        "apiVersion": "pkg.crossplane.io/v1", "kind": "FunctionRevision",
        "metadata": {"name": "fn-abc", "uid": "u", "labels": {LABEL_PACKAGE: "fn"}},
        "spec": {"image": "xpkg.example.org/fn:v1", "tlsServerSecretName": "fn-tls-server"},
    }));
    object::nested_mut(&mut revision, &["spec"]).extend(object::from_value(spec));
    revision
}

fn runtime(config: Option<Value>, spec: Value) -> Runtime {
    let config = config.map(|spec| object::object(json!({"spec": spec})));
    Runtime::new(&revision(spec), config.as_ref(), "system")
}

#[test]
fn a_function_without_a_config_runs_as_in_crossplane() {
    let runtime = runtime(None, json!({}));
    assert_eq!(
        (runtime.endpoint().as_str(), runtime.secret.as_str()),
        ("dns:///fn.system:9443", "fn-tls-server")
    );
    insta::assert_snapshot!(manifest::to_yaml(&Value::Object(runtime.service)), @r#"
    apiVersion: v1
    kind: Service
    metadata:
      labels:
        pkg.crossplane.io/function: fn
        pkg.crossplane.io/revision: fn-abc
      name: fn
      namespace: system
      ownerReferences:
      - apiVersion: pkg.crossplane.io/v1
        blockOwnerDeletion: true
        controller: true
        kind: FunctionRevision
        name: fn-abc
        uid: u
    spec:
      clusterIP: None
      ports:
      - name: grpc
        port: 9443
        protocol: TCP
        targetPort: grpc
      selector:
        pkg.crossplane.io/function: fn
        pkg.crossplane.io/revision: fn-abc
    "#);
    insta::assert_snapshot!(manifest::to_yaml(&Value::Object(runtime.service_account.unwrap())), @r#"
    apiVersion: v1
    kind: ServiceAccount
    metadata:
      labels:
        pkg.crossplane.io/function: fn
        pkg.crossplane.io/revision: fn-abc
      name: fn-abc
      namespace: system
      ownerReferences:
      - apiVersion: pkg.crossplane.io/v1
        blockOwnerDeletion: true
        controller: true
        kind: FunctionRevision
        name: fn-abc
        uid: u
    "#);
}

#[test]
fn a_deployment_without_a_config_is_that_of_crossplane() {
    let runtime = runtime(None, json!({}));
    insta::assert_snapshot!(manifest::to_yaml(&Value::Object(runtime.deployment)), @r#"
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      labels:
        pkg.crossplane.io/function: fn
        pkg.crossplane.io/revision: fn-abc
      name: fn-abc
      namespace: system
      ownerReferences:
      - apiVersion: pkg.crossplane.io/v1
        blockOwnerDeletion: true
        controller: true
        kind: FunctionRevision
        name: fn-abc
        uid: u
    spec:
      selector:
        matchLabels:
          pkg.crossplane.io/function: fn
          pkg.crossplane.io/revision: fn-abc
      template:
        metadata:
          labels:
            pkg.crossplane.io/function: fn
            pkg.crossplane.io/revision: fn-abc
        spec:
          containers:
          - env:
            - name: TLS_SERVER_CERTS_DIR
              value: /tls/server
            - name: FUNCTION_NAME
              valueFrom:
                fieldRef:
                  fieldPath: metadata.labels['pkg.crossplane.io/function']
            - name: REVISION_NAME
              valueFrom:
                fieldRef:
                  fieldPath: metadata.labels['pkg.crossplane.io/revision']
            - name: REVISION_UID
              value: u
            image: xpkg.example.org/fn:v1
            imagePullPolicy: IfNotPresent
            name: package-runtime
            ports:
            - containerPort: 8080
              name: metrics
              protocol: TCP
            - containerPort: 9443
              name: grpc
              protocol: TCP
            securityContext:
              allowPrivilegeEscalation: false
              capabilities:
                drop:
                - ALL
              privileged: false
              runAsGroup: 2000
              runAsNonRoot: true
              runAsUser: 2000
            volumeMounts:
            - mountPath: /tls/server
              name: tls-server-certs
              readOnly: true
          securityContext:
            runAsGroup: 2000
            runAsNonRoot: true
            runAsUser: 2000
            seccompProfile:
              type: RuntimeDefault
          serviceAccountName: fn-abc
          volumes:
          - name: tls-server-certs
            secret:
              items:
              - key: tls.crt
                path: tls.crt
              - key: tls.key
                path: tls.key
              - key: ca.crt
                path: ca.crt
              secretName: fn-tls-server
    "#);
}

#[test]
fn a_config_decides_what_crossplane_lets_it_decide() {
    let config = json!({
        "deploymentTemplate": {
            "metadata": {"name": "mine", "labels": {"team": "a"}},
            "spec": {
                "replicas": 3, "selector": {},
                "template": {
                    "metadata": {"annotations": {"scrape": "true"}},
                    "spec": {
                        "nodeSelector": {"disk": "ssd"},
                        "imagePullSecrets": [{"name": "theirs"}],
                        "containers": [
                            {"name": "sidecar", "image": "proxy"},
                            {"name": "package-runtime", "args": ["--debug"], "resources": {"limits": {"cpu": "1"}},
                             "env": [{"name": "HTTP_PROXY", "value": "p"}, {"name": "FUNCTION_NAME", "value": "no"}],
                             "ports": [{"name": "metrics", "containerPort": 9090}]},
                        ],
                    },
                },
            },
        },
        "serviceTemplate": {"metadata": {"name": "service", "annotations": {"mesh": "off"}}},
        "serviceAccountTemplate": {"metadata": {"name": "account"}},
    });
    let spec = json!({"packagePullSecrets": [{"name": "pull"}], "packagePullPolicy": "Always", "commonLabels": {"all": "yes"}});
    let runtime = runtime(Some(config), spec);
    assert_eq!(
        (runtime.endpoint().as_str(), runtime.host.as_str()),
        ("dns:///service.system:9443", "service.system")
    );
    assert_eq!(runtime.service["metadata"]["annotations"], json!({"mesh": "off"}));
    let account = runtime.service_account.unwrap();
    assert_eq!(
        (&account["metadata"]["name"], &account["imagePullSecrets"]),
        (&json!("account"), &json!([{"name": "pull"}]))
    );
    let deployment = Value::Object(runtime.deployment);
    let at = |pointer: &str| deployment.pointer(pointer).cloned().unwrap_or_default();
    assert_eq!(at("/metadata/name"), "mine");
    assert_eq!((at("/metadata/labels/team"), at("/metadata/labels/all")), (json!("a"), json!("yes")));
    assert_eq!(at("/spec/replicas"), 3);
    assert_eq!(at("/spec/template/metadata/annotations/scrape"), "true");
    let pod = |pointer: &str| at(&format!("/spec/template/spec/{pointer}"));
    assert_eq!(pod("nodeSelector"), json!({"disk": "ssd"}));
    assert_eq!(pod("serviceAccountName"), "account");
    assert_eq!(pod("imagePullSecrets"), json!([{"name": "theirs"}, {"name": "pull"}]));
    assert_eq!((pod("containers/0/name"), pod("containers/1/name")), (json!(CONTAINER), json!("sidecar")));
    assert_eq!(
        (pod("containers/0/args"), pod("containers/0/imagePullPolicy")),
        (json!(["--debug"]), json!("Always"))
    );
    assert_eq!(pod("containers/0/resources/limits/cpu"), "1");
    let names = |list: &str, key: &str| -> Vec<String> {
        let list = pod(&format!("containers/0/{list}"));
        list.as_array().unwrap().iter().map(|item| item[key].to_string()).collect()
    };
    assert_eq!(
        names("env", "name").join(" "),
        r#""HTTP_PROXY" "TLS_SERVER_CERTS_DIR" "FUNCTION_NAME" "REVISION_NAME" "REVISION_UID""#
    );
    assert_eq!(names("ports", "containerPort"), ["9090", "9443"]);
}

#[test]
fn an_account_of_the_user_is_not_made() {
    let template =
        json!({"deploymentTemplate": {"spec": {"template": {"spec": {"serviceAccountName": "theirs"}}}}});
    assert_eq!(runtime(Some(template), json!({})).service_account, None);
}
