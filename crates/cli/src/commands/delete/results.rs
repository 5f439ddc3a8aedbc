//! Deletes objects, and says what came of each: to a person as soon as it is known, to a program at the end.

use std::cell::RefCell;
use std::io;

use cluster::{Class, Deletion, Error, Session};
use diag::Diagnostic;
use manifest::ObjectRef;
use serde_json::{Value, json};

use crate::codes;
use crate::support::concurrency::{all, until};
use crate::support::connect::missing;
use crate::support::exit::{Exit, Outcome};
use crate::support::in_flight::InFlight;
use crate::support::object_json;
use crate::support::printer::{BAD, DIM, GOOD, PENDING, Printer, object_name};
use crate::support::process::{INTERRUPTED, interrupt};
use crate::support::report::finding;

/// The error for an object that does not exist; deletions are limited to one namespace.
pub(super) fn missing_here(target: &ObjectRef) -> Diagnostic {
    let finding = missing(target);
    if target.namespace.is_some() {
        finding.hint("Choose another namespace with --namespace.")
    } else {
        finding
    }
}

/// The outcome for one object.
pub(in crate::commands) enum DeleteResult {
    /// It did not exist.
    Absent,
    Ended(Deletion),
    /// A dry run: it could be deleted.
    Possible,
    /// It was left alone, for this reason.
    Kept(String),
    /// The user pressed Ctrl-C before it ended.
    Interrupted,
    Failed(Box<Diagnostic>),
}

impl DeleteResult {
    /// Whether `named` objects, which should exist, make the command fail.
    pub(super) fn is_failure(&self, named: bool) -> bool {
        match self {
            Self::Absent => named,
            Self::Possible => false,
            Self::Ended(ended) => matches!(ended, Deletion::Stuck(_)),
            Self::Kept(_) | Self::Failed(_) | Self::Interrupted => true,
        }
    }

    const fn word(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Ended(Deletion::Gone { .. }) => "gone",
            Self::Ended(Deletion::Recreated) => "replaced",
            Self::Ended(Deletion::Requested) => "asked",
            Self::Ended(Deletion::Stuck(_)) => "stuck",
            Self::Possible => "possible",
            Self::Kept(_) => "kept",
            Self::Interrupted => "interrupted",
            Self::Failed(_) => "failed",
        }
    }

    fn finding(&self, target: &ObjectRef, named: bool) -> Option<Diagnostic> {
        match self {
            Self::Absent if named => Some(missing_here(target)),
            Self::Failed(diagnostic) => Some((**diagnostic).clone()),
            Self::Ended(Deletion::Stuck(stuck)) => Some(stuck.diagnostic().hint(
                "Wait longer with --timeout, let the controllers behind the finalizers finish, or remove the finalizers with --remove-finalizers.",
            )),
            Self::Ended(ended) => ended.warning(target),
            Self::Absent | Self::Possible | Self::Kept(_) | Self::Interrupted => None,
        }
    }
}

/// Deletes all of them at the same time, each as `how` says, until the user presses Ctrl-C.
pub(in crate::commands) async fn delete_all(
    session: &Session,
    targets: Vec<ObjectRef>,
    how: &impl Fn(&ObjectRef) -> cluster::Delete,
    printer: &mut Printer,
) -> io::Result<Vec<(ObjectRef, DeleteResult)>> {
    let in_flight = InFlight::new(printer.progress(targets.len(), "deleting"));
    let (printer, unwritten) = (RefCell::new(printer), RefCell::new(None));
    let deleted = targets.iter().enumerate().map(|(place, target)| {
        let work = in_flight.track(target, async move {
            match delete_one(session, target, how(target)).await {
                Ok(result) => result,
                Err(error) => DeleteResult::Failed(Box::new(error.diagnostic("Delete"))),
            }
        });
        let (in_flight, printer, unwritten) = (&in_flight, &printer, &unwritten);
        async move {
            let result = work.await;
            let shown = in_flight.beside(|| printer.borrow_mut().progress_line(line(target, &result)));
            // A closed terminal is not a reason to stop deletions.
            if let Err(error) = shown {
                unwritten.borrow_mut().get_or_insert(error);
            }
            (place, result)
        }
    });
    let ended = until(interrupt(), deleted).await;
    in_flight.finish();
    if let Some(error) = unwritten.into_inner() {
        return Err(error);
    }
    let mut ended = ended.into_iter().peekable();
    let result = |(place, target)| {
        let ended = ended.next_if(|(ended, _)| *ended == place);
        (target, ended.map_or(DeleteResult::Interrupted, |(_, result)| result))
    };
    Ok(targets.into_iter().enumerate().map(result).collect())
}

/// Whether the user pressed Ctrl-C.
pub(in crate::commands) fn is_interrupted(results: &[(ObjectRef, DeleteResult)]) -> bool {
    results.iter().any(|(_, result)| matches!(result, DeleteResult::Interrupted))
}

/// Asks of each whether it could be deleted.
pub(super) async fn try_all(
    session: &Session,
    targets: Vec<ObjectRef>,
    printer: &mut Printer,
) -> io::Result<Vec<(ObjectRef, DeleteResult)>> {
    let in_flight = InFlight::new(printer.progress(targets.len(), "checking"));
    let tried = targets.into_iter().map(|target| {
        in_flight.track(target.clone(), async {
            let result = match session.try_delete(&target).await {
                Ok(true) => DeleteResult::Possible,
                Ok(false) => DeleteResult::Absent,
                Err(error) if is_without_kind(&error) => DeleteResult::Absent,
                Err(error) => DeleteResult::Failed(Box::new(error.diagnostic("Delete"))),
            };
            (target, result)
        })
    });
    let results = all(tried).await;
    in_flight.finish();
    show(printer, &results)?;
    Ok(results)
}

/// Tells a person what came of objects.
pub(super) fn show(printer: &mut Printer, results: &[(ObjectRef, DeleteResult)]) -> io::Result<()> {
    results.iter().try_for_each(|(target, result)| printer.progress_line(line(target, result)))
}

/// Whether the object cannot exist, because its kind does not.
fn is_without_kind(error: &Error) -> bool {
    error.is_kind_absent() || error.class() == Class::InvalidGroup
}

async fn delete_one(
    session: &Session,
    target: &ObjectRef,
    how: cluster::Delete,
) -> Result<DeleteResult, Error> {
    let live = match session.read(target).await {
        Err(error) if is_without_kind(&error) => return Ok(DeleteResult::Absent),
        read => read?,
    };
    let Some(live) = live else { return Ok(DeleteResult::Absent) };
    // A new object of the same name is not ours to delete.
    let uid = how.uid.or_else(|| live.object["metadata"]["uid"].as_str().map(str::to_owned));
    session.delete(target, &cluster::Delete { uid, ..how }).await.map(DeleteResult::Ended)
}

/// Says how the deletions ended: people have seen each of them. `named` objects should have existed.
pub(in crate::commands) fn finish(
    printer: &mut Printer,
    results: &[(ObjectRef, DeleteResult)],
    named: bool,
) -> Outcome {
    if results.is_empty() {
        printer.message("there is nothing to delete");
    }
    let data: Vec<Value> = results.iter().map(|(target, result)| to_json(target, result, named)).collect();
    let deleted = results.iter().filter(|(_, result)| {
        let is_ended = matches!(result, DeleteResult::Ended(Deletion::Gone { .. } | Deletion::Requested));
        is_ended || matches!(result, DeleteResult::Possible)
    });
    let names = deleted.map(|(target, _)| object_name(target));
    let left = results.iter().filter(|(_, result)| matches!(result, DeleteResult::Interrupted));
    let left: Vec<&ObjectRef> = left.map(|(target, _)| target).collect();
    printer.outcome(&data, names, |printer| {
        left.iter().try_for_each(|target| printer.data(line(target, &DeleteResult::Interrupted)))
    })?;
    for finding in results.iter().filter_map(|(target, result)| result.finding(target, named)) {
        printer.diagnostic(&finding);
    }
    if !left.is_empty() {
        printer.diagnostic(&interrupted(left.len()));
        return Ok(Exit::Passed(INTERRUPTED));
    }
    let failed = results.iter().any(|(_, result)| result.is_failure(named));
    Ok(if failed { Exit::Failure } else { Exit::Success })
}

fn interrupted(left: usize) -> Diagnostic {
    let objects = if left == 1 { "1 deletion has" } else { &format!("{left} deletions have") };
    Diagnostic::error(codes::INTERRUPTED, format!("interrupted: {objects} not ended"))
        .detail("A deletion that has begun goes on without this program; others were not requested.")
        .hint("Delete again to see how they end.")
}

fn line(target: &ObjectRef, result: &DeleteResult) -> String {
    match result {
        DeleteResult::Absent => format!("{DIM}  {target} did not exist{DIM:#}"),
        DeleteResult::Kept(why) => format!("{DIM}= {target}   kept: {why}{DIM:#}"),
        DeleteResult::Failed(_) => format!("{BAD}! {target} was not deleted{BAD:#}"),
        DeleteResult::Possible => format!("{PENDING}- {target} would be deleted{PENDING:#}"),
        DeleteResult::Interrupted => format!("{BAD}? {target} may still exist{BAD:#}"),
        DeleteResult::Ended(Deletion::Requested) => {
            format!("{PENDING}- {target} is being deleted{PENDING:#}")
        }
        DeleteResult::Ended(Deletion::Stuck(_)) => format!("{BAD}! {target} still exists{BAD:#}"),
        DeleteResult::Ended(Deletion::Recreated) => {
            format!("{PENDING}- {target} is gone, and a new object has its name{PENDING:#}")
        }
        DeleteResult::Ended(Deletion::Gone { .. }) => format!("{GOOD}- {target} is gone{GOOD:#}"),
    }
}

fn to_json(target: &ObjectRef, result: &DeleteResult, named: bool) -> Value {
    let forced = match result {
        DeleteResult::Ended(Deletion::Gone { forced }) => forced.clone(),
        _ => Vec::new(),
    };
    let mut fields = json!({ "outcome": result.word(), "forcedFinalizers": forced });
    if let DeleteResult::Kept(why) = result {
        fields["why"] = why.as_str().into();
    }
    if let Some(why) = result.finding(target, named) {
        fields["finding"] = finding(&why);
    }
    object_json(target, fields)
}
