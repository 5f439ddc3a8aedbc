use super::*;

fn inline() -> Connection {
    Connection {
        host: Some("https://example.com".to_owned()),
        cluster_ca_certificate: Some("ca".into()),
        token: Some("hunter2".into()),
        ..Connection::default()
    }
}

/// Checks how validation judges a valid inline connection after `change`: the title and the first words of the detail.
fn check(change: impl FnOnce(&mut Connection), expected: &str) {
    let mut connection = inline();
    change(&mut connection);
    let found = match connection.validate() {
        Ok(()) => "fine".to_owned(),
        Err(diagnostic) => {
            let words = diagnostic.detail.split(':').next().unwrap_or_default().to_owned();
            format!("{} [{}]: {words}", diagnostic.summary, diagnostic.field.as_deref().unwrap_or("-"))
        }
    };
    assert_eq!(found, expected);
}

#[test]
fn consistent_settings_are_accepted() {
    check(|_| {}, "fine");
    check(|c| *c = Connection::from_kubeconfig("clusters: []", None), "fine");
    check(|c| *c = Connection::from_environment(None), "fine");
    check(|c| *c = Connection { in_cluster: true, ..Connection::default() }, "fine");
    check(|c| *c = Connection { config_paths: vec!["a".into()], ..Connection::default() }, "fine");
    check(
        |c| {
            c.token = None;
            c.client_certificate = Some("c".into());
            c.client_key = Some("k".into());
        },
        "fine",
    );
    check(
        |c| {
            c.cluster_ca_certificate = None;
            c.insecure = true;
        },
        "fine",
    );
    // These override the kubeconfig, as kubectl's flags do.
    check(
        |c| {
            *c = Connection::from_kubeconfig("clusters: []", None);
            c.token = Some("t".into());
            c.insecure = true;
            c.proxy_url = Some("http://proxy".into());
        },
        "fine",
    );
}

#[test]
fn inconsistent_settings_are_rejected_in_the_go_provider_s_words() {
    let invalid = |words: &str| format!("Invalid Cluster Connection Configuration [cluster]: {words}");
    check(
        |c| *c = Connection::default(),
        "Missing Cluster Connection Configuration [cluster]: no connection mode specified",
    );
    check(|c| c.kubeconfig = Some("x".into()), &invalid("multiple connection modes specified"));
    check(|c| c.in_cluster = true, &invalid("multiple connection modes specified"));
    check(
        |c| c.client_certificate = Some("x".into()),
        &invalid("client certificate configuration incomplete"),
    );
    check(|c| c.client_key = Some("x".into()), &invalid("client certificate configuration incomplete"));
    check(|c| c.host = None, &invalid("inline connection incomplete"));
    check(|c| c.cluster_ca_certificate = None, &invalid("inline connection incomplete"));
    check(|c| c.token = None, &invalid("inline connection missing authentication"));
    check(|c| c.impersonate = Some(Impersonate::default()), &invalid("impersonate incomplete"));
    check(
        |c| {
            c.exec =
                Some(Exec { api_version: "client.authentication.k8s.io/v1".to_owned(), ..Exec::default() });
        },
        "Invalid Exec Authentication Configuration [cluster.exec]: exec authentication incomplete",
    );
}

#[test]
fn a_host_alone_yields_the_line_that_users_tests_match() {
    let connection = Connection { host: Some("https://127.0.0.1:1".to_owned()), ..Connection::default() };
    let detail = connection.validate().unwrap_err().detail;
    let matching = |line: &str| {
        let line = line.to_lowercase();
        line.find("connect").is_some_and(|at| line[at..].contains("cluster"))
    };
    assert!(detail.lines().any(|line| matching(line) && line.len() < 70), "{detail}");
}

#[test]
fn no_secret_appears_in_debug_output() {
    let connection = Connection {
        host: Some("https://example.com".to_owned()),
        cluster_ca_certificate: Some("hunter2".into()),
        kubeconfig: Some("hunter2".into()),
        token: Some("hunter2".into()),
        client_certificate: Some("hunter2".into()),
        client_key: Some("hunter2".into()),
        proxy_url: Some("http://user:hunter2@proxy".into()),
        exec: Some(Exec {
            args: vec!["hunter2".into()],
            env: BTreeMap::from([("PASSWORD".to_owned(), "hunter2".into())]),
            ..Exec::default()
        }),
        ..Connection::default()
    };
    let debug = format!("{connection:?} {connection:#?}");
    assert!(!debug.contains("hunter2"), "{debug}");
    assert!(debug.contains("https://example.com"));
}

#[test]
fn connections_are_equal_if_all_fields_are() {
    let with = |change: fn(&mut Connection)| {
        let mut connection = Connection::default();
        change(&mut connection);
        connection
    };
    // Pairs that a key of joined strings would confuse.
    let different = [
        (with(|c| c.token = Some("x".into())), with(|c| c.client_key = Some("x".into()))),
        (
            with(|c| {
                c.host = Some("ab".to_owned());
                c.context = Some("c".to_owned());
            }),
            with(|c| {
                c.host = Some("a".to_owned());
                c.context = Some("bc".to_owned());
            }),
        ),
        (with(|c| c.token = Some("".into())), with(|_| {})),
    ];
    for (a, b) in different {
        assert_ne!(a, b);
    }
    assert_eq!(inline(), inline());
}
