//! CompositeResourceDefinitions: which kinds of XRs and claims there are.

mod check;

use std::collections::BTreeMap;

use diag::Diagnostic;
use manifest::{GroupVersionKind, KindError};
use serde::Deserialize;
use serde_json::Value;

use crate::composite::{Layout, UpdatePolicy};
use crate::protocol::Object;
use crate::read::{self, NameRef};
use crate::{codes, object};

/// An XRD that makes sense.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The object it was read from.
    pub object: Object,
    /// What it defines.
    pub spec: DefinitionSpec,
    /// The scope of its XRs, with the default of the version it is written in.
    pub scope: Scope,
    /// The kind of its XRs in the referenceable version.
    pub composite: GroupVersionKind,
    /// The kind of its claims in the referenceable version, if it offers any.
    pub claim: Option<GroupVersionKind>,
}

/// The `spec` of an XRD.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionSpec {
    /// The API group of XR and claim.
    pub group: String,
    /// What the XR is called.
    pub names: Names,
    /// The scope as written.
    scope: Option<Scope>,
    /// What the claim is called, if there is one.
    pub claim_names: Option<Names>,
    /// The connection details that are published; none means all.
    #[serde(default)]
    pub connection_secret_keys: Vec<String>,
    /// How versions are converted, as a CustomResourceDefinition has it.
    pub conversion: Option<Value>,
    /// What happens to an XR when its claim is deleted, unless the claim decides.
    pub default_composite_delete_policy: Option<DeletePolicy>,
    /// The Composition of XRs that name and select none.
    pub default_composition_ref: Option<NameRef>,
    /// The revision selector of XRs that have none.
    pub default_composition_revision_selector: Option<LabelSelector>,
    /// Whether XRs follow new revisions, unless they decide themselves.
    pub default_composition_update_policy: Option<UpdatePolicy>,
    /// The Composition all XRs use.
    pub enforced_composition_ref: Option<NameRef>,
    /// Labels and annotations for the generated CRDs.
    #[serde(default)]
    pub metadata: DefinitionMetadata,
    /// The versions.
    pub versions: Vec<Version>,
}

/// What a kind is called, as in a CustomResourceDefinition.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Names {
    /// In URLs.
    pub plural: String,
    /// In objects.
    pub kind: String,
    /// On the command line.
    pub singular: Option<String>,
    /// In lists.
    pub list_kind: Option<String>,
    /// On the command line of people in a hurry.
    #[serde(default)]
    pub short_names: Vec<String>,
    /// Groups of kinds it is listed with.
    #[serde(default)]
    pub categories: Vec<String>,
}

/// The scope of the XRs of an XRD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Scope {
    /// In a namespace, composing there only.
    Namespaced,
    /// In no namespace, composing anywhere.
    Cluster,
    /// Like `Cluster`, with claims and connection secrets and the engine's fields directly under `spec`.
    LegacyCluster,
}

impl Scope {
    /// Where XRs of this scope keep the engine's fields.
    pub const fn layout(self) -> Layout {
        match self {
            Self::LegacyCluster => Layout::Legacy,
            Self::Namespaced | Self::Cluster => Layout::Modern,
        }
    }
}

/// What happens to an XR when its claim is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum DeletePolicy {
    /// It is deleted while the claim is gone already.
    Background,
    /// The claim goes when it is gone.
    Foreground,
}

impl DeletePolicy {
    /// The policy as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
        }
    }
}

/// Labels an object has to carry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// All of them.
    #[serde(default)]
    pub match_labels: BTreeMap<String, String>,
}

/// Labels and annotations for the generated CRDs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct DefinitionMetadata {
    /// Added to the XRD's own labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The annotations; the XRD's own stay with it.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

/// One version of the API an XRD defines.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// For instance `v1alpha1`.
    pub name: String,
    /// Whether it is the one Compositions refer to, and the one stored.
    pub referenceable: bool,
    /// Whether the API server serves it.
    pub served: bool,
    /// Whether people should stop using it.
    #[serde(default)]
    pub deprecated: bool,
    pub deprecation_warning: Option<String>,
    /// What objects look like.
    pub schema: Option<VersionSchema>,
    /// Columns of `kubectl get`, as in a CustomResourceDefinition.
    #[serde(default)]
    pub additional_printer_columns: Vec<Value>,
    /// Subresources beside status.
    #[serde(default)]
    pub subresources: Subresources,
}

/// The schema of a version.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct VersionSchema {
    /// OpenAPI v3, as in a CustomResourceDefinition.
    #[serde(rename = "openAPIV3Schema", default)]
    pub open_api_v3: Object,
}

/// Subresources beside status.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Subresources {
    /// Scale, as in a CustomResourceDefinition.
    pub scale: Option<Value>,
}

const GROUP: &str = "apiextensions.crossplane.io";

impl Definition {
    /// Reads an XRD of version v1 or v2. Errors come together; a definition that is returned may carry warnings.
    pub fn read(object: &Object) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        let (v1, v2) = (format!("{GROUP}/v1"), format!("{GROUP}/v2"));
        let read = read::spec(object, "CompositeResourceDefinition", &[&v1, &v2]);
        let spec: DefinitionSpec = read.map_err(|diagnostic| vec![*diagnostic])?;
        let is_v2 = object.get("apiVersion").and_then(Value::as_str) == Some(v2.as_str());
        let default = if is_v2 { Scope::Namespaced } else { Scope::LegacyCluster };
        let scope = spec.scope.unwrap_or(default);
        let found = spec.check(object, scope);
        if found.iter().any(Diagnostic::is_error) {
            return Err(found);
        }
        let composite = spec.kind("spec.names", &spec.names, object)?;
        let claim = spec.claim_names.as_ref().map(|names| spec.kind("spec.claimNames", names, object));
        let claim = claim.transpose()?;
        Ok((Self { object: object.clone(), spec, scope, composite, claim }, found))
    }

    /// What an XRD has defined whose spec no longer makes sense: group, names and scope, which cannot be changed, say what its CRDs
    /// are called. Which version they have, only these say. Nothing if it never can have defined anything.
    pub fn salvaged(object: &Object) -> Option<Self> {
        let written = object.get("spec")?;
        let lasting = || {
            let keys = ["group", "names", "claimNames", "scope"];
            let kept = keys.into_iter().filter_map(|key| Some((key.to_owned(), written.get(key)?.clone())));
            let versions = ("versions".to_owned(), Value::Array(Vec::new()));
            Value::Object(kept.chain([versions]).collect())
        };
        let spec = DefinitionSpec::deserialize(written).or_else(|_| DefinitionSpec::deserialize(lasting()));
        let mut spec = spec.ok()?;
        if !spec.was_possible(object) {
            return None;
        }
        let is_v2 = object::text(object, &["apiVersion"]) == Some(&format!("{GROUP}/v2"));
        let scope = spec.scope.unwrap_or(if is_v2 { Scope::Namespaced } else { Scope::LegacyCluster });
        let version = spec.versions.iter().find(|version| version.referenceable);
        let version = version.map_or_else(|| "v1".to_owned(), |version| version.name.clone());
        let kind = |names: &Names| {
            let api_version = format!("{}/{version}", spec.group).parse().ok()?;
            GroupVersionKind::new(api_version, &names.kind).ok()
        };
        let composite = kind(&spec.names)?;
        let claim = spec.claim_names.as_ref().and_then(kind);
        if claim.is_none() {
            spec.claim_names = None;
        }
        Some(Self { object: object.clone(), spec, scope, composite, claim })
    }
}

impl DefinitionSpec {
    /// The kind that `names`, found at `field`, give to objects of the referenceable version.
    fn kind(&self, field: &str, names: &Names, object: &Object) -> Result<GroupVersionKind, Vec<Diagnostic>> {
        let version = self.versions.iter().find(|version| version.referenceable);
        let version = version.map_or("", |version| version.name.as_str());
        let api_version = format!("{}/{version}", self.group);
        let kind = || GroupVersionKind::new(api_version.parse().map_err(KindError::from)?, &names.kind);
        kind().map_err(|error| {
            let summary = format!("{:?} of {api_version:?} is not a kind: {error}", names.kind);
            let name = object::name(object).unwrap_or_default();
            let diagnostic = Diagnostic::error(codes::DEFINITION_NAMES, summary);
            vec![
                diagnostic
                    .object(format!("CompositeResourceDefinition {name}"))
                    .field(format!("{field}.kind")),
            ]
        })
    }
}

#[cfg(test)]
mod tests;
