//! Completion, by the script that a shell reads, in a real bash.

use std::process::Command;

use serde_json::json;
use testkit::{Namespace, Sandbox};

async fn namespace() -> Namespace {
    Sandbox::shared().namespace("cli-completion").await
}

/// What bash offers for a line; its last word is the one that is typed.
fn offered(ns: &Namespace, line: &str) -> Vec<String> {
    // As readline does it: the words, which of them is typed, and the function that `complete` has registered.
    let script = r#"
source <(plimsoll completions bash)
read -r -a COMP_WORDS <<< "$LINE"
[[ "$LINE" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
COMP_TYPE=9
function=$(complete -p plimsoll | sed -E 's/.*-F ([^ ]+).*/\1/')
"$function" plimsoll "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_plimsoll")).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .args(["--norc", "-c", script])
        .env("LINE", line.replace("NS", ns.name()))
        .env("PATH", format!("{}:{path}", program.display()))
        .env("KUBECONFIG", Sandbox::shared().kubeconfig())
        .output()
        .expect("bash starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let offered = String::from_utf8(output.stdout).expect("text");
    offered.lines().filter(|line| !line.is_empty()).map(|line| line.replace(ns.name(), "NS")).collect()
}

#[tokio::test]
async fn commands_options_and_their_values_are_offered() {
    let ns = namespace().await;
    let check = |line: &str, expected: &[&str]| assert_eq!(offered(&ns, line), expected, "{line}");
    check("plimsoll own", &["owners"]);
    check("plimsoll apply --force", &["--force-conflicts"]);
    check("plimsoll tree deploy/web -o na", &["name"]);
    check("plimsoll wait deploy/web --for cond", &["condition="]);
    check("plimsoll explain ownership-dr", &["ownership-drift"]);
}

#[tokio::test]
async fn what_the_cluster_has_is_offered() {
    let ns = namespace().await;
    for name in ["settings", "secrets-of-others"] {
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
        ns.apply_as("other", &object).await;
    }
    let set = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "member" } });
    let applied =
        crate::program::run_with(&ns, &["apply", "-f", "-", "--applyset", "shop"], &set.to_string());
    assert!(applied.starts_with("exit 0"), "{applied}");
    let check = |line: &str, expected: &[&str]| assert_eq!(offered(&ns, line), expected, "{line}");
    check("plimsoll owners configm", &["configmaps"]);
    check("plimsoll owners cm", &["cm"]);
    check("plimsoll -n NS owners cm/se", &["cm/secrets-of-others", "cm/settings"]);
    check("plimsoll owners -n NS configmaps se", &["secrets-of-others", "settings"]);
    check("plimsoll owners --namespace=NS cm settings se", &["secrets-of-others"]);
    check("plimsoll apply -n NS --applyset ", &["shop"]);
    check("plimsoll tree -n NS", &["NS"]);
    let contexts = offered(&ns, "plimsoll tree --context plimsoll-");
    assert!(contexts.len() == 2 && contexts[1].ends_with("-token"), "{contexts:?}");
    check("plimsoll owners nonesuch/a", &[]);
    check("plimsoll --context nonesuch owners cm/se", &[]);
}

#[test]
fn every_shell_has_a_script() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(["completions", shell])
            .output()
            .expect("it starts");
        assert!(
            script.status.success() && String::from_utf8_lossy(&script.stdout).contains("plimsoll"),
            "{shell}"
        );
    }
}
