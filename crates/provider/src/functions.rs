//! Functions of the provider. They are pure and need no cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use diag::{Diagnostic, Source};
use fields::Positions;
use manifest::Limits;
use ownership::Observed;
use tfplugin::provider::{Function, FunctionError, Parameter, Signature};
use tfplugin::types::Type;
use tfplugin::value::{Object, Value};

use crate::codes;
use crate::data;
use crate::dynamic::{dynamic, to_json};

pub(crate) fn all() -> Vec<Arc<dyn Function>> {
    vec![Arc::new(YAML_SPLIT), Arc::new(YAML_SCOPED), Arc::new(ENCODE), Arc::new(DECODE), Arc::new(OWNERS)]
}

/// A function of one argument.
struct OneArgument {
    name: &'static str,
    summary: &'static str,
    description: &'static str,
    parameter: (&'static str, Type, &'static str),
    result: fn() -> Type,
    call: fn(&Value) -> Result<Value, Box<Diagnostic>>,
}

impl Function for OneArgument {
    fn name(&self) -> &'static str {
        self.name
    }

    fn signature(&self) -> Signature {
        let (name, ty, about) = &self.parameter;
        let parameter =
            Parameter { name: (*name).to_owned(), ty: ty.clone(), description: (*about).to_owned() };
        Signature {
            summary: self.summary.to_owned(),
            description: self.description.to_owned(),
            parameters: vec![parameter],
            result: (self.result)(),
        }
    }

    fn call(&self, arguments: Vec<Value>) -> Result<Value, FunctionError> {
        let argument = arguments.first().unwrap_or(&Value::Null);
        (self.call)(argument).map_err(|diagnostic| FunctionError { argument: Some(0), diagnostic })
    }
}

const YAML_SPLIT: OneArgument = OneArgument {
    name: "yaml_split",
    summary: "Splits multi-document YAML into single manifests.",
    description: "Returns the manifests as they were written, by `[group.]kind[.namespace].name`: `apps.deployment.shop.web`. \
                  The same as the data source `k8sconnect_yaml_split`, without a read.",
    parameter: ("content", Type::String, "YAML with any number of documents."),
    result: || Type::map(Type::String),
    call: |content| {
        let maps = data::split(content.as_str().unwrap_or_default(), &data::YAML_SPLIT)?;
        Ok(maps.get("manifests").clone())
    },
};

const YAML_SCOPED: OneArgument = OneArgument {
    name: "yaml_scoped",
    summary: "Splits multi-document YAML into CRDs, cluster-scoped and namespaced manifests.",
    description: "Returns the three maps `crds`, `cluster_scoped` and `namespaced`. The same as the data source \
                  `k8sconnect_yaml_scoped`, without a read.",
    parameter: ("content", Type::String, "YAML with any number of documents."),
    result: || {
        let map = || Type::map(Type::String);
        Type::object([("crds", map()), ("cluster_scoped", map()), ("namespaced", map())])
    },
    call: |content| {
        let maps = data::split(content.as_str().unwrap_or_default(), &data::YAML_SCOPED)?;
        Ok(Value::Object(maps))
    },
};

const ENCODE: OneArgument = OneArgument {
    name: "encode",
    summary: "Writes a value as YAML, as Kubernetes' tools do.",
    description: "Writes a value as Go's `sigs.k8s.io/yaml` writes it: fields sorted, and quotes only where they are needed. \
                  Texts that YAML 1.1 reads as something else, such as `yes` or `0o7`, are quoted.",
    parameter: ("value", Type::Dynamic, "Any value, usually an object."),
    result: || Type::String,
    call: |value| Ok(manifest::to_yaml(&to_json(value)).into()),
};

const DECODE: OneArgument = OneArgument {
    name: "decode",
    summary: "Reads one YAML document, as Kubernetes' tools do.",
    description: "Reads a document as Go's `sigs.k8s.io/yaml` reads it: `yes` and `on` are booleans, `0o7` is a number, and \
                  duplicate fields are errors.",
    parameter: ("text", Type::String, "One YAML or JSON document."),
    result: || Type::Dynamic,
    call: |text| {
        let source = Source::new("text", text.as_str().unwrap_or_default());
        match manifest::read(&source, &Limits::default()).single() {
            Ok(document) => Ok(dynamic(Some(&document.into_value()))),
            Err(problems) => {
                let problem = problems.into_iter().next().expect("what cannot be read has a problem");
                Err(Box::new(if problem.code == manifest::codes::SEVERAL_DOCUMENTS {
                    problem.hint("Split the text with provider::k8sconnect::yaml_split.")
                } else {
                    problem
                }))
            }
        }
    },
};

const OWNERS: OneArgument = OneArgument {
    name: "owners",
    summary: "Says which managers hold the fields of an object.",
    description: "Returns the managers of every field in the object's `managedFields`, by path. The `object` of a data source \
                  has no `managedFields`; decode its `yaml_body` instead.",
    parameter: ("object", Type::Dynamic, "An object with its `metadata.managedFields`."),
    result: || Type::map(Type::list(Type::String)),
    call: owners,
};

fn owners(object: &Value) -> Result<Value, Box<Diagnostic>> {
    let observed = Observed::new(to_json(object)).map_err(|error| {
        Diagnostic::error(codes::PROJECTION_FAILED, "Invalid managedFields")
            .detail(format!("The managedFields of the object cannot be read: {error}."))
            .hint("Pass an object as the API server returned it.")
    })?;
    let positions = Positions::of(observed.object(), observed.schema());
    let mut holders: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for entry in observed.managed().entries() {
        for path in entry.fields.clone().leaves().paths() {
            holders.entry(positions.print(&path)).or_default().insert(entry.manager.as_str());
        }
    }
    let holders = holders.into_iter().map(|(path, managers)| {
        let managers: Vec<&str> = managers.into_iter().collect();
        (path, Value::from(managers))
    });
    Ok(Value::Object(holders.collect::<Object>()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(function: &OneArgument, argument: Value) -> Result<Value, String> {
        function.call(vec![argument]).map_err(|error| error.diagnostic.summary)
    }

    #[test]
    fn yaml_is_written_and_read_as_go_does() {
        let value = dynamic(Some(&json!({"b": "yes", "a": [1, {"c": null}], "d": "1e3"})));
        let yaml = "a:\n- 1\n- c: null\nb: \"yes\"\nd: \"1e3\"\n";
        assert_eq!(call(&ENCODE, value.clone()), Ok(yaml.into()));
        assert_eq!(call(&DECODE, yaml.into()), Ok(value));
        assert_eq!(call(&DECODE, "a: yes".into()), Ok(dynamic(Some(&json!({"a": true})))));
        assert!(call(&DECODE, "a: 1\n---\nb: 2".into()).is_err());
        assert!(call(&DECODE, "a: [".into()).is_err());
    }

    #[test]
    fn owners_are_listed_by_path() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1", "b": "2"}, "metadata": {
        "name": "x", "managedFields": [
            {"manager": "one", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:data": {"f:a": {}, "f:b": {}}}},
            {"manager": "another", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
             "fieldsV1": {"f:data": {"f:b": {}}}},
        ]}});
        let expected = Object::new().with("data.a", vec!["one"]).with("data.b", vec!["another", "one"]);
        assert_eq!(call(&OWNERS, dynamic(Some(&object))), Ok(expected.into()));
    }

    #[test]
    fn manifests_are_split_as_the_data_sources_split_them() {
        let content = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\n";
        let keys = |value: &Value| -> Vec<String> {
            value.as_object().unwrap().iter().map(|(key, _)| key.to_owned()).collect()
        };
        assert_eq!(keys(&call(&YAML_SPLIT, content.into()).unwrap()), ["configmap.shop.a", "namespace.shop"]);
        let scoped = call(&YAML_SCOPED, content.into()).unwrap();
        assert_eq!(keys(scoped.as_object().unwrap().get("cluster_scoped")), ["namespace.shop"]);
        assert_eq!(call(&YAML_SPLIT, "a: [".into()), Err("Document Loading Error".to_owned()));
    }
}
