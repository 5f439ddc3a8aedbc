//! The messages if a sandbox cannot start.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;

use crate::harness::{User, eventually};

#[test]
fn without_go_and_programs_the_error_offers_four_solutions() {
    let user = User::without_programs().with("PATH", "/nonexistent");
    let output = user.run(&["up", "--detach"]).failed();
    let cache = output.split("cache/plimsoll/control-plane/").nth(1).unwrap()[..16].to_owned();
    insta::assert_snapshot!(output.replace(&cache, "HASH"), @r#"
    error[sandbox-programs-missing]: cannot find etcd, kube-apiserver, kube-controller-manager,
                                     kube-scheduler, kwok, kubectl, and there is no `go` to build them

      KUBEBUILDER_ASSETS is not set, FOLDER/cache/plimsoll/control-plane/HASH is
      not a complete build, and no `go` is on PATH. Do one of the following:
      1. unpack the archive plimsoll-control-plane_0.2.0 of the release beside this program
      2. install Go 1.26 or later, https://go.dev/dl: the next run builds them, in four to six minutes
      3. set KUBEBUILDER_ASSETS to a folder that contains them
      4. copy the build from the cache of another machine
    "#);
    assert!(!user.sandbox("default").exists());
}

#[test]
fn a_cache_that_cannot_be_written_is_reported() {
    // A file where a folder should be stops even root.
    let user = User::without_programs();
    fs::write(user.path("cache"), "").unwrap();
    let bin = user.path("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink("/bin/true", bin.join("go")).unwrap();
    let user = user.with("PATH", bin);
    insta::assert_snapshot!(user.run(&["up", "--detach"]).failed(), @r#"
    error[sandbox-files]: cannot write to the cache folder FOLDER/cache/plimsoll/control-plane

      Not a directory (os error 20).

    hint: Set XDG_CACHE_HOME to a folder you can write to, with 300 MB free.
    "#);
}

#[test]
fn a_cache_without_write_permission_is_reported() {
    let user = User::without_programs();
    let cache = user.path("cache");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(cache.join("probe"), "").is_ok() {
        // Root may write everywhere; the test above covers the message.
        return;
    }
    let output = user.run(&["up", "--detach"]).failed();
    assert!(output.contains("Permission denied"), "{output}");
}

#[test]
fn a_state_folder_that_cannot_be_written_is_reported() {
    let user = User::with_stand_ins(&[]);
    fs::write(user.path("state"), "").unwrap();
    insta::assert_snapshot!(user.run(&["up", "--detach"]).failed(), @r#"
    error[sandbox-files]: cannot write to FOLDER/state/plimsoll/sandbox

      Not a directory (os error 20).

    hint: Set XDG_STATE_HOME to a folder you can write to.
    "#);
}

#[test]
fn a_taken_port_is_reported_before_anything_starts() {
    let user = User::with_stand_ins(&[]);
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = user.run(&["up", "--detach", "--port", &port]).failed();
    insta::assert_snapshot!(output.replace(&port, "PORT"), @r#"
    error[sandbox-port]: cannot listen on port PORT of 127.0.0.1

      Address already in use (os error 98).

    hint: Omit --port to get a free one, or stop what listens there.
    "#);
    assert!(!user.sandbox("default").exists());
}

#[test]
fn a_port_that_another_process_took_first_is_replaced() {
    // The first API server finds its port taken; the second ends for another reason.
    let server = "echo port $4; if [ -e tried ]; then exit 7; fi; : > tried; echo bind: address already in use; exit 1";
    let user = User::with_stand_ins(&[("kube-apiserver", server)]);
    let output = user.run(&["up", "--detach"]).failed();
    assert!(output.contains("kube-apiserver ended with exit status: 7"), "{output}");
    let log = user.run(&["logs", "kube-apiserver"]).succeeded();
    assert_eq!(log.lines().count(), 1, "the log begins anew: {log}");
    assert!(log.starts_with("port --secure-port="), "{log}");
}

#[test]
fn a_program_that_dies_at_start_shows_its_last_log_lines() {
    let user = User::with_stand_ins(&[(
        "kube-apiserver",
        "echo reading flags; echo 'Error: no such flag' >&2; exit 3",
    )]);
    insta::assert_snapshot!(user.run(&["up", "--detach"]).failed(), @r#"
    error[sandbox-start-failed]: sandbox default did not start: kube-apiserver ended with exit status: 3

      reading flags
      Error: no such flag

    help: the complete logs are in FOLDER/state/plimsoll/sandbox/default/logs
    "#);

    let status = user.status("default");
    assert_eq!(status["state"], "failed");
    assert_eq!(status["failure"]["program"], "kube-apiserver");
    assert_eq!(status["failure"]["log"][1], "Error: no such flag");
    let logs = user.run(&["logs", "kube-apiserver"]).succeeded();
    assert_eq!(logs, "reading flags\nError: no such flag\n");
    let output = user.run(&["env"]).failed();
    assert!(output.contains("sandbox default is not ready (state: failed)"), "{output}");
}

#[test]
fn a_log_is_followed_until_the_sandbox_is_gone() {
    let user = User::with_stand_ins(&[("etcd", ": > etcd.sock; while :; do echo tick; sleep 0.1; done")]);
    let mut up = user.begin(&["up", "--detach"]);
    user.state_when("default", |state| state["processes"].as_array().is_some_and(|all| all.len() == 2));
    let followed = user.path("followed");
    let mut command = user.command(&["sandbox", "logs", "etcd", "--follow"]);
    let mut logs = command.stdout(fs::File::create(&followed).unwrap()).spawn().unwrap();
    eventually("more is added", || {
        (fs::read_to_string(&followed).unwrap().lines().count() > 3).then_some(())
    });
    user.run(&["down"]).succeeded();
    assert!(logs.wait().unwrap().success());
    assert!(!up.wait().unwrap().success());
}

#[test]
fn a_program_that_cannot_be_run_is_reported() {
    let user = User::with_stand_ins(&[]);
    fs::write(user.path("assets/etcd"), "\x7fELF but not really").unwrap();
    let output = user.run(&["up", "--detach"]).failed();
    let output = output.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(output.contains("etcd cannot be started from FOLDER/assets/etcd: Exec format error"), "{output}");
}

#[test]
fn a_start_that_times_out_reports_what_it_waited_for() {
    let user = User::with_stand_ins(&[("etcd", "echo still thinking; exec sleep 1000")]);
    insta::assert_snapshot!(user.run(&["up", "--detach", "--timeout", "3s"]).failed(), @r#"
    error[sandbox-start-failed]: sandbox default did not start: etcd did not accept connections in time

      still thinking

    help: the complete logs are in FOLDER/state/plimsoll/sandbox/default/logs
    "#);
}

#[test]
fn an_empty_name_in_the_environment_is_reported() {
    let user = User::with_stand_ins(&[]).with("PLIMSOLL_SANDBOX", "");
    insta::assert_snapshot!(user.run(&["status"]).failed(), @"
    error: invalid value '' for '--name <NAME>': it is empty; give a name, or omit --name and unset PLIMSOLL_SANDBOX

    For more information, try '--help'.
    ");
}

#[test]
fn every_usage_error_has_the_same_exit_status() {
    let user = User::with_stand_ins(&[]);
    for arguments in [
        &["sandbx"][..],
        &["sandbox", "upp"],
        &["sandbox", "up", "--nme", "x"],
        &["sandbox", "up", "--port", "none"],
        &["sandbox", "exec"],
        &["sandbox"],
        &[],
    ] {
        assert_eq!(user.command(arguments).output().unwrap().status.code(), Some(1), "{arguments:?}");
    }
}

#[test]
fn the_demo_and_logs_have_no_data_for_programs() {
    let user = User::with_stand_ins(&[]);
    for arguments in [&["demo", "-o", "json"][..], &["completions", "bash", "-o", "yaml"]] {
        let output = user.command(arguments).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{arguments:?}");
        let transcript = String::from_utf8(output.stderr).unwrap();
        assert!(transcript.starts_with("error[format-unsupported]: "), "{transcript}");
        assert!(transcript.ends_with("hint: Omit --output.\n"), "{transcript}");
    }
}

#[test]
fn an_invalid_name_is_refused() {
    let user = User::with_stand_ins(&[]);
    let ran = user.run(&["up", "--name", "../x"]);
    assert_eq!(ran.code(), Some(1));
    assert!(ran.stderr().contains("`../x` is not a valid sandbox name"), "{}", ran.stderr());
}
