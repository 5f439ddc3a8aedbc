use super::*;

const V1: &str = "client.authentication.k8s.io/v1";

fn shell(script: &str) -> Plugin {
    let exec = Exec {
        api_version: V1.to_owned(),
        command: "sh".to_owned(),
        args: vec!["-c".into(), script.into()],
        env: BTreeMap::from([("GREETING".to_owned(), Secret::from("hunter2"))]),
    };
    Plugin::inline(&exec).unwrap()
}

async fn check(script: &str, expected: &str) {
    let mut plugin = shell(script);
    plugin.timeout =
        if script.contains("sleep") { Duration::from_millis(20) } else { Duration::from_secs(60) };
    let found = match plugin.run().await {
        Ok(printed) => format!(
            "token {:?}, identity {}, expires {:?}",
            printed.token.as_ref().map(Secret::expose),
            printed.identity.is_some(),
            printed.expires.map(|time| time.to_string())
        ),
        Err(error) => {
            assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
            error.to_string()
        }
    };
    assert_eq!(found, expected, "{script}");
}

fn printing(status: &str) -> String {
    format!(r#"echo '{{"apiVersion":"{V1}","kind":"ExecCredential","status":{status}}}'"#)
}

#[tokio::test]
async fn a_plugin_s_credentials_are_used() {
    check(&printing(r#"{"token":"abc"}"#), "token Some(\"abc\"), identity false, expires None").await;
    check(
        &printing(r#"{"token":"abc","expirationTimestamp":"2026-11-15T18:00:00Z"}"#),
        "token Some(\"abc\"), identity false, expires Some(\"2026-11-15T18:00:00Z\")",
    )
    .await;
    let pem = |what: &str| format!(r"-----BEGIN {what}-----\\nAAECAw==\\n-----END {what}-----\\n");
    let both = format!(
        r#"{{"clientCertificateData":"{}","clientKeyData":"{}"}}"#,
        pem("CERTIFICATE").replace(r"\\n", r"\n"),
        pem("PRIVATE KEY").replace(r"\\n", r"\n")
    );
    // printf would turn the escapes into line breaks, which JSON strings must not hold.
    check(&format!("cat <<'END'\n{}\nEND", printing_json(&both)), "token None, identity true, expires None")
        .await;
}

fn printing_json(status: &str) -> String {
    format!(r#"{{"apiVersion":"{V1}","kind":"ExecCredential","status":{status}}}"#)
}

#[tokio::test]
async fn a_misbehaving_plugin_is_described_and_never_quoted() {
    check("exec sleep 1000", "exec plugin \"sh\" printed no credentials within 0.02 s and was stopped").await;
    check("exit 0", "exec plugin \"sh\" printed nothing").await;
    check("echo 'log in first' >&2", "exec plugin \"sh\" printed nothing: log in first").await;
    check("exit 1", "exec plugin \"sh\" failed (exit status: 1)").await;
    check(
        "echo 'token expired' >&2; echo hunter2; exit 1",
        "exec plugin \"sh\" failed (exit status: 1): token expired",
    )
    .await;
    let answer = |problem: &str| format!("exec plugin \"sh\" printed an invalid ExecCredential: {problem}");
    check("echo hunter2", &answer("not the JSON expected (line 1, column 1)")).await;
    check("echo '{}'", &answer("its kind is not ExecCredential")).await;
    check(&printing("null"), &answer("it has no status")).await;
    check(&printing("{}"), &answer("it has neither a token nor a certificate with its key")).await;
    check(
        &printing(r#"{"clientKeyData":"hunter2"}"#),
        &answer("it has only one of clientCertificateData and clientKeyData"),
    )
    .await;
    check(
        &printing(r#"{"token":"hunter2","expirationTimestamp":"soon"}"#),
        &answer("its expirationTimestamp is not an RFC 3339 time"),
    )
    .await;
    check(
        r#"echo '{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","status":{"token":"hunter2"}}'"#,
        &answer("its apiVersion is not client.authentication.k8s.io/v1"),
    )
    .await;
}

#[tokio::test]
async fn a_plugin_that_prints_endlessly_is_stopped() {
    check("yes hunter2", "exec plugin \"sh\" printed more than 1024 KiB and was stopped").await;
    // Only the end of standard error is kept.
    let complaints = "yes | head -c 1000000 >&2; echo done >&2; exit 1";
    let output = format!("{}done", "y\n".repeat(7));
    check(complaints, &format!("exec plugin \"sh\" failed (exit status: 1): {output}")).await;
}

/// A plugin is often a script, and what hangs is a program the script has started.
#[cfg(unix)]
#[tokio::test]
async fn a_stopped_plugin_s_children_are_killed() {
    use std::io::Read as _;

    // A process with the pipe open for writing keeps its reader waiting, so end of file means that no process is left.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let plugin = shell(&format!("exec 3>'{}'; sleep 100 & echo started >&3; sleep 100", path.display()));
    let begin = tokio::task::spawn_blocking(move || {
        let mut pipe = std::fs::File::open(path).unwrap();
        pipe.read_exact(&mut [0; 8]).unwrap();
        pipe
    });
    let mut pipe = tokio::select! {
        pipe = begin => pipe.unwrap(),
        outcome = plugin.run() => panic!("it ended: {outcome:?}"),
    };
    let end = tokio::task::spawn_blocking(move || pipe.read_to_end(&mut Vec::new()).unwrap());
    tokio::time::timeout(Duration::from_secs(60), end).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_missing_plugin_is_reported_with_the_install_hint() {
    let exec = ExecConfig {
        api_version: Some(V1.to_owned()),
        command: Some("/nowhere/plugin".to_owned()),
        install_hint: Some("brew install plugin".to_owned()),
        ..ExecConfig::default()
    };
    let error = Plugin::of_kubeconfig(&exec, None).unwrap().run().await.unwrap_err();
    assert_eq!(error.to_string(), "exec plugin \"/nowhere/plugin\" was not found: brew install plugin");
}

#[tokio::test]
async fn a_plugin_gets_its_variables_and_the_cluster_info_it_requests() {
    // The script prints its environment as the token.
    let script = r#"printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$GREETING $(echo "$KUBERNETES_EXEC_INFO" | tr -d '"')""#;
    let printed = shell(script).run().await.unwrap();
    assert_eq!(
        printed.token.unwrap().expose(),
        "hunter2 {apiVersion:client.authentication.k8s.io/v1,kind:ExecCredential,spec:{interactive:false}}"
    );
    let cluster = Cluster {
        server: Some("https://k8s".to_owned()),
        insecure_skip_tls_verify: Some(false),
        extensions: Some(vec![kube::config::NamedExtension {
            name: "client.authentication.k8s.io/exec".to_owned(),
            extension: serde_json::json!({ "audience": "x" }),
        }]),
        ..Cluster::default()
    };
    let plugin = Plugin { cluster: Some(cluster_info(&cluster, Some("pem"))), ..shell("") };
    insta::assert_snapshot!(plugin.request(), @r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"cluster":{"certificate-authority-data":"cGVt","config":{"audience":"x"},"insecure-skip-tls-verify":false,"server":"https://k8s"},"interactive":false}}"#);
}
