//! A state and objects that version 0.1.0 left behind: seven objects, two waits and three patches, some of them with a connection of their
//! own. Its lists are tuples, and its masks have no key.

use testkit::Sandbox;
use testkit::terraform::Client;

use crate::left_behind::LeftBehind;
use crate::user::User;

const CONFIGURATION: &str = include_str!("left_by_0_1/main.tf");
const LEFT: LeftBehind = LeftBehind {
    state: include_str!("left_by_0_1/terraform.tfstate.json"),
    objects: include_str!("left_by_0_1/objects.json"),
    address: "198.18.166.231",
};

#[test]
fn a_state_of_version_0_1_0_plans_empty_and_is_destroyed() {
    let sandbox = Sandbox::dedicated("left-by-0-1");
    LEFT.restore(&sandbox);
    let mut last = None;
    for client in Client::all() {
        let user = User::new(client);
        let variable = format!("kubeconfig = {:?}\n", sandbox.kubeconfig().display().to_string());
        user.workspace.write("terraform.tfvars", &variable);
        user.requires("jmorris0x0/k8sconnect", "~> 0.3");
        user.workspace.write("main.tf", CONFIGURATION);
        user.workspace.write("terraform.tfstate", &LEFT.state(&sandbox, user.workspace.registry()));
        user.run(&["init"]).expect_success();
        let before = LEFT.live(&sandbox);
        let planned = user.run(&["plan", "-detailed-exitcode"]).expect_success().text();
        assert!(planned.contains("No changes.") && !planned.contains("Warning"), "{planned}");
        user.run(&["plan", "-detailed-exitcode", "-refresh=false"]).expect_success();
        user.run(&["apply", "-auto-approve"]).expect_success();
        assert_eq!(LEFT.live(&sandbox), before);
        last = Some(user);
    }
    let user = last.expect("there is a client");
    let destroyed = user.run(&["destroy", "-auto-approve"]).expect_success().text();
    assert!(destroyed.contains("12 destroyed"), "{destroyed}");
}
