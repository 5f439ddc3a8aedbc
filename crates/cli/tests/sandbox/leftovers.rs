//! Whatever was killed, and whenever: the next `up` or `down` cleans up, and touches no other process.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{User, eventually, is_running, kill};

/// Starts a sandbox that never becomes ready, and returns its state once etcd and the API server run.
fn begin(user: &User) -> (Child, Value) {
    let up = user.begin(&["up", "--detach"]);
    let state =
        user.state_when("default", |state| state["processes"].as_array().is_some_and(|all| all.len() == 2));
    (up, state)
}

fn children(state: &Value) -> Vec<i64> {
    let processes = state["processes"].as_array().unwrap().iter();
    processes.map(|running| running["process"]["pid"].as_i64().unwrap()).collect()
}

fn supervisor(state: &Value) -> i64 {
    state["supervisor"]["pid"].as_i64().unwrap()
}

fn all_end(pids: &[i64]) {
    eventually("the processes end", || pids.iter().all(|pid| !is_running(*pid)).then_some(()));
}

#[test]
fn programs_that_outlive_a_killed_supervisor_are_stopped() {
    // The stand-ins, like stock programs from KUBEBUILDER_ASSETS, ignore their standard input.
    let user = User::with_stand_ins(&[]);
    let (mut up, state) = begin(&user);
    kill(supervisor(&state));
    assert_eq!(up.wait().unwrap().code(), Some(1));
    let output = fs::read_to_string(user.path("output")).unwrap();
    assert!(output.contains("its supervisor exited"), "{output}");
    assert!(children(&state).iter().all(|pid| is_running(*pid)));
    assert_eq!(user.status("default")["state"], "dead");
    user.run(&["logs", "etcd", "--follow"]).succeeded();

    user.run(&["down"]).succeeded();
    all_end(&children(&state));
    assert!(!user.sandbox("default").exists());
}

#[test]
fn programs_are_found_even_if_the_state_file_is_damaged() {
    let user = User::with_stand_ins(&[]);
    let (mut up, state) = begin(&user);
    kill(supervisor(&state));
    up.wait().unwrap();
    fs::write(user.sandbox("default").join("state.json"), &state.to_string()[..40]).unwrap();
    assert_eq!(user.status("default")["state"], "damaged");
    let listed = user.run(&["list"]).succeeded();
    assert!(listed.contains("default   damaged"), "{listed}");

    let again = user.run(&["up", "--detach", "--timeout", "100ms"]);
    assert!(again.stderr().contains("cleaning up sandbox default, which is damaged"), "{}", again.stderr());
    all_end(&children(&state));
}

#[test]
fn a_damaged_state_file_of_a_running_supervisor_is_cleaned_up() {
    let user = User::with_stand_ins(&[]);
    let (mut up, state) = begin(&user);
    fs::write(user.sandbox("default").join("state.json"), "").unwrap();
    // The client still waits and holds the lock; the cleanup must not depend on it.
    up.kill().unwrap();
    up.wait().unwrap();
    user.run(&["down"]).succeeded();
    all_end(&[&children(&state)[..], &[supervisor(&state)]].concat());
    assert!(!user.sandbox("default").exists());
}

#[test]
fn an_abandoned_start_stops_by_itself() {
    let user = User::with_stand_ins(&[]);
    let (mut up, state) = begin(&user);
    up.kill().unwrap();
    up.wait().unwrap();
    all_end(&[&children(&state)[..], &[supervisor(&state)]].concat());
    eventually("its folder is removed", || (!user.sandbox("default").exists()).then_some(()));
}

#[test]
fn programs_are_found_even_if_the_folder_was_removed_by_hand() {
    let user = User::with_stand_ins(&[]);
    let (mut up, state) = begin(&user);
    kill(supervisor(&state));
    up.wait().unwrap();
    fs::remove_dir_all(user.sandbox("default")).unwrap();
    assert!(children(&state).iter().all(|pid| is_running(*pid)));
    assert!(user.run(&["down"]).stderr().contains("stopped sandbox default"));
    all_end(&children(&state));
    assert!(user.run(&["down"]).stderr().contains("sandbox default does not exist"));
}

#[test]
fn an_inherited_pipe_is_not_kept_open() {
    let user = User::with_stand_ins(&[]);
    // Like a test runner that writes to descriptor 3, and waits until every process has closed it.
    let up = user.command(&["sandbox", "up", "--detach"]);
    let script = "exec 3>&1 >/dev/null 2>&1; \"$0\" sandbox up --detach & wait $!";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(up.get_program());
    shell.envs(up.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut shell = shell.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let state =
        user.state_when("default", |state| state["processes"].as_array().is_some_and(|all| all.len() == 2));
    for pid in children(&state).into_iter().chain([supervisor(&state)]) {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        let pipe = fs::read_link(format!("/proc/{}/fd/3", shell.id())).unwrap();
        let links: Vec<_> = open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok()).collect();
        assert!(!links.contains(&pipe), "{pid} has {links:?}");
    }
    user.run(&["down"]).succeeded();
    shell.wait().unwrap();
}

#[test]
fn a_process_with_a_reused_pid_is_never_signalled() {
    let user = User::with_stand_ins(&[]);
    let (mut up, mut state) = begin(&user);
    user.run(&["down"]);
    up.wait().unwrap();

    let mut stranger = Command::new("sleep").arg("1000").spawn().unwrap();
    state["supervisor"]["pid"] = json!(stranger.id());
    for running in state["processes"].as_array_mut().unwrap() {
        running["process"]["pid"] = json!(stranger.id());
    }
    fs::create_dir_all(user.sandbox("default")).unwrap();
    fs::write(user.sandbox("default").join("state.json"), state.to_string()).unwrap();
    assert_eq!(user.status("default")["state"], "dead");
    user.run(&["down"]).succeeded();
    assert!(!user.sandbox("default").exists());
    assert!(stranger.try_wait().unwrap().is_none(), "the stranger is alive");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}
