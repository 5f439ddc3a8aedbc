//! CompositeResourceDefinitions: which kinds of XRs and claims there are.

use std::collections::{BTreeMap, BTreeSet};

use diag::Diagnostic;
use serde::Deserialize;
use serde_json::Value;

use crate::codes;
use crate::composite::{Layout, UpdatePolicy};
use crate::object::{self, TypeRef};
use crate::read::{self, NameRef};
use crate::run::Object;

/// An XRD that makes sense.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The object it was read from.
    pub object: Object,
    /// What it defines.
    pub spec: DefinitionSpec,
    /// The scope of its XRs, with the default of the version it is written in.
    pub scope: Scope,
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
    /// What happens to an XR when its claim is deleted, unless the claim says so.
    pub default_composite_delete_policy: Option<DeletePolicy>,
    /// The Composition of XRs that name and select none.
    pub default_composition_ref: Option<NameRef>,
    /// The revision selector of XRs that have none.
    pub default_composition_revision_selector: Option<LabelSelector>,
    /// Whether XRs follow new revisions, unless they say so.
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
    /// What to tell those who do.
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
        let is_v2 = TypeRef::of(object).api_version == v2;
        let default = if is_v2 { Scope::Namespaced } else { Scope::LegacyCluster };
        let scope = spec.scope.unwrap_or(default);
        let definition = Self { object: object.clone(), spec, scope };
        let found = definition.check();
        if found.iter().any(Diagnostic::is_error) { Err(found) } else { Ok((definition, found)) }
    }

    /// The type of its XRs in the referenceable version.
    pub fn composite_type(&self) -> TypeRef {
        self.type_of(&self.spec.names)
    }

    /// The type of its claims in the referenceable version, if it offers any.
    pub fn claim_type(&self) -> Option<TypeRef> {
        self.spec.claim_names.as_ref().map(|names| self.type_of(names))
    }

    fn type_of(&self, names: &Names) -> TypeRef {
        let version = self.spec.versions.iter().find(|version| version.referenceable);
        let version = version.map_or("", |version| version.name.as_str());
        TypeRef::new(format!("{}/{version}", self.spec.group), &names.kind)
    }

    fn check(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        self.check_names(&mut found);
        self.check_scope(&mut found);
        self.check_versions(&mut found);
        self.check_conversion(&mut found);
        let name = format!("CompositeResourceDefinition {}", object::name(&self.object).unwrap_or_default());
        found.into_iter().map(|diagnostic| diagnostic.object(&name)).collect()
    }

    fn check_names(&self, found: &mut Vec<Diagnostic>) {
        let spec = &self.spec;
        let expected = format!("{}.{}", spec.names.plural, spec.group);
        if object::name(&self.object) != Some(expected.as_str()) {
            let name = object::name(&self.object).unwrap_or_default();
            found.push(
                Diagnostic::error(codes::DEFINITION_NAME, format!("the name {name:?} is not {expected:?}"))
                    .field("metadata.name")
                    .hint(format!("Name it {expected:?}, after its plural and group.")),
            );
        }
        let all = [("spec.names", Some(&spec.names)), ("spec.claimNames", spec.claim_names.as_ref())];
        for (path, names) in all.into_iter().filter_map(|(path, names)| Some((path, names?))) {
            for (key, name) in [("plural", Some(&names.plural)), ("singular", names.singular.as_ref())] {
                if let Some(name) = name.filter(|name| name.bytes().any(|byte| byte.is_ascii_uppercase())) {
                    found.push(
                        Diagnostic::error(
                            codes::DEFINITION_NAMES,
                            format!("the {key} name {name:?} is not lower case"),
                        )
                        .field(format!("{path}.{key}"))
                        .hint(format!("Write {:?}.", name.to_ascii_lowercase())),
                    );
                }
            }
        }
        if let Some((key, name)) = self.claim_name_conflict() {
            found.push(
                Diagnostic::error(codes::DEFINITION_NAMES, format!("{name:?} is the name of the XR already"))
                    .field(format!("spec.claimNames.{key}"))
                    .hint("Give claim and XR different names, for instance Database and XDatabase."),
            );
        }
    }

    /// The first name that claim and XR have in common.
    pub(crate) fn claim_name_conflict(&self) -> Option<(&'static str, &str)> {
        let (xr, claim) = (&self.spec.names, self.spec.claim_names.as_ref()?);
        let pairs = [
            ("kind", Some(&claim.kind), Some(&xr.kind)),
            ("plural", Some(&claim.plural), Some(&xr.plural)),
            ("singular", claim.singular.as_ref(), xr.singular.as_ref()),
            ("listKind", claim.list_kind.as_ref(), xr.list_kind.as_ref()),
        ];
        let same = |(key, claim, xr): (&'static str, Option<&'_ String>, Option<&String>)| {
            claim.filter(|claim| !claim.is_empty() && Some(*claim) == xr).map(|_| key)
        };
        let key = pairs.into_iter().find_map(same)?;
        let name = match key {
            "kind" => &claim.kind,
            "plural" => &claim.plural,
            "singular" => claim.singular.as_ref()?,
            _ => claim.list_kind.as_ref()?,
        };
        Some((key, name))
    }

    fn check_scope(&self, found: &mut Vec<Diagnostic>) {
        if self.scope == Scope::LegacyCluster {
            return;
        }
        let mut refuse = |field: &str, what: &str| {
            let summary = format!("{what} exist only with scope LegacyCluster, not {:?}", self.scope);
            let hint = "Remove the field, or use apiVersion apiextensions.crossplane.io/v1 with scope: LegacyCluster.";
            found.push(Diagnostic::error(codes::DEFINITION_SCOPE, summary).field(field).hint(hint));
        };
        if self.spec.claim_names.is_some() {
            refuse("spec.claimNames", "claims");
        }
        if !self.spec.connection_secret_keys.is_empty() {
            refuse("spec.connectionSecretKeys", "connection secrets");
        }
    }

    fn check_versions(&self, found: &mut Vec<Diagnostic>) {
        let versions = &self.spec.versions;
        let mut names = BTreeSet::new();
        for (at, version) in versions.iter().enumerate() {
            let field = format!("spec.versions[{at}]");
            if !names.insert(&version.name) {
                let summary = format!("there is another version {:?}", version.name);
                found.push(
                    Diagnostic::error(codes::DEFINITION_VERSIONS, summary).field(format!("{field}.name")),
                );
            }
            if version.deprecation_warning.as_ref().is_some_and(|warning| warning.chars().count() > 256) {
                let summary = "the deprecation warning is longer than 256 characters";
                let field = format!("{field}.deprecationWarning");
                found.push(Diagnostic::error(codes::DEFINITION_VERSIONS, summary).field(field));
            }
            match &version.schema {
                Some(schema) => crate::crd::dropped_keywords(&schema.open_api_v3, &field, found),
                None => found.push(
                    Diagnostic::error(
                        codes::DEFINITION_SCHEMA,
                        format!("version {:?} has no schema", version.name),
                    )
                    .field(format!("{field}.schema"))
                    .hint("Say what spec and status look like, under schema.openAPIV3Schema."),
                ),
            }
        }
        let referenceable = versions.iter().filter(|version| version.referenceable).count();
        if referenceable != 1 {
            let summary = format!("{referenceable} versions are referenceable instead of one");
            let hint = "Set referenceable: true on the version Compositions are written for, and false on the others.";
            found.push(
                Diagnostic::error(codes::DEFINITION_VERSIONS, summary).field("spec.versions").hint(hint),
            );
        }
    }

    fn check_conversion(&self, found: &mut Vec<Diagnostic>) {
        let Some(conversion) = &self.spec.conversion else { return };
        let strategy = conversion.get("strategy").and_then(Value::as_str);
        if strategy != Some("Webhook") || conversion.get("webhook").is_none() {
            let summary = "a conversion needs strategy Webhook and a webhook";
            let hint = "Remove spec.conversion if all versions have the same fields.";
            found.push(
                Diagnostic::error(codes::DEFINITION_CONVERSION, summary).field("spec.conversion").hint(hint),
            );
        }
    }
}

#[cfg(test)]
mod tests;
