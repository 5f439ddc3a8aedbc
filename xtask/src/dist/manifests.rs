//! The chart and the kustomization, for people without a checkout.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::Release;
use super::tarball::Files;

pub(super) fn write(release: &Release) -> Result<Vec<PathBuf>> {
    let Release { root, version, .. } = release;
    let deploy = root.join("deploy");
    let mut chart = Files::default();
    // As `helm package` names both.
    chart.tree("plimsoll", &deploy.join("chart"), &|_| true)?;
    let folder = format!("plimsoll-deploy-{version}");
    let mut base = Files::default();
    let is_base = |path: &Path| path != deploy.join("chart");
    base.tree(&folder, &deploy, &is_base)?;
    if let Some(image) = &release.image {
        let read = |name: &str| {
            fs::read_to_string(deploy.join(name)).with_context(|| format!("reading deploy/{name}"))
        };
        chart.text("plimsoll/values.yaml", with_image(&read("chart/values.yaml")?, "repository", image)?);
        let kustomization = with_image(&read("kustomization.yaml")?, "newName", image)?;
        base.text(&format!("{folder}/kustomization.yaml"), kustomization);
    }
    let chart_file = release.out.join(format!("plimsoll-{version}.tgz"));
    chart.write_gz(&chart_file, release.time)?;
    let base_file = release.out.join(format!("{folder}.tar.gz"));
    base.write_gz(&base_file, release.time)?;
    Ok(vec![chart_file, base_file])
}

/// A file with the image that is released in place of `plimsoll`, which everybody replaces by an image of their own.
fn with_image(text: &str, field: &str, image: &str) -> Result<String> {
    let line = format!(" {field}: plimsoll\n");
    ensure!(text.matches(&line).count() == 1, "{field} is not there once");
    Ok(text.replace(&line, &format!(" {field}: {image}\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chart_and_kustomization_name_the_image_that_is_released() {
        let check = |name: &str, field: &str, expected: &str| {
            let text = fs::read_to_string(crate::root().join("deploy").join(name)).unwrap();
            let named = with_image(&text, field, "ghcr.io/example/plimsoll").unwrap();
            assert!(named.contains(expected), "{name}");
            assert!(with_image(&named, field, "again").is_err(), "{name}");
        };
        check("chart/values.yaml", "repository", "image:\n  repository: ghcr.io/example/plimsoll\n");
        check(
            "kustomization.yaml",
            "newName",
            "  - name: plimsoll\n    newName: ghcr.io/example/plimsoll\n    newTag: ",
        );
    }
}
