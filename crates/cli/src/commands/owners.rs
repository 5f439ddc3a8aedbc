//! `plimsoll owners`: an object with the manager of every field in the margin.

mod lines;
mod view;

use diag::Diagnostic;
use fields::jsonpath::{JsonPath, Place, Step};
use fields::{FieldPath, PathElement};
use manifest::{ObjectRef, secret, server_metadata};
use ownership::{Entry, FieldManager, Observed};
use serde_json::{Value, json};

use crate::args::Format;
use crate::args::owners::Owners;
use crate::codes;
use crate::support::connect::{Cluster, unreadable_managers};
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::printer::Printer;
use crate::support::process::until_interrupted;

pub(super) fn run(args: &Owners, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let cluster = Cluster::connect(&args.target.cluster)?;
        let target = cluster.target(&args.target).await?;
        let live = cluster.read(&target, "Owners").await?;
        let held = Held::of(&target, live)?;
        match (&args.who, &args.manager) {
            (Some(path), _) => held.who(path, printer),
            (None, Some(name)) => held.by(&FieldManager::new(name.as_str()), &target)?.show(printer),
            (None, None) => held.show(printer),
        }
    })
}

/// An object and the managers of its fields.
struct Held {
    live: Observed,
    /// The part to show, without managedFields. Values of Secrets are masked.
    object: Value,
}

impl Held {
    fn of(target: &ObjectRef, live: Value) -> Result<Self, Failure> {
        let live = Observed::new(live).map_err(|error| unreadable_managers(target, &error))?;
        let mut object = secret::masked(live.object());
        server_metadata::remove(object.get_mut("metadata"), server_metadata::OWNERSHIP);
        Ok(Self { live, object })
    }

    /// The part of the object that `manager` holds.
    fn by(mut self, manager: &FieldManager, target: &ObjectRef) -> Result<Self, Failure> {
        let held = self.live.managed().held_by(manager);
        if held.is_empty() {
            let mut names: Vec<&str> =
                self.live.managed().entries().iter().map(|entry| entry.manager.as_str()).collect();
            names.dedup();
            return Err(Diagnostic::error(
                codes::MANAGER_UNKNOWN,
                format!("{manager} holds no field of {target}"),
            )
            .hint(format!("Name one of its managers: {}.", names.join(", ")))
            .into());
        }
        self.object = fields::project(&self.object, &held.union(&fields::identity()), self.live.schema());
        Ok(self)
    }

    fn show(&self, printer: &mut Printer) -> Outcome {
        let lines = lines::of(&self.object, &self.live).map_err(|mut problems| problems.swap_remove(0))?;
        match printer.format() {
            Format::Text => view::object(printer, &lines, self.live.managed().entries())?,
            Format::Name => view::names(printer, self.live.managed().entries())?,
            Format::Json | Format::Yaml => {
                let leaves = lines.iter().filter_map(|line| line.field.as_ref());
                let fields =
                    leaves.map(|(path, holders)| json!({ "field": path.to_string(), "managers": holders }));
                printer.structured(&json!({ "fields": fields.collect::<Vec<_>>() }))?;
            }
        }
        Ok(Exit::Success)
    }

    fn who(&self, path: &str, printer: &mut Printer) -> Outcome {
        let places = places(path, &self.object)?;
        let paths: Vec<FieldPath> = places.iter().map(|place| self.path_of(place)).collect();
        let entries = |path: &FieldPath| -> Vec<&Entry> {
            let holders = self.live.managed().holders(path);
            let entries = self.live.managed().entries().iter();
            entries
                .filter(|entry| holders.contains(&entry.manager))
                .filter(|entry| entry.fields.touches(path) || entry.fields.covers(path))
                .collect()
        };
        let found: Vec<(FieldPath, Vec<&Entry>)> =
            paths.into_iter().map(|path| (path.clone(), entries(&path))).collect();
        match printer.format() {
            Format::Text => view::who(printer, &found)?,
            Format::Name => {
                for entry in found.iter().flat_map(|(_, entries)| entries) {
                    printer.data(&entry.manager)?;
                }
            }
            Format::Json | Format::Yaml => {
                let rows = found.iter().flat_map(|(path, entries)| {
                    entries.iter().map(move |entry| {
                        json!({
                            "field": path.to_string(), "manager": entry.manager, "operation": entry.operation,
                            "subresource": entry.subresource, "time": entry.time,
                        })
                    })
                });
                printer.structured(&rows.collect::<Vec<_>>())?;
            }
        }
        Ok(Exit::Success)
    }

    /// The field path of a place in the object.
    fn path_of(&self, place: &Place) -> FieldPath {
        let (mut value, mut shape) = (&self.object, self.live.schema().root());
        let mut elements: Vec<PathElement> = Vec::new();
        for step in place {
            let element = match step {
                Step::Key(name) => PathElement::field(name),
                Step::Index(index) => lines::item(shape, *index, &value[*index]),
            };
            value = match step {
                Step::Key(name) => &value[name.as_str()],
                Step::Index(index) => &value[*index],
            };
            shape = shape.step(&element);
            elements.push(element);
        }
        elements.into_iter().collect()
    }
}

/// The places that `path` selects in the object; at least one.
fn places(path: &str, object: &Value) -> Result<Vec<Place>, Failure> {
    let wrong = |why: String| {
        Diagnostic::error(codes::FIELD_UNKNOWN, format!("{path} is not a field of the object"))
            .detail(why)
            .hint("Write a path such as spec.replicas or spec.template.spec.containers[0].image.")
    };
    let parsed =
        JsonPath::parse_relaxed(path).map_err(|error| wrong(format!("The path cannot be read: {error}.")))?;
    let places =
        parsed.find_places(object).map_err(|error| wrong(format!("It selects nothing: {error}.")))?;
    if places.is_empty() { Err(wrong("It selects nothing.".to_owned()).into()) } else { Ok(places) }
}
