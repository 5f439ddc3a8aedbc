//! `plimsoll terraform install` for configurations of users of the Go provider, and both ways between its address and ours.

use std::fs;
use std::path::Path;

use serde_json::json;
use testkit::Sandbox;
use testkit::terraform::Client;

use crate::user::User;

const OWN: &str = "plimsoll.dev/plimsoll/k8sconnect";

/// The only version in a folder of the mirror.
fn version(folder: &Path) -> String {
    let versions: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let [version] = &versions[..] else { panic!("{versions:?}") };
    version.to_str().unwrap().to_owned()
}

fn patch(version: &str) -> u32 {
    version.strip_prefix("0.3.").unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn users_of_the_go_provider_only_run_init() {
    let sandbox = Sandbox::shared();
    let namespace = sandbox.namespace("drop-in").await;
    for client in Client::all() {
        let user = User::new(client);
        user.requires("jmorris0x0/k8sconnect", "~> 0.3");
        let address = format!("{}/jmorris0x0/k8sconnect", user.workspace.registry());
        user.locks_the_go_provider();
        user.workspace.write(
            "main.tf",
            &format!(
                "provider \"k8sconnect\" {{\n  cluster = {{ config_paths = [{:?}] }}\n}}\n\nresource \"k8sconnect_object\" \"a\" {{\n  \
                 yaml_body = <<-YAML\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {{name: a, namespace: {}}}\n  YAML\n}}\n",
                sandbox.kubeconfig().display().to_string(),
                namespace.name()
            ),
        );
        // The locked release of the Go provider is not in the mirror, which takes precedence over the registry.
        user.run(&["init"]).expect_failure();
        user.run(&["init", "-upgrade"]).expect_success();
        let drop_in = version(&user.mirror().join(&address));
        assert!(patch(&drop_in) > 8, "{drop_in}");
        let lock = user.lock();
        assert!(lock.contains(&format!("version     = {drop_in:?}")) && !lock.contains("LDsHmGz2"), "{lock}");
        // From now on the lock file is enough.
        user.run(&["init"]).expect_success();
        user.run(&["apply", "-auto-approve"]).expect_success();
        user.run(&["plan", "-detailed-exitcode"]).expect_success();

        // To our address, and back: the state only names another provider.
        let moves = [(OWN, address.as_str(), "~> 0"), (address.as_str(), OWN, "~> 0.3")];
        for (to, from, constraint) in moves {
            user.requires(to, constraint);
            user.run(&["state", "replace-provider", "-auto-approve", from, to]).expect_success();
            user.run(&["init"]).expect_success();
            user.run(&["plan", "-detailed-exitcode"]).expect_success();
        }
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        assert!(namespace.get(&object).await.is_some());
        user.run(&["destroy", "-auto-approve"]).expect_success();
    }
}

#[test]
fn a_settings_file_that_disables_the_mirror_is_reported() {
    let user = User::new(Client::any());
    let again = user.install(&["--as-version", "0.3.900"]);
    assert!(again.contains("jmorris0x0/k8sconnect 0.3.900") && !again.contains("warning"), "{again}");
    assert!(again.contains("For these addresses the folder replaces the registry"), "{again}");
    let program = fs::read_dir(user.mirror().join(OWN)).unwrap().next().unwrap().unwrap().path();
    let program = fs::read_dir(fs::read_dir(program).unwrap().next().unwrap().unwrap().path()).unwrap();
    fs::write(program.into_iter().next().unwrap().unwrap().path(), "another build").unwrap();
    let replaced = user.install(&[]);
    assert!(replaced.contains("warning[provider-replaced]"), "{replaced}");
    fs::write(user.home.path().join(".terraformrc"), "provider_installation {\n  direct {}\n}\n").unwrap();
    let overridden = user.install(&[]);
    assert!(overridden.contains("warning[mirror-not-searched]"), "{overridden}");
    assert!(overridden.contains("filesystem_mirror"), "{overridden}");
}
