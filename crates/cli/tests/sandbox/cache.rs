//! The programs in the cache: built once, used from then on, removed on request.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sandbox::CONTROL_PLANE;

use crate::harness::{User, eventually};
use crate::schema;

/// A stand-in for Go that builds stand-ins for the programs.
pub(crate) const GO: &str = r#"#!/bin/sh
case $1 in
list) echo fmt; echo 'go: downloading k8s.io/kubernetes v1' >&2 ;;
build)
    echo fmt >&2
    for output in "$@"; do case $output in */bin/*) break ;; esac; done
    printf '#!/bin/sh\n: > etcd.sock; exec sleep 1000\n' > "$output"
    chmod +x "$output"
    ;;
esac
"#;

pub(crate) fn user_with_go(script: &str) -> User {
    let user = User::without_programs();
    let bin = user.path("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("go"), script).unwrap();
    fs::set_permissions(bin.join("go"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    user.with("PATH", path)
}

fn build(user: &User) -> std::path::PathBuf {
    CONTROL_PLANE.folder(&user.path("cache/plimsoll"))
}

#[test]
fn the_first_start_builds_and_announces_how_long_it_takes() {
    let user = user_with_go(GO);
    let output = user.run(&["up", "--detach", "--timeout", "10ms"]).failed();
    assert!(
        output.contains("building control-plane with Go; the first time takes 4 to 6 minutes"),
        "{output}"
    );
    assert!(output.contains("built control-plane in 0 s"), "{output}");
    let origins = |user: &User| {
        user.status("default")["programs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|program| program["origin"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(origins(&user), ["built"; 6]);

    let output = user.run(&["up", "--detach", "--timeout", "10ms"]).failed();
    assert!(!output.contains("building"), "{output}");
    assert_eq!(origins(&user), ["cache"; 6]);
}

#[test]
fn an_incomplete_cache_is_rebuilt() {
    let user = user_with_go(GO);
    fs::create_dir_all(build(&user)).unwrap();
    fs::write(build(&user).join("control-plane"), "half").unwrap();
    let output = user.run(&["up", "--detach", "--timeout", "10ms"]).failed();
    assert!(output.contains("built control-plane"), "{output}");
    assert!(build(&user).join("kwok").exists());
}

#[test]
fn a_failed_build_shows_the_output_of_go() {
    let user =
        user_with_go("#!/bin/sh\necho 'go: go.mod requires go >= 1.26.0 (running go 1.21)' >&2\nexit 1\n");
    insta::assert_snapshot!(user.run(&["up", "--detach"]).failed(), @r#"
    building control-plane with Go; the first time takes 4 to 6 minutes
    error[sandbox-build-failed]: building control-plane failed: `go list -deps . ./kwok` ended with exit
                                 status: 1

      go: go.mod requires go >= 1.26.0 (running go 1.21)

    hint: Check that Go is 1.26 or later (`go version`) and that modules can be fetched (`go env
          GOPROXY`).
    "#);
}

#[test]
fn a_start_that_is_still_building_can_be_cancelled() {
    let user = user_with_go(
        "#!/bin/sh\necho 'go: downloading example.com/x v1' >&2\n: > \"$XDG_CACHE_HOME/begun\"\nwhile [ ! -e \"$XDG_CACHE_HOME/go-on\" ]; do sleep 0.05; done\nexit 1\n",
    );
    let mut up = user.begin(&["up", "--detach"]);
    eventually("the build has begun", || user.path("cache/begun").exists().then_some(()));
    assert_eq!(user.run(&["down", "-o", "yaml"]).succeeded(), "name: default\nstopped: true\n");
    let output = user.run(&["down"]).stderr();
    assert_eq!(output, "stopped sandbox default: it will not start once its programs are built\n");
    fs::write(user.path("cache/go-on"), "").unwrap();
    assert_eq!(up.wait().unwrap().code(), Some(1));
    assert_eq!(user.run(&["down"]).stderr(), "sandbox default does not exist, nothing to stop\n");
}

#[test]
fn a_cancelled_start_ends_when_its_programs_are_built() {
    let waiting = GO.replace("list) echo fmt", "list) : > \"$XDG_CACHE_HOME/begun\"; while [ ! -e \"$XDG_CACHE_HOME/go-on\" ]; do sleep 0.05; done; echo fmt");
    let user = user_with_go(&waiting);
    let mut up = user.begin(&["up", "--detach"]);
    eventually("the build has begun", || user.path("cache/begun").exists().then_some(()));
    user.run(&["down"]).succeeded();
    fs::write(user.path("cache/go-on"), "").unwrap();
    assert_eq!(up.wait().unwrap().code(), Some(1));
    let output = fs::read_to_string(user.path("output")).unwrap();
    assert!(output.contains("sandbox default did not start: it was stopped in the meantime"), "{output}");
    assert_eq!(
        fs::read_dir(user.sandbox("default").parent().unwrap()).unwrap().count(),
        0,
        "nothing is left"
    );
    // The programs are kept, the cancellation is not.
    let output = user.run(&["up", "--detach", "--timeout", "10ms"]).failed();
    assert!(
        output.contains("did not accept connections in time") && !output.contains("building"),
        "{output}"
    );
}

#[test]
fn purge_removes_the_programs_unless_a_sandbox_runs_them() {
    let user = user_with_go(GO);
    let mut up = user.begin(&["up", "--detach"]);
    user.state_when("default", |state| state["processes"].as_array().is_some_and(|all| all.len() == 2));
    let output = user.run(&["purge"]).failed();
    assert!(output.contains("the cache is in use by sandbox default"), "{output}");
    assert!(build(&user).exists());

    user.run(&["down"]).succeeded();
    assert_eq!(up.wait().unwrap().code(), Some(1), "a start that is stopped has failed");
    assert!(fs::read_to_string(user.path("output")).unwrap().contains("it was stopped in the meantime"));
    user.run(&["purge"]).succeeded();
    assert!(!Path::new(&build(&user)).exists());
    let freed = schema::check("sandbox", &user.run(&["purge", "-o", "json"]).succeeded());
    assert_eq!(freed["freedBytes"], 0);
}
