//! The XRs that a changed Composition, XRD or Function concerns: what happens to each, and to all in one sentence.

use std::io;

use composition::composite::{Composite, Layout};
use composition::protocol::Object;
use composition::review::{Effect, summary};
use diag::Diagnostic;
use manifest::ObjectRef;
use serde_json::{Value, json};

use super::text::{Indent, object as show_object};
use super::{Action, ObjectReport, ObjectState, finding};
use crate::support::printer::{BAD, DIM, PENDING, Printer, object_name};

/// The live XRs that the change concerns.
pub(crate) struct Composites {
    pub(crate) items: Vec<CompositeReport>,
    /// Why not all is known.
    pub(crate) problems: Vec<Diagnostic>,
}

/// What would happen to one XR.
pub(crate) struct CompositeReport {
    pub(crate) target: ObjectRef,
    /// The claim that it serves.
    claim: Option<String>,
    standing: Standing,
    /// What it is composed of.
    pub(crate) objects: Vec<ObjectReport>,
    /// Fields that its changed XRD no longer has.
    pub(crate) pruned: Vec<String>,
    /// Includes errors.
    pub(crate) findings: Vec<Diagnostic>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Rendered,
    Fails,
    /// It stays with its revision.
    Pinned,
    Paused,
    /// It is being deleted.
    Going,
    /// It could not be rendered.
    Unknown,
}

impl CompositeReport {
    /// `None` for an XR that cannot be named.
    pub(crate) fn standing(xr: &Object, standing: Standing) -> Option<Self> {
        let claim = Composite::new(xr, Layout::Legacy).claim_ref().map(|claim| claim.to_string());
        let target = ObjectRef::of(xr).ok()?;
        Some(Self { target, claim, standing, objects: Vec::new(), pruned: Vec::new(), findings: Vec::new() })
    }

    pub(crate) fn order(&self) -> impl Ord + use<> {
        (self.target.kind().to_owned(), self.target.namespace.clone(), self.target.name.clone())
    }

    fn effects(&self) -> Vec<Effect> {
        let standing = match self.standing {
            Standing::Rendered => None,
            Standing::Fails => Some(Effect::Fails),
            Standing::Pinned => Some(Effect::Pinned),
            Standing::Paused => Some(Effect::Paused),
            Standing::Going => Some(Effect::Going),
            Standing::Unknown => Some(Effect::Unknown),
        };
        let change =
            |kind: &str, field: &str| Effect::Changes { kind: kind.to_owned(), field: field.to_owned() };
        let mut effects: Vec<Effect> = standing.into_iter().collect();
        effects.extend(self.pruned.iter().map(|field| change(self.target.kind(), field)));
        for object in &self.objects {
            let kind = || object.target.kind().to_owned();
            match object.action() {
                Action::Create => effects.push(Effect::Gains(kind())),
                Action::Delete => effects.push(Effect::Loses(kind())),
                Action::Hold => effects.push(Effect::Holds(kind())),
                Action::Refused => effects.push(Effect::Refused(kind())),
                Action::Hidden => effects.push(Effect::Unreadable(kind())),
                Action::Change => {
                    let ObjectState::Known(preview) = &object.state else { continue };
                    let fields = preview.changes.iter().map(|it| it.path.notation().to_string());
                    effects.extend(fields.map(|field| change(&kind(), &field)));
                }
                // The operator replaces nothing.
                Action::Nothing | Action::Addition | Action::Pending | Action::Going | Action::Replace => {}
            }
        }
        effects
    }

    fn has_errors(&self) -> bool {
        self.findings.iter().any(Diagnostic::is_error) || self.objects.iter().any(ObjectReport::has_errors)
    }

    /// What stands before its name.
    fn sign(&self) -> &'static str {
        match self.standing {
            Standing::Fails => Action::Refused.sign(),
            Standing::Rendered => Action::Change.sign(),
            Standing::Pinned | Standing::Paused | Standing::Going => Action::Nothing.sign(),
            Standing::Unknown => Action::Pending.sign(),
        }
    }

    /// `XApp shop/web (App shop/web)`, and why it is as it is.
    pub(super) fn title(&self) -> String {
        let claim = self.claim.as_ref().map_or_else(String::new, |claim| format!(" (of {claim})"));
        let why = match self.standing {
            Standing::Rendered => "",
            Standing::Fails => ": could not be composed",
            Standing::Pinned => ": stays with its revision",
            Standing::Paused => ": is paused",
            Standing::Going => ": is being deleted",
            Standing::Unknown => ": not known",
        };
        format!("{} {}{claim}{why}", self.sign(), self.target)
    }

    /// Whether there is more to say about it than its standing.
    pub(super) fn is_touched(&self) -> bool {
        !self.pruned.is_empty() || self.touched().next().is_some() || self.standing == Standing::Fails
    }

    /// What it is composed of and would change.
    pub(super) fn touched(&self) -> impl Iterator<Item = &ObjectReport> {
        self.objects.iter().filter(|object| object.action() != Action::Nothing)
    }

    fn to_json(&self) -> Value {
        let state = match self.standing {
            Standing::Rendered if self.effects().is_empty() => "unchanged",
            Standing::Rendered => "changed",
            Standing::Fails => "failed",
            Standing::Pinned => "pinned",
            Standing::Paused => "paused",
            Standing::Going => "going",
            Standing::Unknown => "unknown",
        };
        let mut report = json!({
            "apiVersion": self.target.api_version().to_string(),
            "kind": self.target.kind(),
            "name": self.target.name,
            "claim": self.claim,
            "state": state,
            "loses": self.pruned,
            "objects": self.objects.iter().map(ObjectReport::to_json).collect::<Vec<_>>(),
            "findings": self.findings.iter().map(finding).collect::<Vec<_>>(),
        });
        if let Some(namespace) = &self.target.namespace {
            report["namespace"] = namespace.as_str().into();
        }
        report
    }
}

impl Composites {
    /// `37 of 40 XRs unchanged; 2 change Deployment.spec.replicas; 1 loses a Queue`
    pub(crate) fn summary(&self) -> Option<String> {
        summary(&self.items.iter().map(CompositeReport::effects).collect::<Vec<_>>())
    }

    pub(super) fn has_changes(&self) -> bool {
        self.items.iter().flat_map(CompositeReport::effects).any(|effect| effect.is_change())
    }

    pub(super) fn has_errors(&self) -> bool {
        self.problems.iter().any(Diagnostic::is_error) || self.items.iter().any(CompositeReport::has_errors)
    }

    /// The names of XRs that change.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.items.iter().filter(|item| item.is_touched()).map(|item| object_name(&item.target))
    }

    /// Every finding, with the object that it is about.
    pub(super) fn findings(&self) -> impl Iterator<Item = (&ObjectRef, &Diagnostic)> {
        self.items.iter().flat_map(|item| {
            let own = item.findings.iter().map(|finding| (&item.target, finding));
            let composed = item
                .objects
                .iter()
                .flat_map(|object| object.findings.iter().map(|finding| (&object.target, finding)));
            own.chain(composed)
        })
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "summary": self.summary(),
            "items": self.items.iter().map(CompositeReport::to_json).collect::<Vec<_>>(),
            "problems": self.problems.iter().map(finding).collect::<Vec<_>>(),
        })
    }

    /// XR by XR, those that change.
    pub(super) fn show(&self, printer: &mut Printer, full: bool) -> io::Result<()> {
        for item in self.items.iter().filter(|item| item.is_touched()) {
            let style = if item.standing == Standing::Fails { BAD } else { PENDING };
            printer.data(format_args!("{style}{}{style:#}", item.title()))?;
            for field in &item.pruned {
                printer.data(format_args!("    {field}   {DIM}its XRD no longer has this field{DIM:#}"))?;
            }
            item.touched().try_for_each(|object| show_object(printer, object, full, Indent::Composed))?;
        }
        Ok(())
    }
}

/// Whether the engine gives this field to everything that it composes.
pub(super) fn is_of_engine(field: &fields::FieldPath) -> bool {
    let names: Vec<&str> = field.elements().iter().map(|it| it.as_field().unwrap_or_default()).collect();
    match names[..] {
        ["metadata", "ownerReferences", ..] => true,
        ["metadata", "labels" | "annotations", name] => name.starts_with("crossplane.io/"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use composition::object;

    use super::*;

    #[test]
    fn fields_of_the_engine_are_recognised() {
        let check = |names: &[&str], expected: bool| {
            let path = fields::FieldPath::of_fields(names.iter().copied());
            assert_eq!(is_of_engine(&path), expected, "{names:?}");
        };
        check(&["metadata", "labels", "crossplane.io/composite"], true);
        check(&["metadata", "annotations", "crossplane.io/composition-resource-name"], true);
        check(&["metadata", "ownerReferences", "x", "uid"], true);
        check(&["metadata", "labels", "app"], false);
        check(&["metadata", "name"], false);
        check(&["spec", "labels", "crossplane.io/composite"], false);
    }

    #[test]
    fn an_xr_says_why_it_is_not_rendered() {
        let xr = object::object(json!({
            "apiVersion": "e.org/v1", "kind": "XApp", "metadata": {"name": "web-x7"},
            "spec": {"claimRef": {"apiVersion": "e.org/v1", "kind": "App", "namespace": "shop", "name": "web"}},
        }));
        let paused = CompositeReport::standing(&xr, Standing::Paused).unwrap();
        assert_eq!(paused.title(), "= XApp web-x7 (of App shop/web): is paused");
        let composites = Composites { items: vec![paused], problems: Vec::new() };
        assert_eq!(composites.summary().as_deref(), Some("the only XR is paused"));
        assert!(!composites.has_errors());
    }
}
