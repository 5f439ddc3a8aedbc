//! Checks of an XRD that its schema cannot make, each finding with the field and what to do.

use std::collections::BTreeSet;

use diag::Diagnostic;
use serde_json::Value;

use super::{DefinitionSpec, Scope};
use crate::protocol::Object;
use crate::read::wrong;
use crate::{codes, object};

impl DefinitionSpec {
    /// Everything that is wrong or without effect in the spec of the XRD `object`, whose XRs have `scope`.
    pub(super) fn check(&self, object: &Object, scope: Scope) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        self.check_group(&mut found);
        self.check_names(object, &mut found);
        self.check_scope(scope, &mut found);
        self.check_versions(&mut found);
        self.check_conversion(&mut found);
        let name = format!("CompositeResourceDefinition {}", object::name(object).unwrap_or_default());
        found.into_iter().map(|diagnostic| diagnostic.object(&name)).collect()
    }

    /// Whether an XRD with these names, which cannot be changed, can have been valid. Claim names that cannot, which may have been
    /// added later, are left out.
    pub(super) fn was_possible(&mut self, object: &Object) -> bool {
        let mut found = Vec::new();
        self.check_group(&mut found);
        if self.claim_name_conflict().is_some() {
            self.claim_names = None;
        }
        self.check_names(object, &mut found);
        found.is_empty()
    }

    /// An XRD named like a kind of Kubernetes would have the operator granted all rights on that kind.
    fn check_group(&self, found: &mut Vec<Diagnostic>) {
        let group = self.group.as_str();
        let is_within = |domain: &str| {
            group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        if !group.contains('.') || is_within("k8s.io") || is_within("kubernetes.io") {
            let summary = format!("the group {group:?} belongs to Kubernetes");
            let hint = "Use a domain of your own, for instance platform.example.org.";
            found.push(wrong(codes::DEFINITION_GROUP, "spec.group", summary).hint(hint));
        }
    }

    fn check_names(&self, object: &Object, found: &mut Vec<Diagnostic>) {
        let expected = format!("{}.{}", self.names.plural, self.group);
        let name = object::name(object).unwrap_or_default();
        if name != expected {
            let summary = format!("the name {name:?} is not {expected:?}");
            let hint = format!("Name it {expected:?}, after its plural and group.");
            found.push(wrong(codes::DEFINITION_NAME, "metadata.name", summary).hint(hint));
        }
        let all = [("spec.names", Some(&self.names)), ("spec.claimNames", self.claim_names.as_ref())];
        for (path, names) in all.into_iter().filter_map(|(path, names)| Some((path, names?))) {
            for (key, name) in [("plural", Some(&names.plural)), ("singular", names.singular.as_ref())] {
                if let Some(name) = name.filter(|name| name.bytes().any(|byte| byte.is_ascii_uppercase())) {
                    let summary = format!("the {key} name {name:?} is not lower case");
                    let hint = format!("Write {:?}.", name.to_ascii_lowercase());
                    found.push(wrong(codes::DEFINITION_NAMES, format!("{path}.{key}"), summary).hint(hint));
                }
            }
        }
        if let Some((key, name)) = self.claim_name_conflict() {
            let summary = format!("{name:?} is already the name of the XR");
            let hint = "Give claim and XR different names, for instance Database and XDatabase.";
            let field = format!("spec.claimNames.{key}");
            found.push(wrong(codes::DEFINITION_NAMES, field, summary).hint(hint));
        }
    }

    /// The first name that claim and XR have in common, and what kind of name it is.
    fn claim_name_conflict(&self) -> Option<(&'static str, &String)> {
        let (xr, claim) = (&self.names, self.claim_names.as_ref()?);
        let names = [
            ("kind", Some(&claim.kind), Some(&xr.kind)),
            ("plural", Some(&claim.plural), Some(&xr.plural)),
            ("singular", claim.singular.as_ref(), xr.singular.as_ref()),
            ("listKind", claim.list_kind.as_ref(), xr.list_kind.as_ref()),
        ];
        let mut conflicts = names.into_iter().filter_map(|(key, claim, xr)| Some((key, claim?, xr?)));
        conflicts.find(|(_, claim, xr)| !claim.is_empty() && claim == xr).map(|(key, name, _)| (key, name))
    }

    fn check_scope(&self, scope: Scope, found: &mut Vec<Diagnostic>) {
        if scope == Scope::LegacyCluster {
            return;
        }
        let mut refuse = |field: &str, what: &str| {
            let summary = format!("{what} exist only with scope LegacyCluster, not {scope:?}");
            let hint = "Remove the field, or use apiVersion apiextensions.crossplane.io/v1 with scope: LegacyCluster.";
            found.push(wrong(codes::DEFINITION_SCOPE, field, summary).hint(hint));
        };
        if self.claim_names.is_some() {
            refuse("spec.claimNames", "claims");
        }
        if !self.connection_secret_keys.is_empty() {
            refuse("spec.connectionSecretKeys", "connection secrets");
        }
    }

    fn check_versions(&self, found: &mut Vec<Diagnostic>) {
        let mut names = BTreeSet::new();
        for (at, version) in self.versions.iter().enumerate() {
            let field = format!("spec.versions[{at}]");
            if !names.insert(&version.name) {
                let summary = format!("duplicate version {:?}", version.name);
                found.push(wrong(codes::DEFINITION_VERSIONS, format!("{field}.name"), summary));
            }
            if version.deprecation_warning.as_ref().is_some_and(|warning| warning.chars().count() > 256) {
                let summary = "the deprecation warning is longer than 256 characters";
                found.push(wrong(codes::DEFINITION_VERSIONS, format!("{field}.deprecationWarning"), summary));
            }
            if let Some(schema) = &version.schema {
                crate::crd::dropped_keywords(&schema.open_api_v3, &field, found);
            } else {
                let summary = format!("version {:?} has no schema", version.name);
                let hint = "Describe spec and status under schema.openAPIV3Schema.";
                found.push(wrong(codes::DEFINITION_SCHEMA, format!("{field}.schema"), summary).hint(hint));
            }
        }
        let referenceable = self.versions.iter().filter(|version| version.referenceable).count();
        if referenceable != 1 {
            let summary = format!("exactly one version must be referenceable, found {referenceable}");
            let hint = "Set referenceable: true on the version Compositions are written for, and false on the others.";
            found.push(wrong(codes::DEFINITION_VERSIONS, "spec.versions", summary).hint(hint));
        }
    }

    fn check_conversion(&self, found: &mut Vec<Diagnostic>) {
        let Some(conversion) = &self.conversion else { return };
        let strategy = conversion.get("strategy").and_then(Value::as_str);
        if strategy != Some("Webhook") || conversion.get("webhook").is_none() {
            let summary = "a conversion needs strategy Webhook and a webhook";
            let hint = "Remove spec.conversion if all versions have the same fields.";
            found.push(wrong(codes::DEFINITION_CONVERSION, "spec.conversion", summary).hint(hint));
        }
    }
}
