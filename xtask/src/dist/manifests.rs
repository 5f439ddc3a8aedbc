//! The chart and the kustomization, for people without a checkout.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::Release;
use super::tarball::Files;

pub(super) fn write(release: &Release) -> Result<Vec<PathBuf>> {
    let Release { root, version, .. } = release;
    let deploy = root.join("deploy");
    let mut chart = Files::default();
    // As `helm package` names both.
    chart.tree("plimsoll", &deploy.join("chart"), &|_| true)?;
    let chart_file = release.out.join(format!("plimsoll-{version}.tgz"));
    chart.write_gz(&chart_file, release.time)?;
    let mut base = Files::default();
    let is_base = |path: &Path| path != deploy.join("chart");
    base.tree(&format!("plimsoll-deploy-{version}"), &deploy, &is_base)?;
    let base_file = release.out.join(format!("plimsoll-deploy-{version}.tar.gz"));
    base.write_gz(&base_file, release.time)?;
    Ok(vec![chart_file, base_file])
}
