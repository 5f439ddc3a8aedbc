use serde_json::{Value, json};

use super::*;

fn subject(gvk: &str) -> Subject {
    Subject::Object(ObjectRef::new(gvk.parse().unwrap(), manifest::Namespace::new("shop"), "web"))
}

fn refused(gvk: &str, code: u16, reason: &str, message: &str, causes: &[(&str, &str, &str)]) -> Error {
    let causes: Vec<_> = causes
        .iter()
        .map(|(reason, message, field)| json!({ "reason": reason, "message": message, "field": field }))
        .collect();
    let body =
        json!({ "kind": "Status", "reason": reason, "message": message, "details": { "causes": causes } });
    let status = ApiStatus::parse(code, body.to_string().as_bytes()).unwrap();
    Error::new(Verb::Apply, subject(gvk), ErrorKind::Status(status), Vec::new())
}

const DEPLOYMENT: &str = "apps/v1/Deployment";
const WIDGET: &str = "example.com/v1/Widget";

#[test]
fn reasons_and_causes_classify_before_messages() {
    let check = |error: &Error, expected: &str| {
        assert_eq!(error.diagnostic("Create").summary, format!("Create: {expected}"), "{error:?}");
    };
    let plain = |code, reason, message| refused(DEPLOYMENT, code, reason, message, &[]);
    check(&plain(401, "Unauthorized", "Unauthorized"), "Authentication Failed");
    check(&plain(403, "Forbidden", "deployments.apps is forbidden"), "Insufficient Permissions");
    check(&plain(404, "NotFound", "deployments.apps \"web\" not found"), "Resource Not Found");
    check(&plain(409, "AlreadyExists", "deployments.apps \"web\" already exists"), "Resource Already Exists");
    check(&plain(504, "Timeout", "request did not complete"), "Kubernetes API Timeout");
    check(&plain(500, "InternalError", "oops"), "Kubernetes API Error");
    check(
        &plain(400, "BadRequest", "strict decoding error: unknown field \"spec.replicaz\""),
        "Field Validation Failed",
    );
    check(
        &plain(
            500,
            "",
            "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.replicaz: field not declared in schema",
        ),
        "Field Validation Failed",
    );
    check(
        &plain(400, "BadRequest", "quantities must match the regular expression"),
        "Field Validation Failed",
    );
    check(&plain(422, "Invalid", "Deployment.apps \"web\" is invalid"), "Invalid Resource");

    // The word "conflict" in a name or in a webhook's message does not make it a conflict.
    check(
        &plain(403, "Forbidden", "conflict-checker denied the request: conflict"),
        "Insufficient Permissions",
    );
    check(&plain(409, "Conflict", "the object has been modified"), "Kubernetes API Error");
    let conflict = [("FieldManagerConflict", "conflict with \"hpa\" using apps/v1", ".spec.replicas")];
    check(
        &refused(DEPLOYMENT, 409, "Conflict", "Apply failed with 1 conflict", &conflict),
        "Field Manager Conflict",
    );

    let cause =
        |gvk, reason, message| refused(gvk, 422, "Invalid", "is invalid", &[(reason, message, "spec.x")]);
    check(
        &cause(DEPLOYMENT, "FieldValueNotSupported", "Unsupported value: \"Sometimes\""),
        "Field Validation Failed",
    );
    check(&cause(DEPLOYMENT, "FieldValueRequired", "Required value"), "Field Validation Failed");
    check(
        &cause(DEPLOYMENT, "FieldValueInvalid", "Invalid value: 0: must be greater than 0"),
        "Field Validation Failed",
    );
    check(&cause(DEPLOYMENT, "FieldValueDuplicate", "Duplicate value: \"a\""), "Invalid Resource");
    check(
        &cause(WIDGET, "FieldValueInvalid", "Invalid value: \"object\": replicas must be even"),
        "CEL Validation Failed",
    );
    check(
        &cause(
            WIDGET,
            "FieldValueInvalid",
            "Invalid value: 9: spec.x in body should be less than or equal to 3",
        ),
        "Field Validation Failed",
    );
    check(
        &cause(WIDGET, "FieldValueInvalid", "Invalid value: \"object\": Value is immutable"),
        "Immutable Field Changed",
    );
}

#[test]
fn only_an_impossible_change_is_immutable() {
    let immutable = |reason: &str, message: &str| {
        refused(DEPLOYMENT, 422, "Invalid", "is invalid", &[(reason, message, "spec.selector")]).class()
            == Class::Immutable
    };
    for (reason, message) in [
        ("FieldValueInvalid", "Invalid value: {…}: field is immutable"),
        ("FieldValueInvalid", "Invalid value: [\"10.0.0.9\"]: may not change once set"),
        ("FieldValueInvalid", "Invalid value: {…}: cannot change roleRef"),
        (
            "FieldValueForbidden",
            "Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
        ),
        (
            "FieldValueForbidden",
            "Forbidden: pod updates may not change fields other than `spec.containers[*].image`",
        ),
        ("FieldValueForbidden", "Forbidden: field is immutable when `immutable` is set"),
        (
            "FieldValueForbidden",
            "Forbidden: spec is immutable after creation except resources.requests for bound claims",
        ),
    ] {
        assert!(immutable(reason, message), "{message}");
    }
    // Forbidden, but not because a field is immutable.
    for (reason, message) in [
        ("FieldValueForbidden", "Forbidden: may not be set when `type` is ExternalName"),
        ("FieldValueForbidden", "Forbidden: may not specify more than 1 handler type"),
        ("FieldValueForbidden", "Forbidden: not allowed when using host network"),
        ("FieldValueNotSupported", "Unsupported value: \"immutable\""),
    ] {
        assert!(!immutable(reason, message), "{message}");
    }
    // One finding is about something else, so a replacement would fail too.
    let mixed = refused(
        DEPLOYMENT,
        422,
        "Invalid",
        "is invalid",
        &[
            ("FieldValueInvalid", "Invalid value: {…}: field is immutable", "spec.selector"),
            ("FieldValueRequired", "Required value", "spec.template"),
        ],
    );
    assert_ne!(mixed.class(), Class::Immutable);
    // Without causes there is no evidence.
    assert_ne!(refused(DEPLOYMENT, 422, "Invalid", "field is immutable", &[]).class(), Class::Immutable);
}

#[test]
fn immutable_fields_are_those_that_differ() {
    let message = "Invalid value: field is immutable";
    let causes = [
        ("FieldValueInvalid", message, "spec.selector"),
        ("FieldValueInvalid", message, "spec.ports[0].port"),
    ];
    let error = refused(DEPLOYMENT, 422, "Invalid", "is invalid", &causes);
    let live = json!({ "spec": { "selector": { "a": "1", "defaulted": "x" }, "ports": [{ "port": 80 }] } });
    let check = |sent: Value, expected: Option<&[&str]>| {
        let found = error.immutable_fields(&sent, &live);
        assert_eq!(
            found.as_deref().map(|fields| fields.iter().map(String::as_str).collect::<Vec<_>>()).as_deref(),
            expected
        );
    };
    check(
        json!({ "spec": { "selector": { "a": "2" }, "ports": [{ "port": 80 }] } }),
        Some(&["spec.selector"]),
    );
    check(
        json!({ "spec": { "selector": { "a": "2" }, "ports": [{ "port": 81 }] } }),
        Some(&["spec.ports[0].port", "spec.selector"]),
    );
    // Nothing that was sent differs, so a new object would be rejected as well.
    check(json!({ "spec": { "selector": { "a": "1" }, "ports": [{ "port": 80 }] } }), None);
    let other = refused(
        DEPLOYMENT,
        422,
        "Invalid",
        "x",
        &[("FieldValueForbidden", "Forbidden: may not be set", "spec")],
    );
    assert_eq!(other.immutable_fields(&json!({ "spec": 1 }), &live), None);
}

fn rendered(error: &Error) -> String {
    let diagnostic = error.diagnostic("Create");
    format!(
        "{:?} {} [{}]\n{}\n-> {}",
        diagnostic.severity,
        diagnostic.summary,
        diagnostic.field.as_deref().unwrap_or("-"),
        diagnostic.detail,
        diagnostic.hint.unwrap_or_default()
    )
}

#[test]
fn a_diagnostic_says_what_where_why_and_what_to_do() {
    let conflict = refused(
        DEPLOYMENT,
        409,
        "Conflict",
        "Apply failed with 2 conflicts",
        &[
            ("FieldManagerConflict", "conflict with \"hpa\" using apps/v1", ".spec.replicas"),
            ("FieldManagerConflict", "conflict with \"kubectl-edit\"", ".metadata.labels.a"),
        ],
    );
    insta::assert_snapshot!(rendered(&conflict), @r#"
    Error Create: Field Manager Conflict [-]
    Other managers hold fields of Deployment shop/web that would be set:

      - spec.replicas (managed by hpa)
      - metadata.labels.a (managed by kubectl-edit)
    -> To leave them to their managers: ignore_fields = ["spec.replicas", "metadata.labels.a"]
    "#);
}

#[test]
fn every_finding_names_its_field() {
    let typo = refused(
        DEPLOYMENT,
        400,
        "BadRequest",
        "strict decoding error: unknown field \"spec.replicaz\", unknown field \"x\"",
        &[],
    );
    insta::assert_snapshot!(rendered(&typo), @r"
    Error Create: Field Validation Failed [-]
    The server rejected Deployment shop/web for 2 reasons:

      Field: spec.replicaz
      Error: unknown field

      Field: x
      Error: unknown field
    -> Check the spelling and position of the fields named above; `kubectl explain` lists the valid ones.
    ");
    let undeclared = refused(
        DEPLOYMENT,
        500,
        "",
        "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.replicaz: field not declared in schema",
        &[],
    );
    insta::assert_snapshot!(rendered(&undeclared), @r"
    Error Create: Field Validation Failed [spec.replicaz]
    The server rejected Deployment shop/web:

      Field: spec.replicaz
      Error: field not declared in schema
    -> Check the spelling and position of the fields named above; `kubectl explain` lists the valid ones.
    ");
    let several = refused(
        DEPLOYMENT,
        500,
        "",
        "failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): errors:\n  .spec.template.spec.containers[name=\"a\"].nope: field not declared in schema\n  .spec.replicas: expected numeric (int or float), got string",
        &[],
    );
    insta::assert_snapshot!(several.diagnostic("Plan").detail, @r#"
    The server rejected Deployment shop/web for 2 reasons:

      Field: spec.template.spec.containers[name="a"].nope
      Error: field not declared in schema

      Field: spec.replicas
      Error: expected numeric (int or float), got string
    "#);
    let rule = refused(
        WIDGET,
        422,
        "Invalid",
        "is invalid",
        &[("FieldValueInvalid", "Invalid value: \"object\": failed rule: self.a < self.b", "spec")],
    );
    insta::assert_snapshot!(rendered(&rule), @r#"
    Error Create: CEL Validation Failed [spec]
    The server rejected Widget shop/web:

      Field: spec
      Error: Invalid value: "object"
      Rule: self.a < self.b
    -> See the documentation of the CRD, which defines this rule.
    "#);
}

#[test]
fn a_finding_that_repeats_a_long_value_shows_its_ends() {
    let message = format!("Invalid value: {{{}}}: field is immutable", "x".repeat(3000));
    let detail = refused(
        DEPLOYMENT,
        422,
        "Invalid",
        "is invalid",
        &[("FieldValueInvalid", &message, "spec.template")],
    )
    .diagnostic("Apply")
    .detail;
    assert!(
        detail.contains("Error: Invalid value: {xxx") && detail.ends_with("xxx}: field is immutable"),
        "{detail}"
    );
    assert!(detail.len() < 500, "{detail}");
}

#[test]
fn admission_denials_differ_from_missing_permissions() {
    let hint = |code, reason, message| {
        refused(DEPLOYMENT, code, reason, message, &[]).diagnostic("Apply").hint.unwrap_or_default()
    };
    let webhook =
        refused(DEPLOYMENT, 403, "Forbidden", "admission webhook \"a\" denied the request: no", &[]);
    assert!(!webhook.is_unauthorized());
    let quota = hint(403, "Forbidden", "pods \"web\" is forbidden: exceeded quota: none");
    assert!(quota.starts_with("Follow the server's message"), "{quota}");
    let denied = hint(403, "Forbidden", "admission webhook \"a.example.org\" denied the request: no");
    assert!(denied.starts_with("Follow the server's message"), "{denied}");
    let user = hint(403, "Forbidden", "deployments.apps is forbidden: User \"jane\" cannot list resource");
    assert!(user.starts_with("Ask an administrator"), "{user}");
    let down =
        hint(500, "InternalError", "Internal error occurred: failed calling webhook \"a.example.org\"");
    assert!(down.starts_with("Check that the webhook's Service has ready Pods"), "{down}");
    let policy = refused(DEPLOYMENT, 422, "Invalid", "is invalid", &[("", "the policy says no", "")]);
    assert_eq!(
        policy.diagnostic("Apply").detail,
        "The server rejected Deployment shop/web:\n\n  Error: the policy says no"
    );
}

#[test]
fn the_server_s_message_and_the_retries_are_reported() {
    let denied = refused(
        DEPLOYMENT,
        403,
        "Forbidden",
        "deployments.apps \"web\" is forbidden: User \"jane\" cannot patch resource",
        &[],
    );
    insta::assert_snapshot!(rendered(&denied), @r#"
    Error Create: Insufficient Permissions [-]
    Could not apply Deployment shop/web. The server says: deployments.apps "web" is forbidden: User "jane" cannot patch resource
    -> Ask an administrator of the cluster for a Role or ClusterRole with the verb and resource named above; `kubectl auth can-i` shows what is granted.
    "#);
    let retried = Error::new(
        Verb::Read,
        subject(DEPLOYMENT),
        ErrorKind::UnexpectedResponse { code: 502, excerpt: "bad gateway".to_owned() },
        vec![Retry {
            why: "unexpected response (HTTP 502): bad gateway".to_owned(),
            waited: Duration::from_secs(1),
        }],
    );
    insta::assert_snapshot!(rendered(&retried), @r"
    Error Create: Kubernetes API Error [-]
    Could not read Deployment shop/web: unexpected response (HTTP 502): bad gateway

    Tried 2 times; the previous attempt failed with: unexpected response (HTTP 502): bad gateway.
    -> 
    ");
}

#[test]
fn what_is_not_served_for_a_kind_is_told_from_a_missing_object() {
    let hint =
        |message: &str| refused(DEPLOYMENT, 404, "NotFound", message, &[]).diagnostic("Scale").hint.unwrap();
    assert!(hint("the server could not find the requested resource").contains("Use another kind"));
    assert!(hint("deployments.apps \"web\" not found").contains("Check its name"));
}

#[test]
fn a_vanished_object_is_a_warning_on_refresh_and_an_error_otherwise() {
    let gone = refused(DEPLOYMENT, 404, "NotFound", "deployments.apps \"web\" not found", &[]);
    assert!(!gone.diagnostic("Read").is_error());
    assert!(!gone.diagnostic("Read Target Resource").is_error());
    for operation in ["Create", "Update", "Plan", "Read Resource", "Get Target Resource", "Reading"] {
        assert!(gone.diagnostic(operation).is_error(), "{operation}");
    }
}

#[test]
fn server_faults_differ_from_request_faults() {
    let check = |code, message, expected| {
        assert_eq!(
            refused(DEPLOYMENT, code, "", message, &[]).is_server_fault(),
            expected,
            "{code} {message}"
        );
    };
    check(429, "", true);
    check(500, "oops", true);
    check(503, "", true);
    check(504, "", true);
    check(
        500,
        "failed to create typed patch object (a; v1, Kind=X): .spec.x: field not declared in schema",
        false,
    );
    check(401, "", false);
    check(403, "", false);
    check(422, "", false);
}

#[test]
fn a_webhook_that_could_not_be_called_is_recognized() {
    let check = |code: u16, message: &str, expected: Option<&str>| {
        let found = refused(DEPLOYMENT, code, "InternalError", message, &[]).unavailable_webhook();
        assert_eq!(found.as_deref(), expected, "{message}");
    };
    let post = "Post \"https://a.shop.svc:443/?timeout=10s\"";
    let called = |cause: &str| {
        format!(
            "Internal error occurred: failed calling webhook \"a.example.org\": failed to call webhook: {post}: {cause}"
        )
    };
    for cause in [
        "dial tcp 10.0.0.1:443: connect: connection refused",
        "no endpoints available for service \"a\"",
        "service \"a\" not found",
        "tls: failed to verify certificate: x509: certificate signed by unknown authority",
        "context deadline exceeded",
    ] {
        check(500, &called(cause), Some("webhook a.example.org"));
    }
    let converted = format!("conversion webhook for shop.example.org/v1, Kind=Order failed: {post}: EOF");
    check(500, &converted, Some("conversion webhook for shop.example.org/v1, Kind=Order"));
    check(500, "conversion webhook for shop.example.org/v1, Kind=Order failed: no such size", None);
    check(403, "admission webhook \"a.example.org\" denied the request: failed calling webhook \"b\"", None);
    check(500, "failed calling webhook \"a\": received invalid webhook response: no", None);
    check(500, "etcdserver: leader changed", None);
}
