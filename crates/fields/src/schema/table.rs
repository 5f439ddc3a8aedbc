//! The table of built-in kinds: facts from Kubernetes' OpenAPI documents, one line each, read once.
//!
//! ```text
//! kind apps/v1 Deployment api.apps.v1.Deployment
//! type api.core.v1.Container
//!   ports keyed containerPort=0,protocol="TCP" plain
//! type api.core.v1.SecretKeySelector atomic
//! ```
//!
//! A shape is `plain`, `quantity`, `int-or-string`, a type's name, `list S`, `set S`, `keyed K,K=default S` or
//! `map S`; `atomic S` and `granular S` overrule what the type itself says.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::KeyField;

/// What is known of the values at one place.
#[derive(Debug)]
pub(super) enum Definition {
    /// Nothing beyond what a value shows: objects have fields, lists are held as a whole.
    Plain,
    Quantity,
    IntOrString,
    Object {
        fields: HashMap<&'static str, Definition>,
        atomic: bool,
    },
    Named(&'static str),
    List(Box<Definition>),
    Set(Box<Definition>),
    Keyed {
        keys: Vec<KeyField>,
        element: Box<Definition>,
    },
    Map(Box<Definition>),
    Atomic(Box<Definition>),
    Granular(Box<Definition>),
}

impl Definition {
    /// The definition behind a name.
    pub(super) fn resolve(&'static self) -> &'static Self {
        match self {
            Self::Named(name) => &TABLE.types[name],
            other => other,
        }
    }
}

/// What is known of objects of this kind; of kinds the table lacks, their metadata.
pub(super) fn definition_of(api_version: &str, kind: &str) -> &'static Definition {
    let of_version = TABLE.kinds.get(api_version);
    of_version.and_then(|kinds| kinds.get(kind)).map_or(&TABLE.custom, |name| &TABLE.types[name])
}

/// Every kind in the table, by API version.
#[cfg(test)]
pub(super) fn kinds() -> Vec<(&'static str, &'static str)> {
    let of_version = |(version, kinds): (&&'static str, &HashMap<&'static str, _>)| {
        kinds.keys().map(|kind| (*version, *kind)).collect::<Vec<_>>()
    };
    let mut kinds: Vec<_> = TABLE.kinds.iter().flat_map(of_version).collect();
    kinds.sort_unstable();
    kinds
}

struct Table {
    kinds: HashMap<&'static str, HashMap<&'static str, &'static str>>,
    types: HashMap<&'static str, Definition>,
    custom: Definition,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| read(include_str!("builtin.txt")));

fn read(text: &'static str) -> Table {
    const METADATA: &str = "apimachinery.pkg.apis.meta.v1.ObjectMeta";
    let custom = HashMap::from([("metadata", Definition::Named(METADATA))]);
    let mut table = Table {
        kinds: HashMap::new(),
        types: HashMap::new(),
        custom: Definition::Object { fields: custom, atomic: false },
    };
    let mut current = None;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_ascii_whitespace();
        let mut word = || words.next().expect("a line of the table is complete");
        match word() {
            "kind" => {
                let (api_version, kind, name) = (word(), word(), word());
                table.kinds.entry(api_version).or_default().insert(kind, name);
            }
            "type" => {
                let name = word();
                let atomic = words.next() == Some("atomic");
                table.types.insert(name, Definition::Object { fields: HashMap::new(), atomic });
                current = Some(name);
            }
            field => {
                let shape = read_shape(&mut words);
                let owner = current.and_then(|name| table.types.get_mut(name));
                if let Some(Definition::Object { fields, .. }) = owner {
                    fields.insert(field, shape);
                }
            }
        }
    }
    table
}

fn read_shape(words: &mut impl Iterator<Item = &'static str>) -> Definition {
    match words.next().expect("a shape is complete") {
        "plain" => Definition::Plain,
        "quantity" => Definition::Quantity,
        "int-or-string" => Definition::IntOrString,
        "list" => Definition::List(Box::new(read_shape(words))),
        "set" => Definition::Set(Box::new(read_shape(words))),
        "map" => Definition::Map(Box::new(read_shape(words))),
        "atomic" => Definition::Atomic(Box::new(read_shape(words))),
        "granular" => Definition::Granular(Box::new(read_shape(words))),
        "keyed" => {
            let keys = words.next().expect("a keyed list has keys").split(',').map(read_key);
            let mut keys: Vec<KeyField> = keys.collect();
            keys.sort_by(|left, right| left.name.cmp(&right.name));
            Definition::Keyed { keys, element: Box::new(read_shape(words)) }
        }
        name => Definition::Named(name),
    }
}

fn read_key(text: &str) -> KeyField {
    let (name, default) = match text.split_once('=') {
        Some((name, default)) => (name, Some(serde_json::from_str(default).expect("a default is JSON"))),
        None => (text, None),
    };
    KeyField { name: name.into(), default }
}
