//! Schemas in the messages of the protocol.

use super::*;

fn schema() -> Schema {
    Schema::new()
        .version(2)
        .description("A *thing*.")
        .attribute(Attribute::computed("id", Type::String))
        .attribute(Attribute::required(
            "cluster",
            Kind::nested([
                Attribute::optional("token", Type::String).sensitive(),
                Attribute::optional("exec", Kind::nested([Attribute::required("command", Type::String)])),
            ]),
        ))
        .attribute(Attribute::optional("replicas", Type::Number).deprecated("Use scale."))
        .attribute(Attribute::optional("password", Type::String).write_only())
}

#[test]
fn the_type_of_a_schema_is_an_object_of_its_attributes() {
    assert_eq!(
        schema().ty().to_string(),
        r#"["object",{"cluster":["object",{"exec":["object",{"command":"string"}],"token":"string"}],"id":"string","password":"string","replicas":"number"}]"#
    );
}

#[test]
fn attributes_are_found_by_path() {
    let find = |path: Path| schema().find(&path).map(|attribute| attribute.name.clone());
    assert_eq!(find(Path::of("cluster").attribute("exec").attribute("command")).as_deref(), Some("command"));
    assert_eq!(find(Path::of("cluster").attribute("nope")), None);
    assert_eq!(find(Path::root()), None);
}

#[test]
fn flags_are_sent_to_terraform() {
    let block = schema().to_proto().block.unwrap();
    assert_eq!((block.version, block.description.as_str(), block.description_kind), (2, "A *thing*.", 1));
    let flags: Vec<_> = block
        .attributes
        .iter()
        .map(|a| {
            let flags = [
                ("required", a.required),
                ("optional", a.optional),
                ("computed", a.computed),
                ("sensitive", a.sensitive),
                ("write-only", a.write_only),
                ("deprecated", a.deprecated),
                ("nested", a.nested_type.is_some()),
            ];
            let set: Vec<_> = flags.iter().filter(|(_, set)| *set).map(|(name, _)| *name).collect();
            format!("{}: {}", a.name, set.join(" "))
        })
        .collect();
    assert_eq!(
        flags,
        [
            "id: computed",
            "cluster: required nested",
            "replicas: optional deprecated",
            "password: optional write-only"
        ]
    );
    let cluster = block.attributes[1].nested_type.as_ref().unwrap();
    assert!(block.attributes[1].r#type.is_empty());
    assert!(cluster.attributes[0].sensitive);
    assert_eq!(cluster.attributes[1].nested_type.as_ref().unwrap().nesting, 1);
}
