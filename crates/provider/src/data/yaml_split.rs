//! `k8sconnect_yaml_split`: manifests as a map, for `for_each`.

use super::division::{Division, Output};

pub(crate) const YAML_SPLIT: Division = Division {
    type_name: "k8sconnect_yaml_split",
    about: "Divides YAML with many documents into single manifests, with keys that do not depend on their order.",
    ambiguous: "Manifest Generation Error",
    outputs: &[MANIFESTS],
    output_of: |_| MANIFESTS.name,
};

const MANIFESTS: Output = Output {
    name: "manifests",
    about: "The manifests as they were written, by `[group.]kind[.namespace].name`: `apps.deployment.shop.web`.",
};
