//! The messages of every command that cannot begin.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use serde_json::json;
use testkit::{Namespace, Sandbox};

use crate::program::{in_terminal, plimsoll, run, transcript};

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-errors").await
}

#[tokio::test]
async fn an_unreachable_cluster_is_named() {
    let ns = namespace().await;
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("config");
    std::fs::write(
        &kubeconfig,
        "apiVersion: v1\nkind: Config\ncurrent-context: gone\ncontexts: [{name: gone, context: {cluster: gone, user: me}}]\n\
         clusters: [{name: gone, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: me, user: {token: t}}]\n",
    )
    .unwrap();
    let output = plimsoll(&ns, &["owners", "cm/x"]).env("KUBECONFIG", &kubeconfig).output().unwrap();
    insta::assert_snapshot!(transcript(&output, &ns), @"
    exit 1
    --- stderr
    error[connection-failed]: Connect: Cluster Connection Failed

      Could not discover the kinds of the cluster at http://127.0.0.1:PORT: cannot connect to the server:
      client error (Connect): tcp connect error: Connection refused (os error 111)

      Tried 6 times; the previous attempt failed with: cannot connect to the server: client error
      (Connect): tcp connect error: Connection refused (os error 111).

    hint: Check the host and port, that the cluster is running, and that no firewall or proxy blocks the
          connection.
    ");
}

#[tokio::test]
async fn without_a_kubeconfig_the_hint_is_how_to_get_a_cluster() {
    let ns = namespace().await;
    let folder = tempfile::tempdir().unwrap();
    let output = plimsoll(&ns, &["owners", "cm/x"])
        .env_remove("KUBECONFIG")
        .env("HOME", folder.path())
        .output()
        .unwrap();
    let transcript = transcript(&output, &ns).replace(&folder.path().display().to_string(), "HOME");
    insta::assert_snapshot!(transcript, @"
    exit 1
    --- stderr
    error[connection-invalid]: Invalid Connection Configuration

      no cluster is configured: HOME/.kube/config does not exist, and this process does not
      run in a pod

    hint: Choose a kubeconfig with --kubeconfig or KUBECONFIG, and a context with --context; `plimsoll
          sandbox up` starts a cluster on this machine.
    ");
}

#[tokio::test]
async fn an_unknown_context_is_reported_with_the_known_ones() {
    let ns = namespace().await;
    let transcript = run(&ns, &["owners", "cm/x", "--context", "production"]);
    // The contexts are named after the sandbox, which is named after the checkout.
    let sandbox = Sandbox::shared().status().name.to_string();
    insta::assert_snapshot!(transcript.replace(&sandbox, "SANDBOX"), @r#"
    exit 1
    --- stderr
    error[connection-invalid]: Invalid Connection Configuration

      context "production" not found in kubeconfig; it has plimsoll-SANDBOX,
      plimsoll-SANDBOX-token

    hint: Choose a kubeconfig with --kubeconfig or KUBECONFIG, and a context with --context; `plimsoll
          sandbox up` starts a cluster on this machine.
    "#);
}

#[tokio::test]
async fn missing_rights_are_named() {
    let ns = namespace().await;
    insta::assert_snapshot!(run(&ns, &["owners", "cm/x", "--as", "guest"]), @r#"
    exit 1
    --- stderr
    error[permission-denied]: Owners: Insufficient Permissions
      object: ConfigMap NS/x

      Could not read ConfigMap NS/x. The server says: configmaps "x" is forbidden: User
      "guest" cannot get resource "configmaps" in API group "" in the namespace "NS"

    hint: Ask an administrator of the cluster for a Role or ClusterRole with the verb and resource named
          above; `kubectl auth can-i` shows what is granted.
    "#);
}

#[tokio::test]
async fn a_typo_in_a_kind_gets_a_suggestion() {
    let ns = namespace().await;
    insta::assert_snapshot!(run(&ns, &["owners", "deploymnet/web"]), @"
    exit 1
    --- stderr
    error[kind-unknown]: the cluster has no kind deploymnet

    hint: Did you mean Deployment (apps/v1)?
    ");
    insta::assert_snapshot!(run(&ns, &["owners", "deploy/none"]), @"
    exit 1
    --- stderr
    error[object-missing]: Deployment NS/none does not exist

      Only namespace NS was searched.

    hint: Choose another namespace with --namespace, or search all of them with --all-namespaces.
    ");
}

#[tokio::test]
async fn a_name_is_found_in_all_namespaces_unless_it_is_in_several() {
    let (one, two) = (namespace().await, namespace().await);
    let name = format!("only-{}", one.name());
    let object =
        |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    one.apply_as("another-manager", &object(&name)).await;
    let everywhere = |object: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command
            .args(["owners", object, "-A", "-o", "name"])
            .env("KUBECONFIG", Sandbox::shared().kubeconfig());
        command.output().unwrap()
    };
    assert!(everywhere(&format!("cm/{name}")).status.success());
    two.apply_as("another-manager", &object(&name)).await;
    let several = everywhere(&format!("cm/{name}"));
    let transcript = String::from_utf8_lossy(&several.stderr);
    assert!(transcript.contains("2 namespaces have a ConfigMap named"), "{transcript}");
}

#[tokio::test]
async fn short_names_are_those_of_the_api_server() {
    let ns = namespace().await;
    let listed = ns.kubectl(&["api-resources", "--no-headers", "--verbs", "get,list"]).unwrap();
    let shorts = listed.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // NAME SHORTNAMES APIVERSION NAMESPACED KIND; the second is omitted if there is none.
        (words.len() == 5).then(|| words[1].to_owned())
    });
    let shorts: Vec<String> =
        shorts.flat_map(|list| list.split(',').map(str::to_owned).collect::<Vec<_>>()).collect();
    assert!(shorts.len() > 20, "{listed}");
    for short in shorts {
        let transcript = run(&ns, &["owners", &format!("{short}/none-such")]);
        assert!(
            transcript.contains(" does not exist") && !transcript.contains("has no kind"),
            "{short}: {transcript}"
        );
    }
}

#[tokio::test]
async fn a_closed_pipe_is_not_reported() {
    let ns = namespace().await;
    let mut child = plimsoll(&ns, &["owners", "ns/kube-system", "-q"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    child.wait().unwrap();
    assert_eq!(stderr, "");
}

#[tokio::test]
async fn an_interrupt_ends_a_wait_at_once() {
    let ns = namespace().await;
    let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "later" } });
    ns.apply_as("another-manager", &object).await;
    let commands: [&[&str]; 3] = [
        &["wait", "cm/later", "--for", "field=data.x"],
        &["tree", "cm/later", "--watch"],
        &["operations", "--watch"],
    ];
    for arguments in commands {
        let mut child = plimsoll(&ns, arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Before it waits, Ctrl-C would end it as well, by the signal's default action.
        interrupt_until_gone(&mut child);
        let code = child.wait().unwrap().code();
        assert!(matches!(code, Some(130) | None), "{arguments:?}: {code:?}");
    }
}

#[tokio::test]
async fn an_interrupt_leaves_no_progress_line_behind() {
    let ns = namespace().await;
    let held = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "held", "finalizers": ["example.org/x"] } });
    ns.apply_as("another-manager", &held).await;
    let commands: [(&[&str], &str, &str); 2] = [
        (&["wait", "cm/none", "--for", "create"], "waiting for ConfigMap", ""),
        (&["delete", "cm/held"], "deleting 0 of 1", "? ConfigMap "),
    ];
    for (arguments, shown, report) in commands {
        let mut command = in_terminal(&plimsoll(&ns, arguments));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (mut seen, mut some) = (String::new(), [0; 512]);
        while !seen.contains(shown) {
            let count = screen.read(&mut some).unwrap();
            assert_ne!(count, 0, "{seen}");
            seen.push_str(&String::from_utf8_lossy(&some[..count]));
        }
        keys.write_all(b"\x03").unwrap();
        let mut rest = String::new();
        screen.read_to_string(&mut rest).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
        // What is left on the screen after the last line was cleared.
        let left = rest.rsplit("\x1b[2K").next().unwrap_or_default().trim();
        assert!(rest.contains("\x1b[2K") && left.starts_with(report), "{rest:?}");
        assert_eq!(left.is_empty(), report.is_empty(), "{rest:?}");
    }
    ns.merge_as("another-manager", &held, &json!({ "metadata": { "finalizers": null } })).await;
}

#[tokio::test]
async fn kubectl_runs_it_as_a_plugin() {
    let ns = namespace().await;
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_plimsoll"), folder.path().join("kubectl-plimsoll"))
        .unwrap();
    let kubectl = Sandbox::shared().layout().bin().join("kubectl");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&kubectl);
        command.arg("plimsoll").args(arguments).env("PATH", folder.path());
        command.env("KUBECONFIG", Sandbox::shared().kubeconfig()).env("NO_COLOR", "1").output().unwrap()
    };
    let who = run(&["owners", "ns/default", "-o", "name"]);
    assert!(who.status.success(), "{}", transcript(&who, &ns));
    let help = run(&["wait", "--help"]);
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("Usage: kubectl plimsoll wait "), "{help}");
}

fn interrupt_until_gone(child: &mut std::process::Child) {
    while child.try_wait().expect("a child can be asked").is_none() {
        let pid = child.id().to_string();
        Command::new("kill").args(["-INT", &pid]).stderr(Stdio::null()).status().expect("kill starts");
    }
}
