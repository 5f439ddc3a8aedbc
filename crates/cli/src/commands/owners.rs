//! `plimsoll owners`: an object with the manager of every field in the margin.

mod since;
mod view;

use std::collections::BTreeSet;
use std::io;

use diag::Diagnostic;
use fields::jsonpath::JsonPath;
use fields::{FieldPath, IgnoreFields};
use manifest::ObjectRef;
use ownership::{Entry, FieldManager};
use serde_json::{Value, json};

use self::since::Since;
use crate::args::owners::Owners;
use crate::codes;
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::managed_object::{ManagedObject, managers};
use crate::support::object_json;
use crate::support::printer::{DIM, Printer};
use crate::support::process::until_interrupted;
use crate::support::targets::{Choice, Targets, Unshown};

pub(super) fn run(args: &Owners, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let targets = Targets::find_some(&args.objects, "Owners", printer).await?;
        let (mut answers, mut unshown) = (Vec::new(), Unshown::default());
        for target in targets.objects {
            let answer = Answer::of(&targets.cluster, &target, args).await;
            answers.extend(unshown.or_note(targets.choice, answer)?.map(|answer| (target, answer)));
        }
        let names: Vec<FieldManager> = answers.iter().flat_map(|(_, answer)| answer.managers()).collect();
        let is_one = targets.choice == Choice::One;
        let mut data = Vec::new();
        for (target, answer) in &answers {
            data.push(match answer.to_json()? {
                only if is_one => only,
                Value::Array(holders) => object_json(target, json!({ "holders": holders })),
                fields => object_json(target, fields),
            });
        }
        let data = targets.choice.document(data);
        let mut shown = Ok(());
        printer.output(&data, names, |printer| {
            for (target, answer) in &answers {
                if !is_one {
                    printer.data(format_args!("{DIM}# {target}{DIM:#}"))?;
                }
                shown = answer.show(printer);
            }
            Ok(())
        })?;
        shown?;
        Ok(if unshown.report(printer) { Exit::Success } else { Exit::Failure })
    })
}

/// What is shown of one object.
enum Answer {
    Object(ManagedObject),
    /// The holders of the fields that were asked for.
    Who(Vec<(FieldPath, Vec<Entry>)>),
    Since(Since),
}

impl Answer {
    async fn of(cluster: &Cluster, target: &ObjectRef, args: &Owners) -> Result<Self, Failure> {
        let live = cluster.read(target, "Owners").await?;
        let object = ManagedObject::of(target, live)?;
        Ok(match (&args.who, &args.manager) {
            _ if args.since => Self::Since(Since::of(&cluster.session, target, &object.live).await?),
            (Some(path), _) => Self::Who(who(&object, path)?),
            (None, Some(name)) => Self::Object(object.part_of(&FieldManager::new(name.as_str()), target)?),
            (None, None) => Self::Object(object),
        })
    }

    fn managers(&self) -> Vec<FieldManager> {
        match self {
            Self::Object(object) => managers(object.entries()),
            Self::Who(found) => {
                found.iter().flat_map(|(_, entries)| entries).map(|entry| entry.manager.clone()).collect()
            }
            Self::Since(since) => {
                let managers: BTreeSet<_> = since.changes.iter().flat_map(|it| it.held_now.clone()).collect();
                managers.into_iter().collect()
            }
        }
    }

    fn to_json(&self) -> Result<Value, Failure> {
        let row = |path: &FieldPath, entry: &Entry| {
            json!({
                "field": path.notation().to_string(), "manager": entry.manager, "operation": entry.operation,
                "subresource": entry.subresource, "time": entry.time,
            })
        };
        match self {
            Self::Object(object) => Ok(object.to_json(&object.lines()?)),
            Self::Who(found) => {
                let rows = found
                    .iter()
                    .flat_map(|(path, entries)| entries.iter().map(move |entry| row(path, entry)));
                Ok(rows.collect())
            }
            Self::Since(since) => Ok(since.to_json()),
        }
    }

    fn show(&self, printer: &mut Printer) -> Result<(), Failure> {
        let shown: io::Result<()> = match self {
            Self::Object(object) => view::object(printer, &object.lines()?, object.entries()),
            Self::Who(found) => view::who(printer, found),
            Self::Since(since) => since.show(printer),
        };
        Ok(shown?)
    }
}

/// The holders of the fields that `path` names.
fn who(object: &ManagedObject, path: &str) -> Result<Vec<(FieldPath, Vec<Entry>)>, Failure> {
    let entries = |path: FieldPath| {
        let holders = object.live.managed().holders(&path);
        let entries = object.live.managed().entries().iter();
        let entries = entries
            .filter(|entry| holders.contains(&entry.manager))
            .filter(|entry| entry.fields.touches(&path) || entry.fields.covers(&path));
        (path.clone(), entries.cloned().collect())
    };
    Ok(named(object, path)?.into_iter().map(entries).collect())
}

/// The fields that `path` names; at least one.
fn named(object: &ManagedObject, path: &str) -> Result<Vec<FieldPath>, Failure> {
    let unknown = |why: String| {
        Diagnostic::error(codes::FIELD_UNKNOWN, format!("{path} is not a field of the object"))
            .detail(why)
            .hint("Write a path such as spec.replicas or spec.template.spec.containers[name=\"web\"].image.")
    };
    let pattern =
        IgnoreFields::naming(path).map_err(|error| unknown(format!("The path is invalid: {error}.")))?;
    let named = pattern.on(&object.object, object.live.schema()).named();
    if !named.is_empty() {
        return Ok(named);
    }
    let why = JsonPath::parse_relaxed(path).ok().and_then(|path| path.find(&object.object).err());
    let why = why.map_or_else(String::new, |error| format!(": {error}"));
    Err(unknown(format!("It selects nothing{why}.")).into())
}
