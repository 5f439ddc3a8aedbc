//! The command lines of the programs, as data.

use std::path::Path;

use super::credentials::Files;
use super::layout::Layout;
use super::programs::Program;
use super::state::Options;

/// The socket etcd listens on, in the sandbox's folder.
///
/// etcd knows no passwords, so on a port every user of the machine could read every Secret; the folder is ours alone.
/// The name is relative to that folder, where the programs run, because a socket's path may have only 107 bytes.
pub(crate) const ETCD_SOCKET: &str = "etcd.sock";
/// The socket for other members of the etcd cluster, of which there are none.
const ETCD_PEER_SOCKET: &str = "etcd-peer.sock";

/// The arguments `program` is started with.
pub(crate) fn arguments(program: Program, layout: &Layout, options: &Options, port: u16) -> Vec<String> {
    match program {
        Program::Etcd => etcd(layout),
        Program::KubeApiserver => apiserver(layout, options, port),
        Program::KubeControllerManager => controller_manager(layout),
        Program::KubeScheduler => client(layout),
        Program::Kwok => kwok(layout),
        Program::Kubectl => Vec::new(),
    }
}

fn etcd(layout: &Layout) -> Vec<String> {
    vec![
        flag("data-dir", layout.etcd()),
        // Nothing here is to survive a power cut.
        flag("unsafe-no-fsync", "true"),
        flag("listen-client-urls", format!("unix://{ETCD_SOCKET}")),
        flag("listen-peer-urls", format!("unix://{ETCD_PEER_SOCKET}")),
        // etcd wants to advertise a host and a port, even if nobody is to hear of it.
        flag("advertise-client-urls", "http://127.0.0.1:0"),
        flag("log-level", "error"),
    ]
}

fn apiserver(layout: &Layout, options: &Options, port: u16) -> Vec<String> {
    let files = Files::new(layout);
    let mut flags = vec![
        flag("etcd-servers", format!("unix://{ETCD_SOCKET}")),
        flag("bind-address", "127.0.0.1"),
        flag("advertise-address", "127.0.0.1"),
        flag("secure-port", port.to_string()),
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::control_plane::layout::Name;

    fn options(audit: bool, apiserver_args: &[(&str, &str)]) -> Options {
        Options {
            name: Name::default(),
            programs: Vec::new(),
            port: None,
            audit,
            linger: None,
            apiserver_args: apiserver_args
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect(),
            timeout: Duration::ZERO,
        }
    }

    fn flags(program: Program, options: &Options) -> Vec<String> {
        arguments(program, &Layout::at("/s"), options, 6443)
    }

    #[test]
    fn nothing_but_the_api_server_gets_a_port_and_that_is_on_loopback() {
        let plain = options(false, &[]);
        for program in Program::ALL {
            let flags = flags(program, &plain);
            let has = |flag: &str| flags.iter().any(|other| other == flag);
            match program {
                Program::Etcd => {
                    assert!(has("--listen-client-urls=unix://etcd.sock"));
                    assert!(has("--listen-peer-urls=unix://etcd-peer.sock"));
                }
                Program::KubeApiserver => {
                    assert!(has("--bind-address=127.0.0.1") && has("--secure-port=6443"));
                }
                Program::KubeControllerManager | Program::KubeScheduler => assert!(has("--secure-port=0")),
                Program::Kwok => assert!(has("--node-port=0")),
                Program::Kubectl => assert!(flags.is_empty()),
            }
        }
    }

    #[test]
    fn extra_flags_come_last_so_that_they_count() {
        let flags = flags(
            Program::KubeApiserver,
            &options(true, &[("authorization-mode", "AlwaysAllow"), ("v", "4")]),
        );
        assert_eq!(flags[flags.len() - 2..], ["--authorization-mode=AlwaysAllow", "--v=4"]);
    }

    #[test]
    fn requests_are_written_down_only_if_that_is_asked_for() {
        let audits = |audit| {
            let flags = flags(Program::KubeApiserver, &options(audit, &[]));
            flags.into_iter().filter(|flag| flag.starts_with("--audit-log-path")).collect::<Vec<_>>()
        };
        assert_eq!(audits(true), ["--audit-log-path=/s/logs/audit.jsonl"]);
        assert!(audits(false).is_empty());
    }
}
