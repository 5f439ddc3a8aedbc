//! An object and the managers of its fields, for the terminal, for programs and for the page.

mod lines;

pub(crate) use lines::Line;

use diag::Diagnostic;
use manifest::{ObjectRef, secret, server_metadata};
use ownership::{Entry, FieldManager, Observed};
use serde_json::{Value, json};

use super::connect::unreadable_managers;
use super::exit::Failure;
use super::mask_key::MASK_KEY;
use crate::codes;

pub(crate) struct ManagedObject {
    pub(crate) live: Observed,
    /// The part to show, without managedFields. Values of Secrets are masked.
    pub(crate) object: Value,
}

impl ManagedObject {
    pub(crate) fn of(target: &ObjectRef, live: Value) -> Result<Self, Failure> {
        let live = Observed::new(live).map_err(|error| unreadable_managers(target, &error))?;
        let mut object = secret::masked(live.object(), &MASK_KEY);
        server_metadata::remove(object.get_mut("metadata"), server_metadata::OWNERSHIP);
        Ok(Self { live, object })
    }

    /// The part of the object that `manager` holds.
    pub(crate) fn part_of(mut self, manager: &FieldManager, target: &ObjectRef) -> Result<Self, Failure> {
        let held = self.live.managed().held_by(manager);
        if held.is_empty() {
            let managers = managers(self.entries());
            let names: Vec<&str> = managers.iter().map(FieldManager::as_str).collect();
            return Err(Diagnostic::error(
                codes::MANAGER_UNKNOWN,
                format!("{manager} holds no field of {target}"),
            )
            .hint(format!("Choose one of its managers: {}.", names.join(", ")))
            .into());
        }
        self.object = fields::project(&self.object, &held.union(&fields::identity()), self.live.schema());
        Ok(self)
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        self.live.managed().entries()
    }

    /// The object as lines of YAML.
    pub(crate) fn lines(&self) -> Result<Vec<Line>, Failure> {
        lines::of(&self.object, &self.live).map_err(|mut problems| problems.swap_remove(0).into())
    }

    /// The object as `plimsoll owners -o json` prints it: its text, and where in it each field is.
    pub(crate) fn to_json(&self, lines: &[Line]) -> Value {
        let field = |(index, line): (usize, &Line)| {
            let (path, holders) = line.field.as_ref()?;
            let below = lines[index + 1..].iter().take_while(|line| line.continues).count();
            Some(json!({
                "field": path.notation().to_string(), "managers": holders,
                // Which of the entries in `managers` below say so.
                "entries": self.live.managed().entries_with(path),
                "line": index + 1, "lines": 1 + below,
            }))
        };
        let manager = |entry: &Entry| {
            json!({
                "manager": entry.manager, "operation": entry.operation, "subresource": entry.subresource,
                "time": entry.time, "fields": entry.fields.clone().leaves().len(),
            })
        };
        json!({
            "fields": lines.iter().enumerate().filter_map(field).collect::<Vec<_>>(),
            "managers": self.entries().iter().map(manager).collect::<Vec<_>>(),
            "yaml": lines.iter().flat_map(|line| [line.text.as_str(), "\n"]).collect::<String>(),
        })
    }
}

/// Every manager once, in the API server's order.
pub(crate) fn managers(entries: &[Entry]) -> Vec<FieldManager> {
    let mut managers: Vec<FieldManager> = Vec::new();
    for entry in entries {
        if !managers.contains(&entry.manager) {
            managers.push(entry.manager.clone());
        }
    }
    managers
}
