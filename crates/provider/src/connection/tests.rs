use super::*;
use crate::testing::assert_diagnostics;

fn cluster(entries: &[(&str, Value)]) -> Value {
    Value::Object(entries.iter().map(|(name, value)| (*name, value.clone())).collect())
}

#[test]
fn a_connection_is_known_only_when_all_of_it_is() {
    let check = |value: Value, expected: &str| {
        let found = match read(&value) {
            Configured::Absent => "absent",
            Configured::Unknown => "unknown",
            Configured::Known(_) => "known",
        };
        assert_eq!(found, expected, "{value:?}");
    };
    check(Value::Null, "absent");
    check(Value::unknown(), "unknown");
    check(cluster(&[("host", "https://h".into()), ("token", Value::unknown())]), "unknown");
    check(cluster(&[("host", "https://h".into()), ("token", Value::Null)]), "known");
}

#[test]
fn an_unknown_exec_or_argument_is_not_ready_and_does_not_panic() {
    let exec =
        |value: Value| cluster(&[("host", "https://h".into()), ("insecure", true.into()), ("exec", value)]);
    let with = |name: &str, value: Value| {
        exec(cluster(&[("api_version", "v1".into()), ("command", "aws".into()), (name, value)]))
    };
    for value in [
        exec(Value::unknown()),
        with("args", Value::unknown()),
        with("args", Value::List(vec!["a".into(), Value::unknown()])),
        with("env", cluster(&[("A", Value::unknown())])),
    ] {
        assert!(matches!(read(&value), Configured::Unknown), "{value:?}");
        assert!(validate(&value).is_empty(), "{value:?}");
    }
}

#[test]
fn connections_that_differ_anywhere_are_different_keys() {
    let known = |value: Value| match read(&value) {
        Configured::Known(connection) => connection,
        other => panic!("{other:?}"),
    };
    let token = known(cluster(&[("host", "https://h".into()), ("token", "x".into())]));
    let key = known(cluster(&[("host", "https://h".into()), ("client_key", "x".into())]));
    assert_ne!(token, key);
    let env = |pairs: &[(&str, &str)]| {
        let env = cluster(&pairs.iter().map(|(k, v)| (*k, Value::from(*v))).collect::<Vec<_>>());
        let exec = cluster(&[("api_version", "v1".into()), ("command", "c".into()), ("env", env)]);
        known(cluster(&[("host", "https://h".into()), ("exec", exec)]))
    };
    assert_eq!(env(&[("A", "1"), ("B", "2")]), env(&[("B", "2"), ("A", "1")]));
}

#[test]
fn contradictory_parts_are_rejected_at_their_path() {
    let check = |value: Value, expected: &[(&str, &str)]| assert_diagnostics(&validate(&value), expected);
    let invalid = "Invalid Cluster Connection Configuration";
    check(Value::Null, &[]);
    check(
        cluster(&[("host", Value::Null)]),
        &[
            ("cluster", "Missing Cluster Connection Configuration"),
            ("cluster", "Missing Required Configuration Block"),
        ],
    );
    check(cluster(&[("host", "https://h".into()), ("kubeconfig", "x".into())]), &[("cluster", invalid)]);
    check(cluster(&[("host", "https://h".into())]), &[("cluster", invalid)]);
    check(cluster(&[("host", Value::unknown())]), &[]);
    let inline = |exec: Value| {
        cluster(&[("host", "https://h".into()), ("cluster_ca_certificate", "x".into()), ("exec", exec)])
    };
    check(
        inline(cluster(&[("api_version", "v1".into()), ("command", "".into())])),
        &[("cluster.exec", "Invalid Exec Authentication Configuration")],
    );
    check(inline(cluster(&[("api_version", "v1".into()), ("command", Value::unknown())])), &[]);
}

#[test]
fn an_empty_cluster_of_the_provider_means_what_kubectl_uses() {
    let Configured::Known(connection) = read_provider(&cluster(&[("context", "prod".into())])) else {
        panic!("it is wholly known");
    };
    assert!(connection.from_environment);
    assert_eq!(connection.context.as_deref(), Some("prod"));
    assert!(validate_provider(&cluster(&[])).is_empty());
    assert!(validate_provider(&cluster(&[("host", "https://h".into())])).has_errors());
}
