//! The committed definitions and rights are those of the descriptions.

use std::fs;
use std::path::Path;

use operator::api::{definitions, role};
use oraclecloud::Catalogue;

/// What `deploy/roles-oci-kinds.yaml` says above the rules.
const ABOUT: &str = "# What the half for Oracle Cloud may do with the kinds that are installed by default, generated from their descriptions.\n\
                     # `plimsoll crds --kinds` prints the same for others.\n";

#[test]
fn the_committed_definitions_and_rights_are_those_of_the_descriptions() {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    let kinds = Catalogue::standard();
    let definitions = definitions(&kinds).into_iter().map(|definition| {
        let name = definition["metadata"]["name"].as_str().expect("a definition has a name");
        (format!("crds/{name}.yaml"), manifest::to_yaml(&definition) + "\n")
    });
    let roles =
        role("plimsoll-oci-kinds", kinds.kinds()).map(|it| manifest::to_yaml(&it) + "\n").join("---\n");
    let roles = ("roles-oci-kinds.yaml".to_owned(), format!("{ABOUT}{roles}"));
    let mut stale = Vec::new();
    for (name, fresh) in definitions.chain([roles]) {
        let path = deploy.join(&name);
        if fs::read_to_string(&path).ok().as_ref() != Some(&fresh) {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, fresh).unwrap();
            stale.push(name);
        }
    }
    assert!(stale.is_empty(), "out of date and written anew, to be committed: {}", stale.join(", "));
}
