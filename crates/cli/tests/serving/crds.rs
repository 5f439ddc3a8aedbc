//! `plimsoll crds`

use crate::program::{plimsoll, transcript};
use testkit::Sandbox;

#[test]
fn definitions_are_printed_as_they_are_deployed() {
    let output = plimsoll(&["crds", "--controllers", "oci"]).output().unwrap();
    assert!(output.status.success(), "{}", transcript(&output));
    let printed = String::from_utf8(output.stdout).unwrap();
    let documents: Vec<&str> = printed.split("---\n").collect();
    assert_eq!(documents.len(), 2, "{printed}");
    assert!(documents[0].contains("name: queues.queue.oracle.com"), "{}", documents[0]);
    let names = transcript(&plimsoll(&["crds", "--controllers=oci", "-o", "name"]).output().unwrap());
    insta::assert_snapshot!(names, @r"
    exit 0
    customresourcedefinition.apiextensions.k8s.io/queues.queue.oracle.com
    customresourcedefinition.apiextensions.k8s.io/streams.streaming.oracle.com
    ");
    let json = plimsoll(&["crds", "--controllers=oci", "-o", "json"]).output().unwrap();
    let list: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
}

#[test]
fn definitions_are_installed_and_served() {
    let mut command = plimsoll(&["crds", "--controllers=oci", "--apply"]);
    let output = command.env("KUBECONFIG", Sandbox::shared().kubeconfig()).output().unwrap();
    insta::assert_snapshot!(transcript(&output), @r"
    exit 0
    served queues.queue.oracle.com
    served streams.streaming.oracle.com
    ");
}
