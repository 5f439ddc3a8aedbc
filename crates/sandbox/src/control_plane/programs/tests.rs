//! Where programs are found, which are refused, and what is said when one is missing.

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
    }
}

fn fill_cache(environment: &Environment) {
    let folder = MODULE.folder(&environment.cache);
    for program in MODULE.programs {
        for name in program.links.iter().chain([&program.file]) {
            executable(&folder.join(name));
        }
    }
}

#[test]
fn each_program_is_found_on_its_own_and_assets_come_first() {
    let folder = tempfile::tempdir().unwrap();
    let environment = environment(folder.path());
    fill_cache(&environment);
    for name in ["etcd", "kube-apiserver"] {
        executable(&folder.path().join("assets").join(name));
    }
    // Not executable, so not a program.
    fs::write(folder.path().join("assets/kubectl"), "").unwrap();

    let found = find(&environment, &mut |_| ()).unwrap();
    assert_eq!(found.iter().map(|entry| entry.program).collect::<Vec<_>>(), Program::ALL);
    let from_assets: Vec<_> = found.iter().filter(|entry| entry.origin == Origin::Assets).collect();
    assert_eq!(
        from_assets.iter().map(|entry| entry.program.name()).collect::<Vec<_>>(),
        ["etcd", "kube-apiserver"]
    );
    assert!(found.iter().all(|entry| entry.path.is_file() && entry.path.ends_with(entry.program.name())));
}

#[test]
fn an_etcd_that_says_it_is_too_old_is_refused() {
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
        let found = find(&environment, &mut |_| ());
        assert_eq!(found.is_ok(), accepted, "{version}: {found:?}");
    }
}

/// A child writes what is executed next: if this process had it open, so would another test that forks meanwhile, and
/// the kernel executes no file that somebody may write to.
fn run_by_child(script: &str) {
    assert!(Command::new("sh").args(["-c", script]).status().unwrap().success());
}

#[test]
fn without_go_the_missing_programs_and_three_ways_out_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let environment = environment(folder.path());
    for name in ["etcd", "kube-apiserver", "kubectl"] {
        executable(&folder.path().join("assets").join(name));
    }
    let error = find(&environment, &mut |_| ()).unwrap_err();
    let diagnostic = error.diagnostic();
    assert_eq!(
        diagnostic.summary,
        "cannot find kube-controller-manager, kube-scheduler, kwok, and there is no `go` to build with"
    );
    for way in ["1. install Go", "2. set KUBEBUILDER_ASSETS", "3. copy "] {
        assert!(diagnostic.detail.contains(way), "{way} is missing in {}", diagnostic.detail);
    }
}

#[test]
fn a_cache_with_a_file_missing_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let environment = environment(folder.path());
    fill_cache(&environment);
    assert!(find(&environment, &mut |_| ()).is_ok());
    fs::remove_file(MODULE.folder(&environment.cache).join("kwok")).unwrap();
    assert!(matches!(find(&environment, &mut |_| ()), Err(Error::NoPrograms { .. })));
}

#[test]
fn the_linker_sets_the_version_that_is_required() {
    let version = required_version("k8s.io/kubernetes").unwrap();
    assert!(MODULE.ldflags.contains(&format!("gitVersion={version} ")), "{version}");
    let minor = version.split('.').nth(1).unwrap();
    assert!(MODULE.ldflags.contains(&format!("gitMinor={minor} ")), "{version}");
    assert_eq!(required_version("k8s.io/nothing"), None);
}

#[test]
fn every_source_file_of_the_module_is_carried_along() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/control-plane");
    let mut present = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                present.push(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    present.sort();
    let mut carried: Vec<_> = MODULE.files.iter().map(|(name, _)| (*name).to_owned()).collect();
    carried.sort();
    assert_eq!(carried, present);
}
