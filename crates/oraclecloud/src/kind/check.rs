//! Reads the descriptions of a service and refuses those that cannot be served, with the reason.

use serde_json::{Map, Value, json};

use super::{Description, Fields, Kind, Service};

/// Why a description cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionError {
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("{kind}: {problem}")]
    Kind { kind: String, problem: String },
}

impl Service {
    /// Reads and checks the descriptions of a service. They live as long as the program.
    pub fn read(text: &str) -> Result<&'static Self, DescriptionError> {
        let mut written: Value = serde_json::from_str(text)?;
        unfold(&mut written);
        let service: Self = serde_json::from_value(written)?;
        for kind in &service.kinds {
            let report = |problem| DescriptionError::Kind { kind: kind.name.clone(), problem };
            service.check(kind).map_err(report)?;
        }
        Ok(Box::leak(Box::new(service)))
    }

    /// Its kinds.
    pub fn kinds(&'static self) -> Vec<Kind> {
        self.kinds.iter().map(|description| Kind::new(self, description)).collect()
    }

    fn check(&self, kind: &Description) -> Result<(), String> {
        let models = [&kind.spec, &kind.status].into_iter().chain(self.models.values());
        let fields = models.flat_map(|model| [&model.fields].into_iter().chain(model.variants.values()));
        let fields = fields.chain([&kind.listed]);
        for field in fields.flat_map(Fields::values) {
            let shapes = [Some(&field.shape), field.updated.as_ref()].into_iter().flatten();
            let unknown = shapes.filter_map(|it| it.model()).find(|name| !self.models.contains_key(*name));
            if let Some(name) = unknown {
                return Err(format!("there is no model {name}"));
            }
        }
        if let Some(name) = self.models.keys().find(|name| self.reaches(name, name, self.models.len())) {
            return Err(format!("the model {name} contains itself; write any where it does"));
        }
        let named = |fields: &Fields, name: &str, what: &str| {
            let problem = || format!("{what} names the field {name}, which does not exist");
            if fields.contains_key(name) { Ok(()) } else { Err(problem()) }
        };
        kind.scope
            .iter()
            .chain(&kind.exclusive)
            .flatten()
            .try_for_each(|name| named(&kind.spec, name, "scope or exclusive"))?;
        kind.create.parameters().try_for_each(|name| named(&kind.spec, name, "the path of the create"))?;
        named(&kind.spec, &kind.name_field, "nameField")?;
        named(&kind.status, &kind.id_field, "every response")?;
        kind.endpoint.values().try_for_each(|name| named(&kind.status, name, "endpoint"))?;
        kind.address.iter().try_for_each(|name| named(&kind.spec, name, "address"))?;
        if !kind.takes_tags() && !kind.unique_name {
            return Err(
                "it takes no freeformTags, and no uniqueName says that it can be found by its name, so what \
                        belongs to an object cannot be found again"
                    .to_owned(),
            );
        }
        if kind.scope.iter().all(Vec::is_empty) {
            return Err("scope names no parameter of its listing".to_owned());
        }
        if !kind.work_requests.is_empty() && self.work_requests.is_none() {
            return Err("its service describes no workRequests".to_owned());
        }
        Ok(())
    }

    /// Whether a model contains another, over at most this many others.
    fn reaches(&self, model: &str, other: &str, over: usize) -> bool {
        let below = self.models.get(model).into_iter().flat_map(|model| model.values());
        let mut below = below.filter_map(|field| field.shape.model());
        below.any(|name| name == other || over > 0 && self.reaches(name, other, over - 1))
    }
}

/// Writes fields that are one line as objects.
fn unfold(value: &mut Value) {
    let entries = match value {
        Value::Array(entries) => return entries.iter_mut().for_each(unfold),
        Value::Object(entries) => entries,
        _ => return,
    };
    for (name, value) in entries {
        match value {
            Value::Object(fields) if name == "fields" || name == "listed" => unfold_lines(fields),
            Value::Object(variants) if name == "variants" => {
                variants.values_mut().filter_map(Value::as_object_mut).for_each(unfold_lines);
            }
            value => unfold(value),
        }
    }
}

fn unfold_lines(fields: &mut Map<String, Value>) {
    for line in fields.values_mut().filter(|line| line.is_string()) {
        *line = json!({"is": line});
    }
}
