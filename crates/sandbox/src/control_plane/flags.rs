//! The command lines of the programs, as data.

use std::path::Path;

use super::credentials::Files;
use super::layout::Layout;
use super::programs::Program;
use super::state::Options;

/// The ports of a sandbox, all on 127.0.0.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ports {
    pub(crate) apiserver: u16,
    pub(crate) etcd_client: u16,
    pub(crate) etcd_peer: u16,
}

impl Ports {
    /// The address of the API server.
    pub(crate) fn server(self) -> String {
        format!("https://127.0.0.1:{}", self.apiserver)
    }
}

/// The arguments `program` is started with.
pub(crate) fn arguments(program: Program, layout: &Layout, options: &Options, ports: Ports) -> Vec<String> {
    match program {
        Program::Etcd => etcd(layout, ports),
        Program::KubeApiserver => apiserver(layout, options, ports),
        Program::KubeControllerManager => controller_manager(layout),
        Program::KubeScheduler => client(layout),
        Program::Kwok => kwok(layout),
        Program::Kubectl => Vec::new(),
    }
}

fn etcd(layout: &Layout, ports: Ports) -> Vec<String> {
    let client = format!("http://127.0.0.1:{}", ports.etcd_client);
    let peer = format!("http://127.0.0.1:{}", ports.etcd_peer);
    vec![
        flag("name", "sandbox"),
        flag("data-dir", layout.etcd()),
        // Nothing here is to survive a power cut.
        flag("unsafe-no-fsync", "true"),
        flag("listen-client-urls", &client),
        flag("advertise-client-urls", &client),
        flag("listen-peer-urls", &peer),
        flag("initial-advertise-peer-urls", &peer),
        flag("initial-cluster", format!("sandbox={peer}")),
        flag("log-level", "error"),
    ]
}

fn apiserver(layout: &Layout, options: &Options, ports: Ports) -> Vec<String> {
    let files = Files::new(layout);
    let mut flags = vec![
        flag("etcd-servers", format!("http://127.0.0.1:{}", ports.etcd_client)),
        flag("bind-address", "127.0.0.1"),
        flag("advertise-address", "127.0.0.1"),
        flag("secure-port", ports.apiserver.to_string()),
        // A loopback address is refused as an endpoint otherwise.
        flag("endpoint-reconciler-type", "none"),
        flag("tls-cert-file", &files.serving_certificate),
        flag("tls-private-key-file", &files.serving_key),
        flag("client-ca-file", &files.authority),
        flag("token-auth-file", &files.tokens),
        flag("authorization-mode", "RBAC"),
        flag("service-account-issuer", "https://kubernetes.default.svc.cluster.local"),
        flag("service-account-key-file", &files.service_account_key),
        flag("service-account-signing-key-file", &files.service_account_key),
        flag("service-cluster-ip-range", "10.0.0.0/16"),
        flag("allow-privileged", "true"),
        // Nobody drains connections to a sandbox.
        flag("shutdown-delay-duration", "0s"),
    ];
    if options.audit {
        flags.push(flag("audit-policy-file", layout.audit_policy()));
        flags.push(flag("audit-log-path", layout.audit_log()));
        // One file, however long: a count over a rotated log would be wrong.
        flags.push(flag("audit-log-maxsize", "0"));
    }
    // Last, because the last of a repeated flag counts.
    flags.extend(options.apiserver_args.iter().map(|(name, value)| flag(name, value)));
    flags
}

fn controller_manager(layout: &Layout) -> Vec<String> {
    let files = Files::new(layout);
    let mut flags = client(layout);
    flags.extend([
        flag("service-account-private-key-file", &files.service_account_key),
        flag("root-ca-file", &files.authority),
        // At the default of 20 a second the garbage collector needs 40 s for 800 objects.
        flag("kube-api-qps", "1000"),
        flag("kube-api-burst", "2000"),
        flag("concurrent-gc-syncs", "20"),
    ]);
    flags
}

/// What the controller manager and the scheduler have in common.
fn client(layout: &Layout) -> Vec<String> {
    vec![
        flag("kubeconfig", layout.components_kubeconfig()),
        flag("leader-elect", "false"),
        flag("secure-port", "0"),
    ]
}

fn kwok(layout: &Layout) -> Vec<String> {
    vec![
        flag("kubeconfig", layout.components_kubeconfig()),
        flag("config", layout.stages()),
        flag("manage-all-nodes", "true"),
        // Without a port it serves nothing; by default it would, on every address.
        flag("node-port", "0"),
        flag("node-ip", "127.0.0.1"),
        flag("cidr", "10.244.0.0/16"),
        flag("node-lease-duration-seconds", "40"),
    ]
}

fn flag(name: &str, value: impl AsRef<Path>) -> String {
    format!("--{name}={}", value.as_ref().display())
}
