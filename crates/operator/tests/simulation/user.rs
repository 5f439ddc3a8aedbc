//! What people do to a cluster: they install an XRD and a Composition, and ask for claims and XRs.

use serde_json::{Value, json};

use crate::kinds::{self, Kind};
use crate::managed_fields::{self, Writer};
use crate::rules::{RESOURCE_NAME, SHELVES, is_going};
use crate::server::{Id, Server};

pub(crate) const GROUP: &str = "sim.example.org";
pub(crate) const XRD: &str = "xapps.sim.example.org";
const LIBRARY: &str = "lib.example.org";
const PERSON: Writer<'_> = Writer { manager: "person", is_status: false };

/// An object of a kind that a user deals with.
pub(crate) fn id(plural: &str, name: &str) -> Id {
    let (group, namespace) = match plural {
        "apps" => (GROUP, "default"),
        "xapps" => (GROUP, ""),
        "things" | "shelves" => (LIBRARY, "default"),
        "configmaps" => ("", "default"),
        "customresourcedefinitions" => ("apiextensions.k8s.io", ""),
        _ => ("apiextensions.crossplane.io", ""),
    };
    let text = |text: &str| text.to_owned();
    Id { group: text(group), plural: text(plural), namespace: text(namespace), name: text(name) }
}

impl Server {
    /// Installs what has to be there before anyone asks for anything.
    pub(crate) fn install(&mut self) {
        for (kind, plural) in [("Thing", "things"), ("Shelf", "shelves")] {
            self.ask_for("customresourcedefinitions", &kinds::crd(kind, plural, LIBRARY, &["v1", "v1beta1"]));
            let established = json!([{"type": "Established", "status": "True"}]);
            let crd = id("customresourcedefinitions", &format!("{plural}.{LIBRARY}"));
            self.edit(&crd, "kube-apiserver", true, |crd| crd["status"]["conditions"] = established);
        }
        for name in SHELVES {
            let shelf = json!({
                "apiVersion": "lib.example.org/v1", "kind": "Shelf",
                "metadata": {"name": name, "labels": {"app": "lib"}}, "spec": {"colour": "red"},
            });
            self.ask_for("shelves", &shelf);
        }
        self.define();
        self.compose("first");
    }

    pub(crate) fn define(&mut self) {
        let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let xrd = json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
            "metadata": {"name": XRD},
            "spec": {
                "group": GROUP,
                "names": {"kind": "XApp", "plural": "xapps"}, "claimNames": {"kind": "App", "plural": "apps"},
                "versions": [{
                    "name": "v1", "served": true, "referenceable": true,
                    "schema": {"openAPIV3Schema": {
                        "type": "object", "properties": {"spec": anything, "status": anything},
                    }},
                }],
            },
        });
        self.ask_for("compositeresourcedefinitions", &xrd);
    }

    /// Writes the Composition, in a new edition.
    pub(crate) fn compose(&mut self, edition: &str) {
        let composition = json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition", "metadata": {"name": "apps"},
            "spec": {
                "compositeTypeRef": {"apiVersion": format!("{GROUP}/v1"), "kind": "XApp"}, "mode": "Pipeline",
                "pipeline": [{
                    "step": "print", "functionRef": {"name": "function-sim"},
                    "input": {"apiVersion": "sim.example.org/v1", "kind": "Input", "edition": edition},
                }],
            },
        });
        self.ask_for("compositions", &composition);
    }

    /// Applies an object as `kubectl apply --server-side` does; whether its kind is served.
    pub(crate) fn ask_for(&mut self, plural: &str, object: &Value) -> bool {
        let id = id(plural, object["metadata"]["name"].as_str().unwrap_or_default());
        let Some(kind) = self.kinds().iter().find(|kind| kind.plural == plural).cloned() else {
            return false;
        };
        if self.is_terminating(&kind) && self.get(&id).is_none() {
            return false;
        }
        if let Some(live) = self.get(&id).cloned() {
            let applied = managed_fields::apply(Value::clone(&live), object, PERSON);
            self.put(&id, applied, &kind);
        } else {
            let applied = managed_fields::apply(json!({}), object, PERSON);
            self.insert(&id, applied, &kind);
        }
        true
    }

    /// Whether the CRD of a kind is being deleted, so that nothing new of it is accepted.
    pub(crate) fn is_terminating(&self, kind: &Kind) -> bool {
        let crd = self.get(&id("customresourcedefinitions", &format!("{}.{}", kind.plural, kind.group)));
        crd.is_some_and(|crd| is_going(crd))
    }

    pub(crate) fn claim(&mut self, name: &str, parts: &str, policy: &str) -> bool {
        let claim = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "App", "metadata": {"name": name},
            "spec": {"parts": parts, "compositeDeletePolicy": policy},
        });
        self.ask_for("apps", &claim)
    }

    pub(crate) fn xr(&mut self, name: &str, parts: &str) -> bool {
        let xr = json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "XApp", "metadata": {"name": name},
            "spec": {"parts": parts},
        });
        self.ask_for("xapps", &xr)
    }

    /// Pauses an object, or lets it go on.
    pub(crate) fn pause(&mut self, id: &Id, paused: bool) {
        self.edit(id, "person", false, |object| {
            let annotations = &mut object["metadata"]["annotations"];
            if paused {
                annotations["crossplane.io/paused"] = "true".into();
            } else if let Some(annotations) = annotations.as_object_mut() {
                annotations.remove("crossplane.io/paused");
            }
            if annotations.is_null() {
                object["metadata"].as_object_mut().map(|it| it.remove("annotations"));
            }
        });
    }

    /// Serves v1 of a kind, or v1beta1 only.
    pub(crate) fn serve(&mut self, plural: &str, is_served: bool) {
        let crd = id("customresourcedefinitions", &format!("{plural}.{LIBRARY}"));
        self.edit(&crd, "person", false, |crd| crd["spec"]["versions"][0]["served"] = is_served.into());
    }

    /// What is composed, oldest first.
    pub(crate) fn composed(&self) -> Vec<Id> {
        let is_composed = |it: &Value| it["metadata"]["annotations"][RESOURCE_NAME].is_string();
        self.objects.iter().filter(|(_, it)| is_composed(it)).map(|(id, _)| id.clone()).collect()
    }
}
