use super::*;

const TWO: &str = r"
apiVersion: v1
kind: Config
current-context: one
contexts:
- {name: one, context: {cluster: a, user: u, namespace: shop}}
- {name: two, context: {cluster: b}}
- {name: dangling, context: {cluster: none}}
- {name: userless, context: {cluster: a, user: none}}
clusters:
- {name: a, cluster: {server: 'https://a'}}
- {name: b, cluster: {server: 'https://b'}}
users:
- {name: u, user: {token: hunter2}}
";

/// Checks which server is selected, or why none is.
fn check(content: &str, wanted: Option<&str>, expected: &str) {
    let found = parse(content)
        .and_then(|config| select_context(config, wanted))
        .map_or_else(|error| error.to_string(), |selected| selected.cluster.server.unwrap_or_default());
    assert_eq!(found, expected);
    assert!(!found.contains("hunter2"));
}

#[test]
fn the_context_is_the_requested_the_only_or_the_current_one() {
    check(TWO, Some("one"), "https://a");
    check(TWO, Some("two"), "https://b");
    check(TWO, None, "https://a");
    check(
        &TWO.replace("current-context: one", ""),
        None,
        "kubeconfig has several contexts and context is not set; choose one of one, two, dangling, userless",
    );
    check(TWO, Some("x"), "context \"x\" not found in kubeconfig; it has one, two, dangling, userless");
    check(TWO, Some("dangling"), "cluster \"none\" was not found for context \"dangling\"");
    check(TWO, Some("userless"), "user \"none\" was not found for context \"userless\"");
    // The only one is used, whatever current-context says.
    let only = TWO.replace("current-context: one", "current-context: gone");
    let only = only.replace("- {name: two, context: {cluster: b}}\n", "");
    let only = only.replace("- {name: dangling, context: {cluster: none}}\n", "");
    let only = only.replace("- {name: userless, context: {cluster: a, user: none}}\n", "");
    check(&only, None, "https://a");
    check(&only, Some("gone"), "context \"gone\" not found in kubeconfig; it has one");
}

#[test]
fn an_invalid_kubeconfig_is_rejected_without_being_quoted() {
    check("", None, "kubeconfig is empty");
    check(" \n", None, "kubeconfig is empty");
    for path in ["/home/me/.kube/config", "~/.kube/config", "./config", r"C:\Users\me\config"] {
        check(
            path,
            None,
            "kubeconfig must be the content of a kubeconfig, but this looks like a path: read the file with file(\"…\")",
        );
    }
    check("a: [hunter2", None, "kubeconfig is not valid YAML (line 1, column 4)");
    check("token: hunter2", None, "kubeconfig is not a kubeconfig: it has neither apiVersion nor clusters");
    check("apiVersion: v1\ncontexts: []", None, "no contexts found in kubeconfig");
    check("\u{feff}apiVersion: v1", None, "no contexts found in kubeconfig");
    check(
        "contexts: [{name: a, context: {cluster: c}}]\nclusters: [{name: c, cluster: {}}]",
        None,
        "cluster \"c\" of the kubeconfig has no server",
    );
}

#[test]
fn files_are_merged_and_the_first_value_wins() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let first =
        write("first", "current-context: a\nclusters: [{name: c, cluster: {server: 'https://first'}}]");
    let second = write(
        "second",
        "current-context: b\nclusters: [{name: c, cluster: {server: 'https://second'}}]\ncontexts: [{name: a, context: {cluster: c}}]",
    );
    let missing = folder.path().join("missing");
    let paths = [missing.clone(), first, second];
    let merged = read(&paths, true).unwrap().unwrap();
    assert_eq!(select_context(merged, None).unwrap().cluster.server.as_deref(), Some("https://first"));

    assert!(read(std::slice::from_ref(&missing), true).unwrap().is_none());
    let error = read(&paths, false).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot read the kubeconfig {}", missing.display()));
    let broken = write("broken", "users: [{name: u, user: {token: hunter2");
    let error = read(std::slice::from_ref(&broken), true).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{} is not valid YAML", broken.display())), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
}
