//! The registry's examples do what they say.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::Sandbox;
use testkit::terraform::{Client, Run};

use crate::case::Case;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Every folder of an example, with its files.
fn folders() -> Vec<PathBuf> {
    let inner =
        |folder: &str| fs::read_dir(examples().join(folder)).expect("the examples are there").flatten();
    let mut folders: Vec<PathBuf> = ["resources", "data-sources", "functions"]
        .iter()
        .flat_map(|kind| inner(kind))
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    folders
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the workspace is ours");
    for entry in fs::read_dir(from).expect("the example is there").flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target);
        } else {
            _ = fs::copy(&source, &target).expect("the workspace is ours");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_is_applied_plans_as_no_changes_and_is_destroyed() {
    let provider = fs::read_to_string(examples().join("provider/provider.tf")).unwrap();
    // The test supplies the provider's source itself.
    let provider = &provider[provider.find("provider \"k8sconnect\"").unwrap()..];
    let folders = folders();
    assert_eq!(folders.len(), 12, "{folders:?}");
    for folder in folders {
        let case = Case::new("examples", Client::any()).await;
        case.workspace.write("provider.tf", provider);
        copy(&folder, &case.workspace.path(""));
        let run = |arguments: &[&str]| {
            let mut command = case.workspace.command();
            command.env("KUBECONFIG", Sandbox::shared().kubeconfig()).args(arguments);
            Run::from_output(folder.display().to_string(), &command.output().unwrap()).expect_success()
        };
        run(&["apply", "-no-color", "-input=false", "-auto-approve"]);
        run(&["plan", "-no-color", "-input=false", "-detailed-exitcode"]);
        run(&["destroy", "-no-color", "-input=false", "-auto-approve"]);
    }
}

/// These need more than a cluster, or change what others use.
#[tokio::test(flavor = "multi_thread")]
async fn every_other_example_is_valid() {
    for kind in ["ephemeral-resources", "actions", "list-resources"] {
        for folder in fs::read_dir(examples().join(kind)).expect("the examples are there").flatten() {
            let case = Case::new("valid-examples", Client::terraform_1_14()).await;
            copy(&folder.path(), &case.workspace.path(""));
            let arguments: &[&str] = if kind == "list-resources" {
                &["validate", "-query", "-no-color"]
            } else {
                &["validate", "-no-color"]
            };
            case.workspace.run(arguments).expect_success();
        }
    }
}
