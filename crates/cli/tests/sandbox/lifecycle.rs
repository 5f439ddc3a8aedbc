//! A sandbox starts once, stays, is found by every command, and leaves nothing behind.

use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::Child;

use sandbox::{Environment, Lease, Name};
use serde_json::Value;

use crate::harness::{User, eventually, is_running, kill, mode, send};
use crate::schema;

fn pids(status: &Value) -> Vec<i64> {
    let programs =
        status["programs"].as_array().unwrap().iter().filter_map(|program| program["pid"].as_i64());
    programs.chain(status["supervisor"].as_i64()).collect()
}

fn address(status: &Value) -> String {
    status["server"].as_str().unwrap().trim_start_matches("https://").to_owned()
}

fn succeeded(child: Child) {
    assert_eq!(ended(child), Some(0));
}

#[test]
fn two_ups_at_once_start_one_sandbox_and_down_leaves_nothing() {
    let user = User::new();
    let up = ["up", "--name", "once", "--detach"];
    let (first, second) = (user.begin(&up), user.begin(&up));
    succeeded(first);
    succeeded(second);
    let status = user.status("once");
    assert_eq!(status["state"], "ready");
    assert_eq!(status["versions"]["kubernetes"], "v1.36.3");
    let pids = pids(&status);
    assert_eq!(pids.len(), 6, "five programs and the supervisor: {status:#}");

    let printed = |arguments: &[&str]| {
        schema::check("sandbox", &user.run(&[arguments, &["-o", "json"]].concat()).succeeded())
    };
    let again = printed(&up);
    assert_eq!(again, status, "up changes nothing about a sandbox that is ready");
    let output = user.run(&[&up[..], &["--audit"]].concat()).stderr();
    assert!(output.contains("warning[sandbox-differs]") && output.contains("audit log"), "{output}");
    let listed = printed(&["list"]);
    assert_eq!(listed, Value::Array(vec![status.clone()]));
    assert_eq!(printed(&["env", "--name", "once"])["KUBECONFIG"], status["kubeconfig"]);

    let kubeconfig = Path::new(status["kubeconfig"].as_str().unwrap());
    keeps_its_secrets(&user.sandbox("once"));
    let port: u16 = address(&status).rsplit_once(':').unwrap().1.parse().unwrap();
    assert_eq!(listening(&pids), [format!("0100007F:{port:04X}")], "only the API server, on 127.0.0.1");
    works_with_either_credential(&user, kubeconfig);
    shows_its_logs(&user);

    user.run(&["down", "--name", "once"]).succeeded();
    assert!(!user.sandbox("once").exists());
    assert_eq!(pids.iter().filter(|pid| is_running(**pid)).count(), 0);
    assert!(TcpStream::connect(address(&status)).is_err(), "the port is free again");
    assert!(user.run(&["status", "--name", "once"]).failed().contains("sandbox once does not exist"));
    user.run(&["down", "--name", "once"]).succeeded();
}

/// Everything in the folder is for its owner only.
fn keeps_its_secrets(folder: &Path) {
    assert_eq!(mode(folder), 0o700);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                assert_eq!(mode(&path), 0o700, "{}", path.display());
                folders.push(path);
            } else if kind.is_file() {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
            }
        }
    }
}

/// The addresses, as the kernel writes them, that the processes `pids` listen on.
fn listening(pids: &[i64]) -> Vec<String> {
    let links = pids.iter().flat_map(|pid| fs::read_dir(format!("/proc/{pid}/fd")).unwrap());
    let sockets: Vec<String> = links
        .filter_map(|link| Some(fs::read_link(link.unwrap().path()).ok()?.to_str()?.to_owned()))
        .filter_map(|target| Some(target.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    ["tcp", "tcp6", "udp", "udp6"]
        .iter()
        .flat_map(|table| {
            fs::read_to_string(format!("/proc/net/{table}"))
                .unwrap_or_default()
                .lines()
                .skip(1)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            // Local address, state (0A: listening, 07: an open UDP socket) and inode.
            let open = ["0A", "07"].contains(&fields[3]) && sockets.iter().any(|inode| inode == fields[9]);
            open.then(|| fields[1].to_owned())
        })
        .collect()
}

fn works_with_either_credential(user: &User, kubeconfig: &Path) {
    let printed = user.run(&["env", "--name", "once"]).succeeded();
    assert_eq!(printed, format!("export KUBECONFIG={}\n", kubeconfig.display()));
    assert_eq!(user.run(&["list", "-o", "name"]).succeeded(), "once\n");
    let yaml = user.run(&["kubeconfig", "--name", "once", "-o", "yaml"]).succeeded();
    assert!(yaml.starts_with("apiVersion: v1\nclusters:\n- "), "{yaml}");
    let content = user.run(&["kubeconfig", "--name", "once"]).succeeded();
    assert_eq!(content, fs::read_to_string(kubeconfig).unwrap());

    let contexts = user.kubectl("once", &["config", "get-contexts", "-o", "name"]);
    assert_eq!(contexts, "plimsoll-once\nplimsoll-once-token\n");
    let current = user.kubectl("once", &["config", "current-context"]);
    assert_eq!(current, "plimsoll-once\n");
    for context in contexts.lines() {
        let user_name = "jsonpath={.status.userInfo.username} {.status.userInfo.groups[0]}";
        let who = user.kubectl("once", &["--context", context, "auth", "whoami", "-o", user_name]);
        assert_eq!(who, "admin system:masters", "{context}");
    }
    let node = user.kubectl("once", &["get", "nodes", "-o", "jsonpath={.items[*].metadata.name}"]);
    assert_eq!(node, "sandbox");
    let exit = user.run(&["exec", "--name", "once", "--", "sh", "-c", "test -n \"$KUBECONFIG\" && exit 7"]);
    assert_eq!(exit.code(), Some(7), "the exit status is passed on");
    let plain = user.run(&["exec", "--name", "once", "kubectl", "get", "nodes", "-o", "name"]).succeeded();
    assert_eq!(plain, "node/sandbox\n", "the hyphens before a command may be left out");
    let missing = user.run(&["exec", "--name", "once", "--", "kubectll"]);
    assert_eq!(missing.code(), Some(127), "as a shell says it");
    assert!(
        missing.stderr().starts_with("error[exec-no-command]: cannot run kubectll: "),
        "{}",
        missing.stderr()
    );
}

fn shows_its_logs(user: &User) {
    let one = user.run(&["logs", "--name", "once", "kube-apiserver"]).succeeded();
    assert!(one.contains("Serving securely on 127.0.0.1:"), "{one}");
    let all = user.run(&["logs", "--name", "once"]).succeeded();
    assert!(all.contains("\nkube-scheduler ") && all.contains("\nkwok "), "{all}");
    assert!(user.run(&["logs", "--name", "once", "nothing"]).failed().contains("has no log of nothing"));
}

#[test]
fn a_killed_supervisor_is_cleaned_up_and_its_neighbour_stays() {
    let user = User::new();
    let first = user.begin(&["up", "--name", "one", "--detach"]);
    succeeded(user.begin(&[
        "up",
        "--name",
        "two",
        "--detach",
        "--linger",
        "1s",
        "--apiserver-arg",
        "event-ttl=5m",
    ]));
    let lease = hold(&user, "two");
    succeeded(first);
    let (one, two) = (user.status("one"), user.status("two"));
    assert_ne!(address(&one), address(&two));
    user.kubectl("one", &["create", "namespace", "only-in-one"]);
    assert!(!user.kubectl("two", &["get", "namespaces", "-o", "name"]).contains("only-in-one"));

    kill(one["supervisor"].as_i64().unwrap());
    eventually("the programs end with their supervisor", || {
        pids(&one).iter().all(|pid| !is_running(*pid)).then_some(())
    });
    assert_eq!(user.status("one")["state"], "dead");
    let output = user.run(&["exec", "--name", "one", "--", "true"]).failed();
    assert!(output.contains("sandbox one is not ready (state: dead)"), "{output}");
    let foreground = up_in_the_foreground(&user, "one");
    let output = fs::read_to_string(user.path("output")).unwrap();
    assert!(output.contains("cleaning up sandbox one, which is dead"), "{output}");
    let namespaces = user.kubectl("one", &["get", "namespaces", "-o", "name"]);
    assert!(!namespaces.contains("only-in-one"), "it starts afresh: {namespaces}");

    kill(program(&user.status("one"), "kwok"));
    assert_eq!(ended(foreground), Some(1));
    let output = fs::read_to_string(user.path("output")).unwrap();
    assert!(
        output.contains("sandbox one stopped unexpectedly: kwok ended with signal: 9 (SIGKILL)"),
        "{output}"
    );
    assert!(output.contains("sigs.k8s.io/kwok/pkg/kwok"), "the last words of kwok: {output}");
    assert_eq!(user.status("one")["state"], "failed");

    let foreground = up_in_the_foreground(&user, "one");
    send("INT", i64::from(foreground.id()));
    assert_eq!(ended(foreground), Some(0));
    assert!(!user.sandbox("one").exists());

    // The neighbour was kept alive by its lease, and ends soon after it is released.
    assert_eq!(user.status("two"), two);
    drop(lease);
    eventually("the unused sandbox stops", || (!user.sandbox("two").exists()).then_some(()));
    eventually("nothing is left of both", || {
        let left = fs::read_dir(user.sandbox("two").parent().unwrap()).unwrap().count();
        (left == 0).then_some(())
    });
    eventually("its processes end", || pids(&two).iter().all(|pid| !is_running(*pid)).then_some(()));
}

/// Starts a sandbox that lives as long as the command.
fn up_in_the_foreground(user: &User, name: &str) -> Child {
    let child = user.begin(&["up", "--name", name]);
    eventually("the command says how to stop it", || {
        fs::read_to_string(user.path("output")).unwrap().contains("Ctrl-C").then_some(())
    });
    child
}

fn ended(mut child: Child) -> Option<i32> {
    child.wait().unwrap().code()
}

fn program(status: &Value, name: &str) -> i64 {
    let programs = status["programs"].as_array().unwrap();
    programs.iter().find(|program| program["program"] == name).unwrap()["pid"].as_i64().unwrap()
}

fn hold(user: &User, name: &str) -> Lease {
    let environment = Environment {
        cache: user.path("unused"),
        state: user.path("state/plimsoll"),
        path: "/nonexistent".into(),
        assets: None,
        releases: Vec::new(),
    };
    Lease::hold(&environment, &name.parse::<Name>().unwrap()).unwrap()
}
