//! Stock binaries: a folder for `KUBEBUILDER_ASSETS` with etcd, kube-apiserver and kubectl from their usual builds.

use std::time::Duration;

use sandbox::gobuild::{Binary, Module};
use sandbox::{CONTROL_PLANE, Environment};

use crate::harness::{User, eventually, is_running, kill};

/// The same sources in the same versions, each program from its own `main`, as in a release.
const STOCK: Module<'static> = Module {
    name: "stock-control-plane",
    binaries: &[
        Binary { package: "go.etcd.io/etcd/server/v3", file: "etcd", links: &[] },
        Binary { package: "k8s.io/kubernetes/cmd/kube-apiserver", file: "kube-apiserver", links: &[] },
        Binary { package: "k8s.io/kubernetes/cmd/kubectl", file: "kubectl", links: &[] },
    ],
    cold_build: Duration::from_secs(300),
    ..CONTROL_PLANE
};

#[test]
fn stock_programs_work_and_are_stopped_although_they_ignore_stdin() {
    let environment = Environment::from_process().unwrap();
    let assets = STOCK.ensure(&environment.cache, &environment.path, &mut |_| {}).unwrap();
    let user = User::new().with("KUBEBUILDER_ASSETS", assets);
    user.run(&["up", "--name", "stock", "--detach"]).succeeded();
    let status = user.status("stock");
    let origin = |name: &str| {
        let programs = status["programs"].as_array().unwrap();
        programs.iter().find(|program| program["program"] == name).unwrap()["origin"].clone()
    };
    assert_eq!(
        (origin("etcd"), origin("kube-apiserver"), origin("kubectl")),
        ("assets".into(), "assets".into(), "assets".into())
    );
    assert_eq!(origin("kwok"), "cache");
    assert_eq!(user.kubectl("stock", &["get", "nodes", "-o", "name"]), "node/sandbox\n");

    // Our programs end with their supervisor; these keep running, and the next command finds them.
    let pids: Vec<i64> =
        status["programs"].as_array().unwrap().iter().filter_map(|program| program["pid"].as_i64()).collect();
    kill(status["supervisor"].as_i64().unwrap());
    user.run(&["down", "--name", "stock"]).succeeded();
    eventually("nothing is left", || pids.iter().all(|pid| !is_running(*pid)).then_some(()));
}
