//! One test's namespace, configuration and client.

use std::path::Path;

use sandbox::audit::{self, Request};
use serde_json::{Value, json};
use testkit::terraform::{Client, Workspace};
use testkit::{Namespace, Sandbox};

/// A namespace, and a configuration whose provider reaches it.
pub(crate) struct Case {
    pub(crate) namespace: Namespace,
    pub(crate) workspace: Workspace,
    log: audit::Reader,
}

impl Case {
    pub(crate) async fn new(test: &str, client: Client) -> Self {
        let sandbox = Sandbox::shared();
        let namespace = sandbox.namespace(test).await;
        let program = Path::new(env!("CARGO_BIN_EXE_terraform-provider-k8sconnect"));
        // States of other providers can only be moved if those are installed; what they can do does not matter.
        let providers = [
            ("jmorris0x0/k8sconnect", program),
            ("hashicorp/kubernetes", program),
            ("gavinbunney/kubectl", program),
        ];
        let workspace = Workspace::new(client, &providers);
        let mut log = audit::Reader::new(sandbox.layout().audit_log());
        log.read_new().expect("the audit log can be read");
        let case = Self { namespace, workspace, log };
        case.provider(&format!("cluster = {{ {} }}", Self::reach()));
        case
    }

    /// The provider's `cluster` for the sandbox.
    pub(crate) fn reach() -> String {
        format!("config_paths = [{:?}]", Sandbox::shared().kubeconfig().display().to_string())
    }

    /// Writes the provider block.
    pub(crate) fn provider(&self, attributes: &str) {
        self.workspace.write("provider.tf", &format!("provider \"k8sconnect\" {{\n  {attributes}\n}}\n"));
    }

    /// Writes a resource `k8sconnect_object.<name>`; `NS` in its body is the test's namespace.
    pub(crate) fn object(&self, name: &str, body: &str, attributes: &str) {
        // As a word: certificates may contain the letters.
        let placeholder = regex::Regex::new(r"\bNS\b").expect("a valid expression");
        let body = placeholder.replace_all(body, self.namespace.name());
        let text = format!(
            "resource \"k8sconnect_object\" {name:?} {{\n  yaml_body = <<-YAML\n{body}\nYAML\n{attributes}\n}}\n"
        );
        self.workspace.write(&format!("{name}.tf"), &text);
    }

    /// Changes the instance of the resource type `of` in the state file.
    pub(crate) fn edit_state(&self, of: &str, edit: impl FnOnce(&mut Value)) {
        let path = self.workspace.path("terraform.tfstate");
        let text = std::fs::read_to_string(&path).expect("there is a state");
        let mut state: Value = serde_json::from_str(&text).expect("a state is JSON");
        let serial = state["serial"].as_i64().unwrap_or_default();
        state["serial"] = json!(serial + 1);
        let resources = state["resources"].as_array_mut().into_iter().flatten();
        let mut meant = resources.filter(|resource| resource["type"] == of);
        edit(&mut meant.next().expect("the state has the resource")["instances"][0]);
        std::fs::write(&path, state.to_string()).expect("the folder is the test's own");
    }

    /// The provider's requests about the test's namespace since the last call: verb and path.
    pub(crate) fn requests(&mut self) -> Vec<String> {
        let ours = |request: &Request| {
            request.user_agent.starts_with("terraform-provider-k8sconnect")
                && request.uri.contains(self.namespace.name())
        };
        let requests = self.log.read_new().expect("the audit log can be read");
        let shown = |request: &Request| format!("{} {}", request.verb, request.uri);
        requests.iter().filter(|request| ours(request)).map(shown).collect()
    }
}

/// A CRD in a group of the test's own.
pub(crate) fn crd(plural: &str, kind: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {plural}.NS.example.com}}
spec:
  group: NS.example.com
  scope: Namespaced
  names: {{plural: {plural}, kind: {kind}}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {{status: {{}}}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {{type: integer}}
              tags: {{type: array, items: {{type: string}}, x-kubernetes-list-type: set}}
          status: {{type: object, x-kubernetes-preserve-unknown-fields: true}}"
    )
}
