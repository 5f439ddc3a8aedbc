//! Compositions: which functions run, in which order and with what.

use std::collections::{BTreeMap, BTreeSet};

use diag::Diagnostic;
use manifest::GroupVersionKind;
use serde::Deserialize;

use crate::protocol::{Match, Object, ResourceSelector, SchemaSelector};
use crate::read::{self, NameRef, wrong};
use crate::{codes, object};

/// A Composition or CompositionRevision that makes sense.
#[derive(Clone, Debug, PartialEq)]
pub struct Composition {
    /// The object it was read from.
    pub object: Object,
    pub spec: CompositionSpec,
}

/// The `spec` of a Composition, and of its revisions.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompositionSpec {
    /// The kind of XR it is for.
    pub composite_type_ref: GroupVersionKind,
    /// Always `Pipeline`.
    mode: Option<String>,
    /// The steps, in order.
    #[serde(default)]
    pub pipeline: Vec<Step>,
    /// Where legacy XRs without a secret of their own write connection details.
    pub write_connection_secrets_to_namespace: Option<String>,
    /// The number of a revision; Compositions have none.
    #[serde(default)]
    pub revision: i64,
}

/// One step of a pipeline.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Its name.
    pub step: String,
    /// The function it runs.
    pub function_ref: NameRef,
    /// What the function is given as input.
    pub input: Option<Object>,
    /// Credentials for the function.
    #[serde(default)]
    pub credentials: Vec<StepCredentials>,
    /// What the function is given at its first call.
    #[serde(default)]
    pub requirements: StepRequirements,
}

/// Credentials of a step.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepCredentials {
    /// The name under which the function gets them.
    pub name: String,
    /// Where they come from.
    pub source: CredentialsSource,
    /// The Secret, for source `Secret`.
    pub secret_ref: Option<SecretRef>,
}

/// Where credentials come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum CredentialsSource {
    /// From nowhere.
    None,
    /// From a Secret.
    Secret,
}

/// A Secret by namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SecretRef {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// What a step's function is given at its first call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepRequirements {
    /// Objects.
    #[serde(default)]
    required_resources: Vec<RequiredResource>,
    /// Schemas.
    #[serde(default)]
    required_schemas: Vec<RequiredSchema>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequiredResource {
    requirement_name: String,
    api_version: String,
    kind: String,
    namespace: Option<String>,
    name: Option<String>,
    match_labels: Option<BTreeMap<String, String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequiredSchema {
    requirement_name: String,
    #[serde(flatten)]
    selector: SchemaSelector,
}

impl StepRequirements {
    /// The objects, by the name under which the function gets them.
    pub fn resources(&self) -> BTreeMap<String, ResourceSelector> {
        let selector = |required: &RequiredResource| ResourceSelector {
            api_version: required.api_version.clone(),
            kind: required.kind.clone(),
            matching: match (&required.name, &required.match_labels) {
                (Some(name), _) => Match::Name(name.clone()),
                (None, Some(labels)) => Match::Labels(labels.clone()),
                (None, None) => Match::All,
            },
            namespace: required.namespace.clone(),
        };
        self.required_resources
            .iter()
            .map(|required| (required.requirement_name.clone(), selector(required)))
            .collect()
    }

    /// The schemas, by the name under which the function gets them.
    pub fn schemas(&self) -> BTreeMap<String, SchemaSelector> {
        let named =
            |required: &RequiredSchema| (required.requirement_name.clone(), required.selector.clone());
        self.required_schemas.iter().map(named).collect()
    }
}

const API_VERSION: &str = "apiextensions.crossplane.io/v1";

impl Composition {
    /// Reads a Composition.
    pub fn read(object: &Object) -> Result<Self, Vec<Diagnostic>> {
        Self::read_kind(object, "Composition")
    }

    /// Reads a CompositionRevision, which is a Composition with a number.
    pub fn read_revision(object: &Object) -> Result<Self, Vec<Diagnostic>> {
        Self::read_kind(object, "CompositionRevision")
    }

    fn read_kind(object: &Object, kind: &str) -> Result<Self, Vec<Diagnostic>> {
        let spec: CompositionSpec =
            read::spec(object, kind, &[API_VERSION]).map_err(|diagnostic| vec![*diagnostic])?;
        let found = check(&spec);
        if found.is_empty() {
            return Ok(Self { object: object.clone(), spec });
        }
        let name = format!("{kind} {}", object::name(object).unwrap_or_default());
        Err(found.into_iter().map(|diagnostic| diagnostic.object(&name)).collect())
    }
}

fn check(spec: &CompositionSpec) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if let Some(mode) = spec.mode.as_deref().filter(|mode| *mode != "Pipeline") {
        let summary = format!("mode {mode:?} is not supported");
        let hint = "Use mode: Pipeline; function-patch-and-transform runs what mode Resources did.";
        found.push(wrong(codes::COMPOSITION_MODE, "spec.mode", summary).hint(hint));
    }
    // The API server demands at least one step; rendering an empty pipeline deletes what is observed.
    if spec.pipeline.len() > 99 {
        let summary = format!("the pipeline has {} steps instead of 1 to 99", spec.pipeline.len());
        found.push(wrong(codes::COMPOSITION_PIPELINE, "spec.pipeline", summary));
    }
    let mut steps = BTreeSet::new();
    for (at, step) in spec.pipeline.iter().enumerate() {
        let field = format!("spec.pipeline[{at}]");
        if !steps.insert(&step.step) {
            let summary = format!("duplicate step name {:?}", step.step);
            let hint = "Give every step its own name: conditions and events refer to steps by name.";
            found.push(wrong(codes::COMPOSITION_PIPELINE, format!("{field}.step"), summary).hint(hint));
        }
        check_credentials(step, &field, &mut found);
        check_requirements(&step.requirements, &field, &mut found);
    }
    found
}

fn check_credentials(step: &Step, field: &str, found: &mut Vec<Diagnostic>) {
    let mut names = BTreeSet::new();
    for (at, credentials) in step.credentials.iter().enumerate() {
        let field = |part: &str| format!("{field}.credentials[{at}].{part}");
        if !names.insert(&credentials.name) {
            let summary = format!("duplicate credentials {:?} in this step", credentials.name);
            found.push(wrong(codes::COMPOSITION_CREDENTIALS, field("name"), summary));
        }
        if credentials.source == CredentialsSource::Secret && credentials.secret_ref.is_none() {
            let summary = format!("credentials {:?} name no Secret", credentials.name);
            let hint = "Add secretRef with namespace and name.";
            found.push(wrong(codes::COMPOSITION_CREDENTIALS, field("secretRef"), summary).hint(hint));
        }
    }
}

fn check_requirements(requirements: &StepRequirements, field: &str, found: &mut Vec<Diagnostic>) {
    let resources = &requirements.required_resources;
    let schemas = &requirements.required_schemas;
    let lists: [(&str, Vec<&String>); 2] = [
        ("requiredResources", resources.iter().map(|required| &required.requirement_name).collect()),
        ("requiredSchemas", schemas.iter().map(|required| &required.requirement_name).collect()),
    ];
    for (list, names) in lists {
        let mut seen = BTreeSet::new();
        for (at, name) in names.into_iter().enumerate().filter(|(_, name)| !seen.insert(*name)) {
            let summary = format!("duplicate requirement {name:?} in this step");
            let field = format!("{field}.requirements.{list}[{at}].requirementName");
            found.push(wrong(codes::COMPOSITION_REQUIREMENT, field, summary));
        }
    }
    for (at, required) in resources.iter().enumerate() {
        if required.name.is_some() && required.match_labels.is_some() {
            let summary =
                format!("requirement {:?} selects by both name and labels", required.requirement_name);
            let field = format!("{field}.requirements.requiredResources[{at}]");
            let hint = "Keep either name or matchLabels.";
            found.push(wrong(codes::COMPOSITION_REQUIREMENT, field, summary).hint(hint));
        }
    }
}

#[cfg(test)]
mod tests;
