//! The committed definitions are those of the descriptions.

use std::fs;
use std::path::Path;

use oraclecloud::Catalogue;

#[test]
fn the_committed_definitions_are_those_of_the_descriptions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds");
    let mut stale = Vec::new();
    for definition in operator::api::definitions(&Catalogue::standard()) {
        let name = definition["metadata"]["name"].as_str().expect("a definition has a name").to_owned();
        let fresh = manifest::to_yaml(&definition) + "\n";
        let path = folder.join(format!("{name}.yaml"));
        if fs::read_to_string(&path).ok().as_ref() != Some(&fresh) {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, fresh).unwrap();
            stale.push(name);
        }
    }
    assert!(stale.is_empty(), "out of date and written anew, to be committed: {}", stale.join(", "));
}
