//! Which kind is meant by what people type: `deploy`, `deployment`, `Deployments`, `deploy.apps`, `deployments.v1.apps`.

pub(super) mod version;

use cluster::{Resource, Selection, Session};
use diag::Diagnostic;
use serde_json::Value;

use crate::codes;
use crate::exit::Failure;

/// The kind that `typed` names. Short names of custom kinds stand in their CRDs, which are read only when nothing else
/// goes by that name.
pub(super) async fn resolve(session: &Session, typed: &str) -> Result<Resource, Failure> {
    let resources = session.resources().await.map_err(|error| error.diagnostic("Connect"))?;
    let mut named: Vec<Named> = resources.into_iter().map(Named::built_in).collect();
    if let Some(found) = find(typed, &named) {
        return Ok(found.resource.clone());
    }
    let crd = "apiextensions.k8s.io/v1/CustomResourceDefinition".parse().expect("a fixed kind");
    // Without the right to read CRDs, their short names stay unknown; the long ones were tried already.
    let crds = session.list(&crd, &Selection::default()).await.map(|listing| listing.items);
    for crd in crds.unwrap_or_default() {
        for named in named.iter_mut().filter(|named| named.is_of(&crd)) {
            named.learn(&crd);
        }
    }
    match find(typed, &named) {
        Some(found) => Ok(found.resource.clone()),
        None => Err(unknown(typed, &named).into()),
    }
}

/// The short names of Kubernetes' own kinds, which discovery lists and `cluster` does not keep: short name, plural, group.
const SHORT: &[(&str, &str, &str)] = &[
    ("cm", "configmaps", ""),
    ("cs", "componentstatuses", ""),
    ("ep", "endpoints", ""),
    ("ev", "events", ""),
    ("limits", "limitranges", ""),
    ("no", "nodes", ""),
    ("ns", "namespaces", ""),
    ("po", "pods", ""),
    ("pv", "persistentvolumes", ""),
    ("pvc", "persistentvolumeclaims", ""),
    ("quota", "resourcequotas", ""),
    ("rc", "replicationcontrollers", ""),
    ("sa", "serviceaccounts", ""),
    ("svc", "services", ""),
    ("crd", "customresourcedefinitions", "apiextensions.k8s.io"),
    ("crds", "customresourcedefinitions", "apiextensions.k8s.io"),
    ("deploy", "deployments", "apps"),
    ("ds", "daemonsets", "apps"),
    ("rs", "replicasets", "apps"),
    ("sts", "statefulsets", "apps"),
    ("hpa", "horizontalpodautoscalers", "autoscaling"),
    ("cj", "cronjobs", "batch"),
    ("csr", "certificatesigningrequests", "certificates.k8s.io"),
    ("ev", "events", "events.k8s.io"),
    ("ing", "ingresses", "networking.k8s.io"),
    ("ip", "ipaddresses", "networking.k8s.io"),
    ("netpol", "networkpolicies", "networking.k8s.io"),
    ("pdb", "poddisruptionbudgets", "policy"),
    ("pc", "priorityclasses", "scheduling.k8s.io"),
    ("sc", "storageclasses", "storage.k8s.io"),
    ("vac", "volumeattributesclasses", "storage.k8s.io"),
];

/// A kind and everything it goes by, in small letters.
#[derive(Debug)]
struct Named {
    resource: Resource,
    names: Vec<String>,
}

impl Named {
    fn built_in(resource: Resource) -> Self {
        let mut names = vec![resource.plural.clone(), resource.gvk.kind().to_lowercase()];
        let shorts = SHORT
            .iter()
            .filter(|(_, plural, group)| *plural == resource.plural && *group == resource.gvk.group());
        names.extend(shorts.map(|(short, ..)| (*short).to_owned()));
        Self { resource, names }
    }

    fn is_of(&self, crd: &Value) -> bool {
        crd["spec"]["group"] == self.resource.gvk.group()
            && crd["spec"]["names"]["plural"] == self.resource.plural.as_str()
    }

    fn learn(&mut self, crd: &Value) {
        let names = &crd["spec"]["names"];
        let shorts = names["shortNames"].as_array().into_iter().flatten();
        let further = shorts.chain([&names["singular"]]).filter_map(Value::as_str);
        self.names.extend(further.map(str::to_lowercase));
    }

    /// How well this kind suits somebody who does not say which: Kubernetes' own before others, stable versions first.
    fn rank(&self) -> impl Ord + use<'_> {
        let group = self.resource.gvk.group();
        let ours = match group {
            "" => 0,
            _ if !group.contains('.') || group.ends_with(".k8s.io") => 1,
            _ => 2,
        };
        (ours, group, version::rank(self.resource.gvk.version()))
    }
}

/// The best kind that `typed` names: `NAME`, `NAME.GROUP` or `NAME.VERSION.GROUP`.
fn find<'n>(typed: &str, named: &'n [Named]) -> Option<&'n Named> {
    let typed = typed.to_lowercase();
    let is_meant = |named: &&Named| {
        let gvk = &named.resource.gvk;
        named.names.iter().any(|name| {
            let Some(rest) = typed.strip_prefix(name.as_str()) else { return false };
            match rest.strip_prefix('.') {
                None => rest.is_empty(),
                Some(place) => place == gvk.group() || place == format!("{}.{}", gvk.version(), gvk.group()),
            }
        })
    };
    named.iter().filter(is_meant).min_by_key(|named| named.rank())
}

/// How alike two names must be for one to be a slip of the other; the measure and the limit that clap has.
const ALIKE: f64 = 0.8;

fn unknown(typed: &str, named: &[Named]) -> Diagnostic {
    let name = typed.split('.').next().unwrap_or(typed).to_lowercase();
    let mut close: Vec<(f64, &Named)> = Vec::new();
    for candidate in named {
        let alike = candidate.names.iter().map(|own| strsim::jaro(&name, own)).fold(0.0, f64::max);
        if alike > ALIKE {
            close.push((alike, candidate));
        }
    }
    close.sort_by(|(left, one), (right, other)| {
        right.total_cmp(left).then_with(|| one.rank().cmp(&other.rank()))
    });
    let diagnostic = Diagnostic::error(codes::KIND_UNKNOWN, format!("the cluster has no kind {typed}"));
    match close.first() {
        Some((_, likely)) => {
            let gvk = &likely.resource.gvk;
            diagnostic.hint(format!("did you mean {} ({})?", gvk.kind(), gvk.api_version()))
        }
        None => diagnostic.hint("`kubectl api-resources` lists the kinds that there are"),
    }
}

#[cfg(test)]
mod tests;
