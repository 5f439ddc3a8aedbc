//! The direction of dependencies: pure crates do not use the world, nor the world the products. Products are used by
//! `cli` alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// The crates of ours that each crate uses outside its tests, no more and no fewer. A crate that is not listed fails the
/// check: decide its place in the architecture first (`ARCHITECTURE.md`, code map).
const USES: &[(&str, &[&str])] = &[
    // pure
    ("backoff", &[]),
    ("diag", &[]),
    ("manifest", &["diag"]),
    ("fields", &["diag", "manifest"]),
    ("ownership", &["diag", "manifest", "fields"]),
    ("plan", &["diag", "manifest", "fields", "ownership"]),
    ("readiness", &["diag", "manifest", "fields"]),
    ("operations", &["backoff", "diag"]),
    ("composition", &["backoff", "diag", "manifest", "fields", "ownership", "plan", "readiness"]),
    // world
    ("cluster", &["backoff", "diag", "manifest", "readiness"]),
    ("tfplugin", &["diag"]),
    ("functions", &["backoff", "diag", "composition"]),
    ("oraclecloud", &["diag", "operations"]),
    ("oraclecloud-emulator", &["oraclecloud"]),
    ("sandbox", &["diag"]),
    // products
    ("provider", &["diag", "manifest", "fields", "ownership", "plan", "readiness", "cluster", "tfplugin"]),
    (
        "operator",
        &[
            "backoff",
            "diag",
            "manifest",
            "ownership",
            "plan",
            "readiness",
            "operations",
            "composition",
            "cluster",
            "functions",
            "oraclecloud",
        ],
    ),
    ("ui", &["diag"]),
    (
        "cli",
        &[
            "diag",
            "manifest",
            "fields",
            "ownership",
            "plan",
            "readiness",
            "operations",
            "composition",
            "cluster",
            "functions",
            "oraclecloud",
            "oraclecloud-emulator",
            "sandbox",
            "tfplugin",
            "provider",
            "operator",
            "ui",
        ],
    ),
    // development
    ("testkit", &["sandbox"]),
    (
        "bench",
        &[
            "diag",
            "manifest",
            "fields",
            "ownership",
            "composition",
            "cluster",
            "functions",
            "oraclecloud-emulator",
            "sandbox",
            "testkit",
        ],
    ),
    ("xtask", &["sandbox"]),
];

/// Outside dependencies that no pure crate may have: they do I/O, or know the time.
const IMPURE: &[&str] = &["tokio", "kube", "k8s-openapi", "tonic", "hyper", "rustls", "rustix", "tempfile"];
/// Kubernetes' types change with every release of kube; only these crates name them.
const MAY_NAME_KUBE: &[&str] = &["cluster", "operator", "sandbox", "testkit", "bench"];
const PURE: &[&str] =
    &["backoff", "diag", "manifest", "fields", "ownership", "plan", "readiness", "operations", "composition"];

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let uses = direct_uses(root)?;
    let ours: BTreeSet<&str> = uses.keys().map(String::as_str).collect();
    let mut findings = Vec::new();
    for (name, dependencies) in &uses {
        let Some((_, listed)) = USES.iter().find(|(listed, _)| listed == name) else {
            findings.push(format!(
                "crate {name} has no place in the architecture: list it in xtask/src/tidy/layers.rs"
            ));
            continue;
        };
        for dependency in dependencies {
            if ours.contains(dependency.as_str()) && !listed.contains(&dependency.as_str()) {
                findings.push(format!("crate {name} uses {dependency}, which is above or beside it"));
            }
            if matches!(dependency.as_str(), "kube" | "k8s-openapi")
                && !MAY_NAME_KUBE.contains(&name.as_str())
            {
                findings.push(format!("crate {name} uses {dependency}: go through the crate cluster"));
            }
            if PURE.contains(&name.as_str()) && IMPURE.contains(&dependency.as_str()) {
                findings.push(format!("crate {name} is pure and uses {dependency}: pass values in instead"));
            }
        }
        findings.extend(listed.iter().filter(|listed| !dependencies.contains(**listed)).map(|listed| {
            format!("xtask/src/tidy/layers.rs lists {listed} for crate {name}, which does not use it")
        }));
    }
    Ok(findings)
}

/// What every crate of the workspace names as a dependency of its library or program; tests may use more.
fn direct_uses(root: &Path) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root)
        .output()
        .context("starting cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).context("reading cargo metadata")?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    packages
        .iter()
        .map(|package| {
            let name = package["name"].as_str().context("a package without a name")?;
            let dependencies =
                package["dependencies"].as_array().context("a package without dependencies")?;
            let normal = dependencies.iter().filter(|dependency| dependency["kind"].is_null());
            Ok((name.to_owned(), normal.filter_map(|it| it["name"].as_str()).map(str::to_owned).collect()))
        })
        .collect()
}
