//! `plimsoll crds`

use crate::program::{plimsoll, transcript};
use crate::schema;
use oraclecloud::Catalogue;
use testkit::Sandbox;

#[test]
fn definitions_are_printed_as_they_are_deployed() {
    let output = plimsoll(&["crds", "--controllers", "oci"]).output().unwrap();
    assert!(output.status.success(), "{}", transcript(&output));
    let printed = String::from_utf8(output.stdout).unwrap();
    let documents: Vec<&str> = printed.split("---\n").collect();
    let standard = Catalogue::standard();
    assert_eq!(documents.len(), standard.kinds().len(), "{printed}");
    assert!(printed.contains("name: queues.queue.oracle.com"), "{}", documents[0]);
    let json = plimsoll(&["crds", "--controllers=oci", "-o", "json"]).output().unwrap();
    let list: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(list["items"].as_array().unwrap().len(), documents.len());
}

/// The operator has the rights on what is installed by default, and on nothing else.
#[test]
fn a_kind_that_is_asked_for_brings_its_role() {
    let names = transcript(
        &plimsoll(&["crds", "--controllers=oci", "--kinds=core/RouteTable", "-o", "name"]).output().unwrap(),
    );
    insta::assert_snapshot!(names, @r"
    exit 0
    customresourcedefinition.apiextensions.k8s.io/routetables.core.oracle.com
    clusterrole.rbac.authorization.k8s.io/plimsoll-oci-routetables.core.oracle.com
    clusterrolebinding.rbac.authorization.k8s.io/plimsoll-oci-routetables.core.oracle.com
    ");
}

#[test]
fn definitions_are_installed_and_served() {
    let install = |more: &[&str]| {
        let kinds = ["crds", "--controllers=oci", "--kinds=queue/*,streaming/Stream", "--apply"];
        let mut command = plimsoll(&[&kinds, more].concat());
        command.env("KUBECONFIG", Sandbox::shared().kubeconfig()).output().unwrap()
    };
    insta::assert_snapshot!(transcript(&install(&[])), @r"
    exit 0
    served queues.queue.oracle.com
    served streams.streaming.oracle.com
    ");
    let served = schema::check("crds", &String::from_utf8_lossy(&install(&["-o", "json"]).stdout));
    assert_eq!(served[1]["name"], "streams.streaming.oracle.com");
}
