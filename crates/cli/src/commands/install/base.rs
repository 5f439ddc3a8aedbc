//! The manifests in `deploy/`, which this program contains, and which installation each is part of.

use std::ffi::OsStr;
use std::path::Path;

use diag::Source;
use manifest::Limits;
use operator::Half;
use serde_json::{Value, json};

use super::Installation;
use crate::args::install::NAMESPACE;

/// A file in `deploy/`.
pub(super) struct Part {
    name: &'static str,
    text: &'static str,
    /// Whether an installation has it.
    pub(super) is_chosen: fn(&Installation) -> bool,
}

macro_rules! part {
    ($name:literal, $is_chosen:expr) => {
        Part {
            name: concat!("deploy/", $name),
            text: include_str!(concat!("../../../../../deploy/", $name)),
            is_chosen: $is_chosen,
        }
    };
}

/// All but the CRDs, which `operator::install` has.
pub(super) const PARTS: &[Part] = &[
    part!("namespace.yaml", |_| true),
    part!("service-account.yaml", |_| true),
    part!("roles-common.yaml", |_| true),
    part!("roles-oci.yaml", |it| it.controllers.contains(&Half::Oci)),
    part!("roles-oci-kinds.yaml", |it| it.controllers.contains(&Half::Oci)),
    part!("roles-composition.yaml", |it| it.controllers.contains(&Half::Composition)),
    part!("requests.yaml", |it| it.controllers.contains(&Half::Composition)),
    part!("roles-definitions.yaml", |it| it.grants_defined_kinds),
    part!("roles-users.yaml", |it| it.user_roles),
    part!("roles-impersonation.yaml", |it| it.tenant_account.is_some()),
    part!("deployment.yaml", |_| true),
    // A budget for a single replica would block every drain.
    part!("disruption-budget.yaml", |it| it.replicas > 1),
    part!("network-policy.yaml", |it| it.network_policy),
    part!("monitoring/alerts.yaml", |it| it.monitoring),
    part!("monitoring/dashboard.json", |it| it.monitoring),
    part!("monitoring/leader.yaml", |it| it.monitoring),
    part!("monitoring/network-policy.yaml", |it| it.monitoring && it.network_policy),
    part!("monitoring/roles.yaml", |it| it.monitoring),
    part!("monitoring/scrape.yaml", |it| it.monitoring),
    part!("monitoring/service.yaml", |it| it.monitoring),
];

const PROXY: Part = part!("monitoring/proxy.yaml", |it| it.monitoring);

/// The containers that monitoring adds to the operator's pods.
pub(super) fn proxy_containers() -> Vec<Value> {
    let mut patch = PROXY.objects();
    let containers = patch.first_mut().and_then(|patch| patch.pointer_mut("/spec/template/spec/containers"));
    containers.and_then(|it| it.as_array_mut()).map(std::mem::take).expect("the patch adds containers")
}

impl Part {
    pub(super) fn objects(&self) -> Vec<Value> {
        let name = Path::new(self.name);
        if name.extension().is_some_and(|extension| extension == "json")
            && let Some(file) = name.file_name().and_then(OsStr::to_str)
        {
            return vec![dashboard(file, self.text)];
        }
        let documents = manifest::read(&Source::new(self.name, self.text), &Limits::default()).documents;
        let values = documents.into_iter().flatten().map(manifest::Document::into_value);
        values.filter(|value| !value.is_null()).collect()
    }
}

/// The same as the kustomization generates. Grafana's sidecar loads it by its label.
fn dashboard(file: &str, text: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "plimsoll-dashboard", "namespace": NAMESPACE, "labels": {"grafana_dashboard": "1"}},
        "data": {file: text},
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    #[test]
    fn every_manifest_in_deploy_is_a_part() {
        let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
        let mut files = BTreeSet::new();
        for folder in ["", "monitoring/"] {
            for entry in fs::read_dir(deploy.join(folder)).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                let is_manifest = Path::new(&name)
                    .extension()
                    .is_some_and(|extension| extension == "yaml" || extension == "json");
                if is_manifest && name != "kustomization.yaml" {
                    files.insert(format!("deploy/{folder}{name}"));
                }
            }
        }
        let parts = PARTS.iter().chain([&PROXY]).map(|part| part.name.to_owned()).collect();
        assert_eq!(files, parts);
        for part in PARTS {
            assert!(!part.objects().is_empty(), "{}", part.name);
        }
    }
}
