//! `plimsoll owners`: an object with the manager of every field in the margin.

mod view;

use diag::Diagnostic;
use fields::FieldPath;
use fields::jsonpath::{JsonPath, Place};
use ownership::{Entry, FieldManager};
use serde_json::{Value, json};

use crate::args::owners::Owners;
use crate::codes;
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::managed_object::{ManagedObject, managers};
use crate::support::printer::Printer;
use crate::support::process::until_interrupted;

pub(super) fn run(args: &Owners, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let (cluster, target) = Cluster::with_target(&args.target).await?;
        let live = cluster.read(&target, "Owners").await?;
        let object = ManagedObject::of(&target, live)?;
        match (&args.who, &args.manager) {
            (Some(path), _) => who(&object, path, printer),
            (None, Some(name)) => show(&object.part_of(&FieldManager::new(name.as_str()), &target)?, printer),
            (None, None) => show(&object, printer),
        }
    })
}

fn show(object: &ManagedObject, printer: &mut Printer) -> Outcome {
    let (lines, entries) = (object.lines()?, object.entries());
    printer.output(&object.to_json(&lines), managers(entries), |printer| {
        view::object(printer, &lines, entries)
    })?;
    Ok(Exit::Success)
}

fn who(object: &ManagedObject, path: &str, printer: &mut Printer) -> Outcome {
    let entries = |path: FieldPath| {
        let holders = object.live.managed().holders(&path);
        let entries = object.live.managed().entries().iter();
        let entries = entries
            .filter(|entry| holders.contains(&entry.manager))
            .filter(|entry| entry.fields.touches(&path) || entry.fields.covers(&path));
        (path.clone(), entries.collect())
    };
    let places = places(path, &object.object)?;
    let found: Vec<(FieldPath, Vec<&Entry>)> =
        places.iter().map(|place| entries(object.path_of(place))).collect();
    let flat = || found.iter().flat_map(|(path, entries)| entries.iter().map(move |entry| (path, entry)));
    let row = |(path, entry): (&FieldPath, &&Entry)| {
        json!({
            "field": path.to_string(), "manager": entry.manager, "operation": entry.operation,
            "subresource": entry.subresource, "time": entry.time,
        })
    };
    let data: Vec<Value> = flat().map(row).collect();
    printer.output(&data, flat().map(|(_, entry)| &entry.manager), |printer| view::who(printer, &found))?;
    Ok(Exit::Success)
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
