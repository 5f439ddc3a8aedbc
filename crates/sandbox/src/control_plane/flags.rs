//! The command lines of the programs, as data.

use std::path::Path;

use super::credentials::{CA_CERTIFICATE, SERVICE_ACCOUNT_KEY, SERVING_CERTIFICATE, SERVING_KEY, TOKENS};
use super::layout::Layout;
use super::options::UpRequest;
use super::programs::Program;

/// The socket etcd listens on, in the sandbox's folder.
///
/// etcd runs without authentication, so on a port every user of the machine could read every Secret; only the owner can
/// enter the folder. The path is relative to that folder, where the programs run: socket paths are limited to 107 bytes.
pub(crate) const ETCD_SOCKET: &str = "etcd.sock";
/// The socket for other etcd members, of which there are none.
const ETCD_PEER_SOCKET: &str = "etcd-peer.sock";

/// The arguments `program` is started with.
pub(crate) fn arguments(program: Program, layout: &Layout, request: &UpRequest, port: u16) -> Vec<String> {
    match program {
        Program::Etcd => etcd(layout),
        Program::KubeApiserver => apiserver(layout, request, port),
        Program::KubeControllerManager => controller_manager(layout),
        Program::KubeScheduler => client(layout),
        Program::Kwok => kwok(layout),
        Program::Kubectl => Vec::new(),
    }
}

fn etcd(layout: &Layout) -> Vec<String> {
    vec![
        flag("data-dir", layout.etcd()),
        // Nothing here needs to survive a power cut.
        flag("unsafe-no-fsync", "true"),
        flag("listen-client-urls", format!("unix://{ETCD_SOCKET}")),
        flag("listen-peer-urls", format!("unix://{ETCD_PEER_SOCKET}")),
        // etcd insists on advertising a host and a port.
        flag("advertise-client-urls", "http://127.0.0.1:0"),
        flag("log-level", "error"),
    ]
}

fn apiserver(layout: &Layout, request: &UpRequest, port: u16) -> Vec<String> {
    let pki = |file| layout.pki().join(file);
    let mut flags = vec![
        flag("etcd-servers", format!("unix://{ETCD_SOCKET}")),
        flag("bind-address", "127.0.0.1"),
        flag("advertise-address", "127.0.0.1"),
        flag("secure-port", port.to_string()),
        // The reconciler refuses a loopback address as an endpoint.
        flag("endpoint-reconciler-type", "none"),
        flag("tls-cert-file", pki(SERVING_CERTIFICATE)),
        flag("tls-private-key-file", pki(SERVING_KEY)),
        flag("client-ca-file", pki(CA_CERTIFICATE)),
        flag("token-auth-file", pki(TOKENS)),
        flag("authorization-mode", "RBAC"),
        flag("service-account-issuer", "https://kubernetes.default.svc.cluster.local"),
        flag("service-account-key-file", pki(SERVICE_ACCOUNT_KEY)),
        flag("service-account-signing-key-file", pki(SERVICE_ACCOUNT_KEY)),
        flag("service-cluster-ip-range", "10.0.0.0/16"),
        flag("allow-privileged", "true"),
        // No load balancer drains connections to a sandbox.
        flag("shutdown-delay-duration", "0s"),
    ];
    if request.audit {
        flags.push(flag("audit-policy-file", layout.audit_policy()));
        flags.push(flag("audit-log-path", layout.audit_log()));
        // No rotation: a count over a rotated log would be wrong.
        flags.push(flag("audit-log-maxsize", "0"));
    }
    // Last, because the last occurrence of a flag wins.
    flags.extend(request.apiserver_args.iter().map(|(name, value)| flag(name, value)));
    flags
}

fn controller_manager(layout: &Layout) -> Vec<String> {
    let pki = |file| layout.pki().join(file);
    let mut flags = client(layout);
    flags.extend([
        flag("service-account-private-key-file", pki(SERVICE_ACCOUNT_KEY)),
        flag("root-ca-file", pki(CA_CERTIFICATE)),
        // At the default of 20 requests per second the garbage collector needs 40 s for 800 objects.
        flag("kube-api-qps", "1000"),
        flag("kube-api-burst", "2000"),
        flag("concurrent-gc-syncs", "20"),
    ]);
    flags
}

/// The flags that the controller manager and the scheduler share.
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
        // By default kwok serves on every address.
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
    use std::path::PathBuf;

    use super::*;
    use crate::control_plane::layout::Name;

    fn request(audit: bool, apiserver_args: &[(&str, &str)]) -> UpRequest {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let apiserver_args = apiserver_args.iter().map(owned).collect();
        UpRequest { audit, apiserver_args, ..UpRequest::new(Name::default(), PathBuf::new()) }
    }

    fn flags(program: Program, request: &UpRequest) -> Vec<String> {
        arguments(program, &Layout::at("/s"), request, 6443)
    }

    #[test]
    fn only_the_api_server_has_a_port_and_it_is_on_loopback() {
        let plain = request(false, &[]);
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
    fn extra_flags_come_last_so_that_they_win() {
        let flags = flags(
            Program::KubeApiserver,
            &request(true, &[("authorization-mode", "AlwaysAllow"), ("v", "4")]),
        );
        assert_eq!(flags[flags.len() - 2..], ["--authorization-mode=AlwaysAllow", "--v=4"]);
    }

    #[test]
    fn the_audit_log_is_optional() {
        let audits = |audit| {
            let flags = flags(Program::KubeApiserver, &request(audit, &[]));
            flags.into_iter().filter(|flag| flag.starts_with("--audit-log-path")).collect::<Vec<_>>()
        };
        assert_eq!(audits(true), ["--audit-log-path=/s/logs/audit.jsonl"]);
        assert!(audits(false).is_empty());
    }
}
