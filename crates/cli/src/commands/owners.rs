//! `plimsoll owners`: an object with the manager of every field in the margin.

mod lines;
mod view;

use diag::Diagnostic;
use fields::jsonpath::{JsonPath, Place, Step};
use fields::{FieldPath, PathElement};
use manifest::{ObjectRef, secret, server_metadata};
use ownership::{Entry, FieldManager, Observed};
use serde_json::{Value, json};

use crate::args::owners::Owners;
use crate::codes;
use crate::support::connect::{Cluster, unreadable_managers};
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::mask_key::MASK_KEY;
use crate::support::printer::Printer;
use crate::support::process::until_interrupted;

pub(super) fn run(args: &Owners, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let (cluster, target) = Cluster::with_target(&args.target).await?;
        let live = cluster.read(&target, "Owners").await?;
        let object = ManagedObject::of(&target, live)?;
        match (&args.who, &args.manager) {
            (Some(path), _) => object.who(path, printer),
            (None, Some(name)) => object.part_of(&FieldManager::new(name.as_str()), &target)?.show(printer),
            (None, None) => object.show(printer),
        }
    })
}

/// An object and the managers of its fields.
struct ManagedObject {
    live: Observed,
    /// The part to show, without managedFields. Values of Secrets are masked.
    object: Value,
}

impl ManagedObject {
    fn of(target: &ObjectRef, live: Value) -> Result<Self, Failure> {
        let live = Observed::new(live).map_err(|error| unreadable_managers(target, &error))?;
        let mut object = secret::masked(live.object(), &MASK_KEY);
        server_metadata::remove(object.get_mut("metadata"), server_metadata::OWNERSHIP);
        Ok(Self { live, object })
    }

    /// The part of the object that `manager` holds.
    fn part_of(mut self, manager: &FieldManager, target: &ObjectRef) -> Result<Self, Failure> {
        let held = self.live.managed().held_by(manager);
        if held.is_empty() {
            let managers = view::managers(self.live.managed().entries());
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

    fn show(&self, printer: &mut Printer) -> Outcome {
        let lines = lines::of(&self.object, &self.live).map_err(|mut problems| problems.swap_remove(0))?;
        let entries = self.live.managed().entries();
        let leaves = lines.iter().filter_map(|line| line.field.as_ref());
        let fields = leaves.map(|(path, holders)| json!({ "field": path.to_string(), "managers": holders }));
        let data = json!({ "fields": fields.collect::<Vec<_>>() });
        printer.output(&data, view::managers(entries), |printer| view::object(printer, &lines, entries))?;
        Ok(Exit::Success)
    }

    fn who(&self, path: &str, printer: &mut Printer) -> Outcome {
        let entries = |path: FieldPath| {
            let holders = self.live.managed().holders(&path);
            let entries = self.live.managed().entries().iter();
            let entries = entries
                .filter(|entry| holders.contains(&entry.manager))
                .filter(|entry| entry.fields.touches(&path) || entry.fields.covers(&path));
            (path.clone(), entries.collect())
        };
        let places = places(path, &self.object)?;
        let found: Vec<(FieldPath, Vec<&Entry>)> =
            places.iter().map(|place| entries(self.path_of(place))).collect();
        let flat = || found.iter().flat_map(|(path, entries)| entries.iter().map(move |entry| (path, entry)));
        let row = |(path, entry): (&FieldPath, &&Entry)| {
            json!({
                "field": path.to_string(), "manager": entry.manager, "operation": entry.operation,
                "subresource": entry.subresource, "time": entry.time,
            })
        };
        let data: Vec<Value> = flat().map(row).collect();
        printer
            .output(&data, flat().map(|(_, entry)| &entry.manager), |printer| view::who(printer, &found))?;
        Ok(Exit::Success)
    }

    /// The field path of a place in the object.
    fn path_of(&self, place: &Place) -> FieldPath {
        let (mut value, mut shape) = (&self.object, self.live.schema().root());
        let elements = place.iter().map(|step| {
            let element;
            (element, value) = match step {
                Step::Key(name) => (PathElement::field(name), &value[name.as_str()]),
                Step::Index(index) => (shape.item(*index, &value[*index]), &value[*index]),
            };
            shape = shape.step(&element);
            element
        });
        elements.collect()
    }
}

/// The places that `path` selects in the object; at least one.
fn places(path: &str, object: &Value) -> Result<Vec<Place>, Failure> {
    let unknown = |why: String| {
        Diagnostic::error(codes::FIELD_UNKNOWN, format!("{path} is not a field of the object"))
            .detail(why)
            .hint("Write a path such as spec.replicas or spec.template.spec.containers[0].image.")
    };
    let parsed =
        JsonPath::parse_relaxed(path).map_err(|error| unknown(format!("The path is invalid: {error}.")))?;
    let places =
        parsed.find_places(object).map_err(|error| unknown(format!("It selects nothing: {error}.")))?;
    if places.is_empty() { Err(unknown("It selects nothing.".to_owned()).into()) } else { Ok(places) }
}
