//! Locating programs: the order of places, versions that are rejected, and the error for a missing program.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;

fn executable(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn environment(folder: &Path) -> Environment {
    Environment {
        cache: folder.join("cache"),
        state: folder.join("state"),
        path: "/nonexistent".into(),
        assets: Some(folder.join("assets")),
        releases: vec![folder.join("release")],
    }
}

fn fill_cache(environment: &Environment) {
    fill(&CONTROL_PLANE.folder(&environment.cache));
}

fn fill(folder: &Path) {
    for binary in CONTROL_PLANE.binaries {
        for name in binary.links.iter().chain([&binary.file]) {
            executable(&folder.join(name));
        }
    }
}

#[test]
fn each_program_is_located_on_its_own_and_assets_come_first() {
    let folder = tempfile::tempdir().unwrap();
    let environment = environment(folder.path());
    fill_cache(&environment);
    for name in ["etcd", "kube-apiserver"] {
        executable(&folder.path().join("assets").join(name));
    }
    // Not executable, so it does not count.
    fs::write(folder.path().join("assets/kubectl"), "").unwrap();

    let located = locate(&environment, &mut |_| ()).unwrap();
    assert_eq!(located.iter().map(|entry| entry.program).collect::<Vec<_>>(), Program::ALL);
    let from_assets: Vec<_> = located.iter().filter(|entry| entry.origin == Origin::Assets).collect();
    assert_eq!(
        from_assets.iter().map(|entry| entry.program.name()).collect::<Vec<_>>(),
        ["etcd", "kube-apiserver"]
    );
    assert!(located.iter().all(|entry| entry.path.is_file() && entry.path.ends_with(entry.program.name())));
}

#[test]
fn a_release_comes_before_the_cache_if_it_is_of_this_version() {
    let folder = tempfile::tempdir().unwrap();
    let environment = environment(folder.path());
    fill_cache(&environment);
    let release = &environment.releases[0];
    fill(release);
    let origin = || locate(&environment, &mut |_| ()).unwrap()[0].origin;
    let build = CONTROL_PLANE.folder(&environment.cache);
    let this = build.file_name().unwrap().to_str().unwrap();
    for (sources, expected) in [("0123456789abcdef", Origin::Cache), (this, Origin::Installed)] {
        fs::write(release.join("sources"), sources).unwrap();
        assert_eq!(origin(), expected);
        assert_eq!(installed(&environment).is_some(), expected == Origin::Installed);
    }
    fs::remove_file(release.join("kwok")).unwrap();
    assert_eq!(origin(), Origin::Cache);
}

#[test]
fn an_old_etcd_is_rejected() {
    assert_eq!(etcd_version("etcd Version: 3.5.21\nGit SHA: x\n"), Some(("3.5.21", (3, 5))));
    assert_eq!(etcd_version("etcd Version: 3.10.0-rc.1\n").unwrap().1, (3, 10));
    assert_eq!(etcd_version("something else"), None);

    let folder = tempfile::tempdir().unwrap();
    let environment = environment(folder.path());
    fill_cache(&environment);
    let etcd = folder.path().join("assets/etcd");
    for (version, accepted) in [("3.5.21", false), ("3.6.0", true)] {
        executable(&etcd);
        run_by_child(&format!("echo '#!/bin/sh\necho etcd Version: {version}' > {}", etcd.display()));
        let located = locate(&environment, &mut |_| ());
        assert_eq!(located.is_ok(), accepted, "{version}: {located:?}");
    }
}

/// A child writes the script: if this process had it open, a test that forks at that moment would inherit the descriptor,
/// and the kernel does not execute a file that is open for writing.
fn run_by_child(script: &str) {
    assert!(Command::new("sh").args(["-c", script]).status().unwrap().success());
}

#[test]
fn without_go_the_error_names_the_missing_programs_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let environment = environment(folder.path());
    for name in ["etcd", "kube-apiserver", "kubectl"] {
        executable(&folder.path().join("assets").join(name));
    }
    let error = locate(&environment, &mut |_| ()).unwrap_err();
    let diagnostic = error.diagnostic();
    assert_eq!(
        diagnostic.summary,
        "cannot find kube-controller-manager, kube-scheduler, kwok, and there is no `go` to build them"
    );
    for solution in ["1. unpack the archive", "2. install Go", "3. set KUBEBUILDER_ASSETS", "4. copy "] {
        assert!(diagnostic.detail.contains(solution), "{solution} is missing in {}", diagnostic.detail);
    }
}

#[test]
fn an_incomplete_cache_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let environment = environment(folder.path());
    fill_cache(&environment);
    assert!(locate(&environment, &mut |_| ()).is_ok());
    fs::remove_file(CONTROL_PLANE.folder(&environment.cache).join("kwok")).unwrap();
    assert!(matches!(locate(&environment, &mut |_| ()), Err(Error::NoPrograms { .. })));
}
