//! Runs `plimsoll` as a program, and normalises what differs between runs in its output.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde_json::json;
use tempfile::NamedTempFile;
use testkit::{Namespace, Sandbox};

/// `plimsoll` in a namespace of the sandbox, 100 columns wide and without colour.
pub(crate) fn plimsoll(namespace: &Namespace, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command
        .args(arguments)
        .args(["--namespace", namespace.name()])
        .env("KUBECONFIG", Sandbox::shared().kubeconfig())
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1");
    command
}

/// Runs `plimsoll` in a namespace, and returns its output and exit status.
pub(crate) fn run(namespace: &Namespace, arguments: &[&str]) -> String {
    transcript(&plimsoll(namespace, arguments).output().expect("plimsoll starts"), namespace)
}

/// The same with something on standard input.
pub(crate) fn run_with(namespace: &Namespace, arguments: &[&str], input: &str) -> String {
    transcript(&with_input(plimsoll(namespace, arguments), input), namespace)
}

/// Runs a command with something on standard input.
pub(crate) fn with_input(mut command: Command, input: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("plimsoll starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A command that refuses its arguments does not read its input.
    let _ignored = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("plimsoll ends")
}

/// The same command on a terminal of its own, whose keys and screen are standard input and output.
pub(crate) fn in_terminal(command: &Command) -> Command {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let quoted =
        words.map(|word| format!("'{}'", word.to_str().expect("plain words").replace('\'', r"'\''")));
    let line = format!("exec {}", quoted.collect::<Vec<_>>().join(" "));
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    script.env("TERM", "xterm");
    script
}

/// Creates a webhook that concerns a kind but never matches an object; the file describes it.
pub(crate) fn webhook_for(namespace: &Namespace, resource: &str) -> NamedTempFile {
    let hook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": namespace.name() },
        "webhooks": [{
            "name": "a.example.org", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore",
            "timeoutSeconds": 1, "clientConfig": { "url": "https://127.0.0.1:1/" },
            "namespaceSelector": { "matchLabels": { "unused": "label" } },
            "rules": [{ "operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": [resource] }],
        }],
    });
    let file = NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), hook.to_string()).expect("a temporary file");
    namespace.kubectl(&["create", "-f", file.path().to_str().expect("an ASCII path")]).expect("a webhook");
    file
}

/// The output and exit status, without what differs between runs.
pub(crate) fn transcript(output: &Output, namespace: &Namespace) -> String {
    let text = |bytes: &[u8]| steady(&String::from_utf8_lossy(bytes), namespace);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    let code = output.status.code().map_or("a signal".to_owned(), |code| code.to_string());
    let mut transcript = format!("exit {code}\n");
    for (name, text) in [("stdout", stdout), ("stderr", stderr)] {
        if !text.is_empty() {
            transcript.extend(["--- ", name, "\n", text.trim_end(), "\n"]);
        }
    }
    transcript
}

/// A transcript whose lines of standard output are sorted: what is deleted together does not end in an order.
pub(crate) fn sorted(transcript: &str) -> String {
    let Some((before, rest)) = transcript.split_once("--- stdout\n") else { return transcript.to_owned() };
    let (stdout, after) = match rest.split_once("--- stderr\n") {
        Some((stdout, after)) => (stdout, format!("--- stderr\n{after}")),
        None => (rest, String::new()),
    };
    let mut lines: Vec<&str> = stdout.lines().collect();
    lines.sort_unstable();
    format!("{before}--- stdout\n{}\n{after}", lines.join("\n"))
}

/// The text on one line, for comparisons regardless of line breaks.
pub(crate) fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text with fixed values for the namespace, times, ports, uids and generated suffixes.
fn steady(text: &str, namespace: &Namespace) -> String {
    let text = text.replace(namespace.name(), "NS");
    text.lines().map(words).collect::<Vec<_>>().join("\n")
}

fn words(line: &str) -> String {
    let is_part = |character: char| character.is_alphanumeric() || "-:.".contains(character);
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(is_part) {
        let end =
            rest[start..].find(|character| !is_part(character)).map_or(rest.len(), |length| start + length);
        out.push_str(&rest[..start]);
        out.push_str(&word(&rest[start..end]));
        rest = &rest[end..];
    }
    out.push_str(rest);
    out.trim_end().to_owned()
}

fn word(word: &str) -> String {
    if let Some(before) = word.strip_suffix([':', '.']) {
        return format!("{}{}", self::word(before), &word[before.len()..]);
    }
    let bytes = word.as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    if digits(0..4) && bytes.get(4) == Some(&b'-') && bytes.get(10) == Some(&b'T') {
        return "TIME".to_owned();
    }
    let hex =
        |part: &str, length: usize| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts: Vec<&str> = word.split('-').collect();
    if parts.len() == 5 && hex(parts[0], 8) && hex(parts[4], 12) {
        return "UID".to_owned();
    }
    if let Some(name) = word.split('-').next().filter(|_| is_generated(&parts)) {
        return format!("{name}-GENERATED");
    }
    match word.strip_prefix("127.0.0.1:") {
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => "127.0.0.1:PORT".to_owned(),
        _ => word.to_owned(),
    }
}

/// Whether these parts are a name with the suffixes of ReplicaSets and pods, whose letters form no words.
fn is_generated(parts: &[&str]) -> bool {
    let safe = |part: &str| part.bytes().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte));
    match parts {
        [_, hash, pod] => (6..=10).contains(&hash.len()) && pod.len() == 5 && safe(hash) && safe(pod),
        [_, hash] => (6..=10).contains(&hash.len()) && safe(hash),
        _ => false,
    }
}
