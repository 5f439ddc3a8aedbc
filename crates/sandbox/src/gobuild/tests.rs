//! Builds with a fake `go`: once, under a lock, atomically, and with useful errors.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use super::*;

const MODULE: Module<'static> = Module {
    name: "greeting",
    files: &[("go.mod", "module greeting\n"), ("cmd/main.go", "package main\n")],
    binaries: &[Binary { package: "./cmd", file: "greet", links: &["hello", "hi"] }],
    ldflags: "-X main.who=you",
    cold_build: Duration::from_secs(60),
};

/// A folder with a script called `go` that records its arguments and runs `build`, with the output file as `$out`.
fn fake_go(folder: &Path, build: &str) -> PathBuf {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> {calls}\ncase $1 in\nlist) echo fmt; echo os; echo 'go: downloading example.com/x v1' >&2;;\n\
         build) shift 6; out=$1; {build};;\nesac\n",
        calls = folder.join("calls").display(),
    );
    let go = bin.join("go");
    // A child writes it: if this process had it open, a test that forks at that moment would inherit the descriptor, and
    // the kernel does not execute a file that is open for writing.
    let mut writer = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod +x \"$0\""])
        .arg(&go)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    writer.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
    bin
}

const GOOD_BUILD: &str = "echo fmt >&2; echo os >&2; echo '#!/bin/sh' > $out; chmod +x $out";

fn calls(folder: &Path) -> Vec<String> {
    fs::read_to_string(folder.join("calls")).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn a_module_is_built_once_and_then_cached() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let path = search_path(fake_go(folder.path(), GOOD_BUILD));
    let mut events = Vec::new();
    let built = MODULE.ensure(&cache, &path, &mut |event| events.push(event)).unwrap();

    assert_eq!(built, MODULE.folder(&cache));
    assert!(is_executable(&built.join("greet")) && is_executable(&built.join("hello")));
    assert_eq!(fs::read_link(built.join("hi")).unwrap(), Path::new("greet"));
    assert!(calls(folder.path())[1].starts_with("build -v -trimpath -ldflags -s -w -X main.who=you -o "));
    assert_eq!(
        events[..4],
        [
            BuildEvent::Started { module: "greeting".to_owned(), estimate: Duration::from_secs(60) },
            BuildEvent::Downloading { dependency: "example.com/x v1".to_owned() },
            BuildEvent::Compiled { done: 1, total: 2 },
            BuildEvent::Compiled { done: 2, total: 2 },
        ]
    );
    assert!(matches!(&events[4..], [BuildEvent::Finished { .. }]));

    MODULE.ensure(&cache, &path, &mut |event| panic!("{event:?}")).unwrap();
    assert_eq!(calls(folder.path()).len(), 2);
    assert!(MODULE.is_in(&built));
    assert!(!Module { ldflags: "", ..MODULE }.is_in(&built), "a build of other sources");
    let left: Vec<_> =
        fs::read_dir(cache.join("greeting")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "only the build and its lock: {left:?}");
}

#[test]
fn concurrent_builds_build_once() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let (start, started) = mpsc::channel();
    let gate = folder.path().join("gate");
    // The first build runs until the second one waits for it.
    let build = format!("while [ ! -e {} ]; do sleep 0.01; done; {GOOD_BUILD}", gate.display());
    let path = search_path(fake_go(folder.path(), &build));
    thread::scope(|scope| {
        let first = scope.spawn(|| {
            MODULE.ensure(&cache, &path, &mut |event| {
                if matches!(event, BuildEvent::Started { .. }) {
                    start.send(()).unwrap();
                }
            })
        });
        started.recv().unwrap();
        let mut events = Vec::new();
        let second = MODULE.ensure(&cache, &path, &mut |event| {
            fs::write(&gate, "").unwrap();
            events.push(event);
        });
        assert_eq!(first.join().unwrap().unwrap(), second.unwrap());
        assert_eq!(events, [BuildEvent::Waiting { module: "greeting".to_owned() }]);
    });
    assert_eq!(calls(folder.path()).len(), 2);
}

#[test]
fn a_waiting_build_survives_removal_of_the_cache() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let path = search_path(fake_go(folder.path(), GOOD_BUILD));
    let mut remover = Some(MODULE.lock(&cache.join("greeting"), &mut |_| ()).unwrap());
    let built = MODULE.ensure(&cache, &path, &mut |event| {
        if matches!(event, BuildEvent::Waiting { .. }) {
            fs::remove_dir_all(&cache).unwrap();
            remover.take();
        }
    });
    assert_eq!(MODULE.cached(&cache), Some(built.unwrap()));
}

#[test]
fn an_interrupted_build_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let path = search_path(fake_go(folder.path(), GOOD_BUILD));
    // The leftovers of a killed build, and a build with a file missing.
    let leftover = cache.join("greeting").join(format!("{}.build-1", MODULE.hash()));
    fs::create_dir_all(leftover.join("bin")).unwrap();
    let built = MODULE.folder(&cache);
    fs::create_dir_all(&built).unwrap();
    fs::write(built.join("greet"), "half").unwrap();

    assert_eq!(MODULE.cached(&cache), None);
    assert_eq!(MODULE.ensure(&cache, &path, &mut |_| ()).unwrap(), built);
    assert_eq!(MODULE.cached(&cache), Some(built));
    assert!(!leftover.exists());
}

#[test]
fn a_failed_build_reports_the_output_of_go_and_leaves_no_build() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let path =
        search_path(fake_go(folder.path(), "echo fmt >&2; echo 'main.go:3: no such thing' >&2; exit 1"));
    let error = MODULE.ensure(&cache, &path, &mut |_| ()).unwrap_err();
    let Error::Failed { output, status, command, .. } = error else { panic!("{error:?}") };
    assert_eq!(output, ["main.go:3: no such thing"]);
    assert_eq!(status, "exit status: 1");
    assert!(command.starts_with("go build "), "{command}");
    assert_eq!(MODULE.cached(&cache), None);
}

#[test]
fn a_build_for_another_machine_is_made_offline_and_knows_its_sources() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("settings");
    let build = format!("{GOOD_BUILD}; echo $GOARCH $GOPROXY > {}", settings.display());
    let path = search_path(fake_go(folder.path(), &build));
    let built = folder.path().join("built");
    MODULE.export(&path, "arm64", &built).unwrap();
    assert_eq!(fs::read_to_string(settings).unwrap(), "arm64 off\n");
    assert!(MODULE.is_in(&built));
}

#[test]
fn building_needs_go() {
    let folder = tempfile::tempdir().unwrap();
    let error = MODULE.ensure(folder.path(), OsStr::new("/nonexistent"), &mut |_| ()).unwrap_err();
    assert!(matches!(error, Error::NoGo { .. }), "{error:?}");
}

#[test]
fn the_error_names_a_cache_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = search_path(fake_go(folder.path(), GOOD_BUILD));
    // A file in place of the folder stops even root, which ignores permissions.
    let cache = folder.path().join("cache");
    fs::write(&cache, "").unwrap();
    let error = MODULE.ensure(&cache, &path, &mut |_| ()).unwrap_err();
    assert!(matches!(&error, Error::Cache { path, .. } if path.starts_with(&cache)), "{error:?}");
}

#[test]
fn the_folder_depends_on_every_source_and_flag() {
    let other_source =
        Module { files: &[("go.mod", "module greeting\n"), ("cmd/main.go", "package other\n")], ..MODULE };
    let other_name =
        Module { files: &[("go.mod", "module greeting\n"), ("main.go", "package main\n")], ..MODULE };
    let other_flags = Module { ldflags: "", ..MODULE };
    let folders =
        [MODULE, other_source, other_name, other_flags].map(|module| module.folder(Path::new("/c")));
    for (index, folder) in folders.iter().enumerate() {
        assert!(!folders[index + 1..].contains(folder), "{}", folder.display());
    }
}

#[test]
fn removing_frees_space_but_fails_during_a_build() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path();
    assert_eq!(remove(cache, "greeting").unwrap(), 0);
    let built = MODULE.folder(cache);
    fs::create_dir_all(&built).unwrap();
    fs::write(built.join("greet"), [0; 100]).unwrap();
    {
        let _building = MODULE.lock(&cache.join("greeting"), &mut |_| ()).unwrap();
        assert!(matches!(remove(cache, "greeting"), Err(Error::Busy { .. })));
    }
    assert_eq!(remove(cache, "greeting").unwrap(), 100);
    assert!(!cache.join("greeting").exists());
}

fn search_path(bin: PathBuf) -> std::ffi::OsString {
    std::env::join_paths([bin, "/usr/bin".into(), "/bin".into()]).unwrap()
}
