//! What the control plane is built from: one Go module, which is part of this crate.

use std::time::Duration;

use crate::gobuild::{Binary, Module};

/// The sources of the control plane, embedded so that an installed `plimsoll` can build it without a checkout.
pub const CONTROL_PLANE: Module<'static> = Module {
    name: "control-plane",
    files: &[
        ("go.mod", include_str!("../../../tools/control-plane/go.mod")),
        ("go.sum", include_str!("../../../tools/control-plane/go.sum")),
        ("main.go", include_str!("../../../tools/control-plane/main.go")),
        ("exitwith/stdin.go", include_str!("../../../tools/control-plane/exitwith/stdin.go")),
        ("kwok/main.go", include_str!("../../../tools/control-plane/kwok/main.go")),
    ],
    binaries: &[
        Binary {
            package: ".",
            file: "control-plane",
            links: &["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"],
        },
        Binary { package: "./kwok", file: "kwok", links: &[] },
    ],
    // Without these, `/version` and `kubectl version` report a development build.
    ldflags: "-X k8s.io/component-base/version.gitVersion=v1.36.3 \
              -X k8s.io/component-base/version.gitMajor=1 \
              -X k8s.io/component-base/version.gitMinor=36 \
              -X k8s.io/component-base/version.gitTreeState=clean",
    cold_build: Duration::from_secs(255),
};

/// The version of a Go module that the embedded sources require.
#[cfg(any(test, feature = "control-plane"))]
pub(crate) fn required_version(module: &str) -> Option<&'static str> {
    let (_, go_mod) = CONTROL_PLANE.files.iter().find(|(name, _)| *name == "go.mod")?;
    go_mod.lines().find_map(|line| line.trim().strip_prefix(module)?.strip_prefix(' '))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_linker_flags_match_the_required_version() {
        let version = required_version("k8s.io/kubernetes").unwrap();
        assert!(CONTROL_PLANE.ldflags.contains(&format!("gitVersion={version} ")), "{version}");
        let minor = version.split('.').nth(1).unwrap();
        assert!(CONTROL_PLANE.ldflags.contains(&format!("gitMinor={minor} ")), "{version}");
        assert_eq!(required_version("k8s.io/nothing"), None);
    }

    #[test]
    fn every_source_file_of_the_module_is_embedded() {
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
        let mut embedded: Vec<_> = CONTROL_PLANE.files.iter().map(|(name, _)| (*name).to_owned()).collect();
        embedded.sort();
        assert_eq!(embedded, present);
    }
}
