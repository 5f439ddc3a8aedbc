//! Two ways to have the same ConfigMaps.

use std::path::{Path, PathBuf};

use bench::Role;
use clap::ValueEnum;

/// A provider under comparison.
pub(crate) struct Peer {
    /// What it is called in tables.
    pub(crate) name: &'static str,
    pub(crate) role: Role,
    /// Its address in the registry.
    pub(crate) address: &'static str,
    /// How the audit log knows it.
    pub(crate) user_agent: &'static str,
    /// The plugin protocol that it speaks.
    pub(crate) protocol: &'static str,
    /// The program.
    pub(crate) program: PathBuf,
    configuration: fn(kubeconfig: &Path, resource: &Resources<'_>) -> String,
}

/// Where a configuration says how the cluster is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Connection {
    /// In the provider block.
    Provider,
    /// In every resource, as users of the Go provider have it; Terraform copies the kubeconfig for each. The peer has no
    /// such thing.
    Resource,
}

/// ConfigMaps that one resource block describes.
pub(crate) struct Resources<'a> {
    pub(crate) count: usize,
    pub(crate) connection: Connection,
    pub(crate) namespace: &'a str,
    /// What all of them say; another text changes them all.
    pub(crate) text: &'a str,
}

impl Peer {
    pub(crate) fn ours(program: PathBuf) -> Self {
        Self {
            name: "k8sconnect",
            role: Role::Ours,
            address: "registry.terraform.io/jmorris0x0/k8sconnect",
            user_agent: "terraform-provider-k8sconnect/",
            protocol: "6",
            program,
            configuration: |kubeconfig, resources| {
                let kubeconfig = kubeconfig.display().to_string();
                let (provider, resource) = match resources.connection {
                    Connection::Provider => {
                        (format!("cluster = {{ config_paths = [{kubeconfig:?}] }}"), String::new())
                    }
                    Connection::Resource => {
                        (String::new(), format!("cluster = {{ kubeconfig = file({kubeconfig:?}) }}"))
                    }
                };
                format!(
                    "provider \"k8sconnect\" {{\n  {provider}\n}}\n\n\
                     resource \"k8sconnect_object\" \"settings\" {{\n  count = {}\n  {resource}\n  yaml_body = {}\n}}\n",
                    resources.count,
                    resources.body()
                )
            },
        }
    }

    pub(crate) fn yardstick(program: PathBuf) -> Self {
        Self {
            name: "kubectl_manifest",
            role: Role::Yardstick,
            address: "registry.terraform.io/gavinbunney/kubectl",
            user_agent: "HashiCorp/1.0 Terraform/",
            protocol: "5",
            program,
            configuration: |kubeconfig, resources| {
                format!(
                    "provider \"kubectl\" {{\n  config_path = {:?}\n}}\n\n\
                     resource \"kubectl_manifest\" \"settings\" {{\n  count = {}\n  server_side_apply = true\n  \
                     yaml_body = {}\n}}\n",
                    kubeconfig.display().to_string(),
                    resources.count,
                    resources.body()
                )
            },
        }
    }

    /// Our configurations and states, answered at once.
    pub(crate) fn floor(ours: &Self, program: PathBuf) -> Self {
        Self { name: "floor", role: Role::Floor, address: ours.address, program, ..*ours }
    }

    /// The configuration, for a cluster.
    pub(crate) fn configuration(&self, kubeconfig: &Path, resources: &Resources<'_>) -> String {
        (self.configuration)(kubeconfig, resources)
    }
}

impl Resources<'_> {
    /// The same number of resources of Terraform itself, with the same texts.
    pub(crate) fn terraform_data(&self) -> String {
        format!(
            "resource \"terraform_data\" \"settings\" {{\n  count = {}\n  input = {}\n}}\n",
            self.count,
            self.body()
        )
    }

    fn body(&self) -> String {
        format!(
            "<<-YAML\n    apiVersion: v1\n    kind: ConfigMap\n    metadata:\n      name: settings-${{count.index}}\n      \
             namespace: {}\n      labels:\n        app.kubernetes.io/name: shop\n        app.kubernetes.io/part-of: bench\n    \
             data:\n      number: \"${{count.index}}\"\n      text: {}\n      level: info\n      app.conf: |\n        \
             [server]\n        port = 8080\n        host = 0.0.0.0\n  YAML",
            self.namespace, self.text
        )
    }
}
