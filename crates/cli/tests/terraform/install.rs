//! `plimsoll terraform install` for configurations of users of the Go provider, and both ways between its address and ours.

use std::fs;
use std::path::Path;

use serde_json::json;
use testkit::Sandbox;
use testkit::terraform::Client;

use crate::schema;
use crate::user::User;

const OWN: &str = "plimsoll.dev/plimsoll/k8sconnect";

/// The only entry of a folder of the mirror.
fn only(folder: &Path) -> String {
    let entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let [only] = &entries[..] else { panic!("{entries:?}") };
    only.to_str().unwrap().to_owned()
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
        let drop_in = only(&user.mirror().join(&address));
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
fn an_uninstall_removes_what_was_installed_and_nothing_else() {
    let user = User::new(Client::any());
    user.install(&["--as-version", "0.3.900"]);
    let address = format!("{}/jmorris0x0/k8sconnect", user.workspace.registry());
    user.requires("jmorris0x0/k8sconnect", "0.3.900");
    user.run(&["init"]).expect_success();
    // A release that was put there by hand.
    let ours = only(&user.mirror().join(OWN));
    let program = |version: &str| {
        let platform = fs::read_dir(user.mirror().join(OWN).join(&ours)).unwrap().next().unwrap().unwrap();
        let folder = user.mirror().join(&address).join(version).join(platform.file_name());
        folder.join(format!("terraform-provider-k8sconnect_v{version}"))
    };
    let foreign = program("0.3.8");
    fs::create_dir_all(foreign.parent().unwrap()).unwrap();
    fs::write(&foreign, "the Go provider").unwrap();

    let planned = user.plimsoll(&["uninstall", "--dry-run"]);
    assert!(planned.contains(&format!("would be removed {address} 0.3.900\n")), "{planned}");
    assert!(planned.contains(&format!("would be removed {OWN} {ours}\n")), "{planned}");
    let kept = format!("kept {address} 0.3.8: plimsoll has not installed it\n");
    assert!(planned.contains(&kept) && program("0.3.900").is_file(), "{planned}");

    let data = |arguments: &[&str]| {
        let printed = user.plimsoll(&[arguments, &["-o", "json", "--quiet"]].concat());
        schema::check("terraform", &printed)
    };
    assert_eq!(data(&["install", "--as-version", "0.3.900"])[0]["version"], "0.3.900");
    let outcomes = data(&["uninstall", "--dry-run"]);
    let outcomes: Vec<&str> =
        outcomes.as_array().unwrap().iter().filter_map(|it| it["outcome"].as_str()).collect();
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == "kept").count(), 1, "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == "possible").count(), 5, "{outcomes:?}");

    let removed = user.plimsoll(&["uninstall"]);
    assert!(
        removed.contains(&format!("removed {address} 0.3.900\n")) && removed.contains(&kept),
        "{removed}"
    );
    assert_eq!(only(&user.mirror().join(&address)), "0.3.8");
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "the Go provider");
    assert_eq!(only(&user.mirror()), user.workspace.registry());
    // Lock files then lead to the error that was announced.
    fs::remove_dir_all(user.workspace.path(".terraform")).unwrap();
    let refused = user.run(&["init"]).expect_failure();
    let title = "Failed to query available provider packages";
    assert!(refused.output().contains(title) && removed.contains(title), "{}", refused.output());
    let again = user.plimsoll(&["uninstall"]);
    assert!(again.contains("plimsoll has installed nothing in"), "{again}");
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
