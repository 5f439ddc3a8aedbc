//! `plimsoll wait`: waits until objects meet conditions, and prints the values it waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use cluster::{Readiness, Selection, Session, WaitOutcome};
use diag::Diagnostic;
use futures::stream::{FuturesUnordered, StreamExt as _};
use indicatif::ProgressBar;
use manifest::{GoDuration, GroupVersionKind, Namespace, ObjectRef, secret};
use readiness::{Check, Cut, Health, Mode, Wait, WrittenWait};
use serde_json::{Value, json};

use crate::args::wait::{Wait as Args, WaitFor};
use crate::codes;
use crate::support::concurrency::all;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::mask_key::MASK_KEY;
use crate::support::object_json;
use crate::support::printer::{DIM, GOOD, Printer, object_name};
use crate::support::process::until_interrupted;
use crate::support::report::finding;
use crate::support::targets::{Choice, Targets, nothing_selected};

/// How many objects of a kind are asked which conditions they report.
const MOST_ASKED: usize = 100;

pub(super) fn run(args: &Args, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let targets = Targets::find(&args.objects, "Wait", printer).await?;
        if targets.objects.is_empty() {
            return nothing_to_wait_for(args, printer);
        }
        let session = &targets.cluster.session;
        let mut waits = Vec::new();
        for target in &targets.objects {
            let mut goals = Vec::new();
            for written in &args.goals {
                goals.push(Goal::of(written, args, target, printer)?);
            }
            waits.push((target, goals));
        }
        warn_of_unreported(session, &waits, printer).await;
        if targets.choice != Choice::Selected && args.timeout > GoDuration::default() {
            announce_absent(session, &waits, printer).await;
        }
        let bar = printer.spinner();
        let mut ended: FuturesUnordered<_> = waits
            .iter()
            .enumerate()
            .map(async |(number, (target, goals))| {
                (number, *target, wait(session, target, goals, args.any, &bar).await)
            })
            .collect();
        let mut results = Vec::new();
        while let Some((number, target, result)) = ended.next().await {
            for met in &result.met {
                let words = &met.words;
                bar.suspend(|| printer.message(format_args!("{GOOD}met{GOOD:#} {target} {words}")));
            }
            results.push((number, target, result));
        }
        bar.finish_and_clear();
        results.sort_by_key(|(number, ..)| *number);
        let results: Vec<_> = results.into_iter().map(|(_, target, result)| (target, result)).collect();
        // One wait for one object yields the value itself.
        let is_single = targets.choice == Choice::One && args.goals.len() == 1;
        if !is_single || results.iter().all(|(_, result)| result.is_met) {
            show(printer, &results, is_single, args.show_secrets)?;
        }
        for failure in results.iter().flat_map(|(_, result)| &result.unmet) {
            printer.failure(failure);
        }
        let is_met = results.iter().all(|(_, result)| result.is_met);
        Ok(if is_met { Exit::Success } else { Exit::Failure })
    })
}

/// Says at once what does not exist: its name may be misspelt.
async fn announce_absent(session: &Session, waits: &[(&ObjectRef, Vec<Goal>)], printer: &mut Printer) {
    let is_waited_for = |target: &ObjectRef, goal: &Goal| match goal {
        Goal::Presence { wanted, .. } => *wanted,
        // The wait for what never comes ends at once.
        Goal::State(wait) => matches!(wait.check_absent(&target.gvk), Check::NotYet(_)),
    };
    let looked_at = waits.iter().filter(|(target, goals)| goals.iter().all(|it| is_waited_for(target, it)));
    let reads = looked_at.map(async |(target, _)| (*target, session.read(target).await));
    for (target, _) in all(reads).await.iter().filter(|(_, read)| matches!(read, Ok(None))) {
        printer.message(format_args!("{target} does not exist yet; waiting"));
    }
}

/// A selection without objects: they are gone, if that is what was waited for.
fn nothing_to_wait_for(args: &Args, printer: &mut Printer) -> Outcome {
    if !args.goals.iter().all(|goal| matches!(goal, WaitFor::Deletion)) {
        return Err(nothing_selected(&args.objects).into());
    }
    printer.message("there is nothing to wait for");
    show(printer, &[], false, false)?;
    Ok(Exit::Success)
}

/// What one object has to reach.
enum Goal {
    State(Box<Wait>),
    /// That the object exists, or does not.
    Presence {
        wanted: bool,
        timeout: GoDuration,
    },
}

/// A goal that an object reached.
struct Met {
    /// `condition "Ready"=True`
    words: String,
    value: Option<Value>,
}

/// How the wait for one object ended.
struct WaitResult {
    met: Vec<Met>,
    unmet: Vec<Failure>,
    is_met: bool,
}

/// Waits until the object has reached all of its goals, or any of them. Ends as soon as that is decided.
async fn wait(
    session: &Session,
    target: &ObjectRef,
    goals: &[Goal],
    any: bool,
    bar: &ProgressBar,
) -> WaitResult {
    let reached = async |(number, goal): (usize, &Goal)| (number, goal.reach(session, target, bar).await);
    let mut ended: FuturesUnordered<_> = goals.iter().enumerate().map(reached).collect();
    let (mut met, mut unmet) = (Vec::new(), Vec::new());
    while let Some((number, outcome)) = ended.next().await {
        match outcome {
            Ok(reached) => met.push((number, reached)),
            Err(failure) => unmet.push(failure),
        }
        if if any { !met.is_empty() } else { !unmet.is_empty() } {
            break;
        }
    }
    let is_met = if any { !met.is_empty() } else { unmet.is_empty() };
    if is_met {
        unmet.clear();
    }
    met.sort_by_key(|(number, _)| *number);
    WaitResult { met: met.into_iter().map(|(_, met)| met).collect(), unmet, is_met }
}

impl Goal {
    /// Checks that what was written makes sense for the object; prints warnings.
    fn of(
        written: &WaitFor,
        args: &Args,
        target: &ObjectRef,
        printer: &mut Printer,
    ) -> Result<Self, Failure> {
        Ok(match written {
            WaitFor::State(written) => Self::State(Box::new(parse(written, args, target, printer)?)),
            WaitFor::Creation => Self::Presence { wanted: true, timeout: args.timeout },
            WaitFor::Deletion => Self::Presence { wanted: false, timeout: args.timeout },
        })
    }

    /// The condition that has to be there.
    fn condition(&self) -> Option<&str> {
        match self {
            Self::State(wait) => match &wait.mode {
                Mode::Condition { kind, .. } => Some(kind),
                _ => None,
            },
            Self::Presence { .. } => None,
        }
    }

    async fn reach(&self, session: &Session, target: &ObjectRef, bar: &ProgressBar) -> Result<Met, Failure> {
        match self {
            Self::Presence { wanted, timeout } => presence(session, target, *wanted, *timeout, bar).await,
            Self::State(wait) => match follow(session, target, wait, bar).await? {
                Readiness::Unmet { diagnosis, .. } => Err(Failure::Diagnostic(diagnosis)),
                Readiness::Met { value, .. } => Ok(Met { words: wait.mode.to_string(), value }),
            },
        }
    }
}

/// The value of a Secret's field, masked as everywhere.
fn masked(target: &ObjectRef, mut value: Value) -> Value {
    const IDENTITY: [&str; 2] = ["apiVersion", "kind"];
    let Some(fields) = value.as_object_mut().filter(|_| (target.group(), target.kind()) == ("", "Secret"))
    else {
        return value;
    };
    let had: Vec<bool> = IDENTITY.iter().map(|name| fields.contains_key(*name)).collect();
    fields.insert("apiVersion".to_owned(), "v1".into());
    fields.insert("kind".to_owned(), "Secret".into());
    let mut masked = secret::masked(&value, &MASK_KEY);
    for (name, _) in IDENTITY.iter().zip(had).filter(|(_, had)| !had) {
        masked.as_object_mut().and_then(|fields| fields.remove(*name));
    }
    masked
}

fn show(
    printer: &mut Printer,
    results: &[(&ObjectRef, WaitResult)],
    is_single: bool,
    show_secrets: bool,
) -> io::Result<()> {
    let shown = |target: &ObjectRef, met: &Met| {
        let value = met.value.clone()?;
        Some(if show_secrets { value } else { masked(target, value) })
    };
    let list = |(target, result): &(&ObjectRef, WaitResult)| {
        let goal = |met: &Met| json!({ "for": met.words, "value": shown(target, met) });
        let met: Vec<Value> = result.met.iter().map(goal).collect();
        let why = |failure: &Failure| match failure {
            Failure::Diagnostic(why) => Some(finding(why)),
            Failure::Output(_) => None,
        };
        let findings: Vec<Value> = result.unmet.iter().filter_map(why).collect();
        object_json(target, json!({ "met": result.is_met, "reached": met, "findings": findings }))
    };
    let data = match results {
        [(target, result)] if is_single => result.met.first().and_then(|met| shown(target, met)).into(),
        _ => results.iter().map(list).collect::<Value>(),
    };
    let names = results.iter().filter(|(_, result)| result.is_met).map(|(target, _)| object_name(target));
    printer.output(&data, names, |printer| {
        for (target, result) in results {
            for value in result.met.iter().filter_map(|met| shown(target, met)) {
                if !is_single {
                    printer.data(format_args!("{DIM}# {target}{DIM:#}"))?;
                }
                printer.raw(manifest::to_yaml(&value).as_bytes())?;
            }
        }
        Ok(())
    })
}

/// Waits until the object exists, or until it does not.
async fn presence(
    session: &Session,
    target: &ObjectRef,
    wanted: bool,
    timeout: GoDuration,
    bar: &ProgressBar,
) -> Result<Met, Failure> {
    bar.set_message(format!("waiting for {target} to {}", if wanted { "appear" } else { "be deleted" }));
    let check = |object: Option<&Value>| match object {
        _ if object.is_some() == wanted => Check::Met(()),
        Some(object) => Check::NotYet(match Health::of(object, false) {
            Health::Terminating(why) => why,
            _ => "its deletion has not been requested".to_owned(),
        }),
        None => Check::NotYet("it does not exist".to_owned()),
    };
    let waited = session.wait_until(target, timeout.to_std().unwrap_or_default(), check).await;
    match waited.map_err(|error| error.diagnostic("Wait"))? {
        WaitOutcome::Met { .. } => {
            let words = if wanted { "exists" } else { "is gone" };
            Ok(Met { words: words.to_owned(), value: None })
        }
        WaitOutcome::Never { why, .. } | WaitOutcome::TimedOut { why, .. } => {
            let word = if wanted { "does not exist" } else { "still exists" };
            let title = format!("{target} {word} after {timeout}");
            let code = if wanted { codes::OBJECT_MISSING } else { cluster::codes::DELETION_TIMEOUT };
            Err(Diagnostic::error(code, title)
                .detail(format!("Last state: {why}."))
                .hint("Raise --timeout if it only needs more time.")
                .into())
        }
    }
}

/// The wait, if it is valid for the object; prints warnings.
fn parse(
    written: &WrittenWait,
    args: &Args,
    target: &ObjectRef,
    printer: &mut Printer,
) -> Result<Wait, Failure> {
    let parsed = written.parse(Some(&target.gvk), Cut::Root);
    // The wait for a condition that never comes ends at once, and says so.
    let said_later = |problem: &Diagnostic| problem.code == readiness::codes::UNKNOWN_CONDITION;
    for mut problem in parsed.diagnostics.into_iter().filter(|problem| !said_later(problem)) {
        // A command line has no attributes to name.
        problem.field = Some("--for".to_owned());
        if problem.is_error() {
            return Err(problem.into());
        }
        printer.diagnostic(&problem);
    }
    let wait = parsed.wait.expect("the arguments have a mode");
    Ok(Wait { timeout: args.timeout, ..wait })
}

/// Warns of conditions that no object of a kind has, although some report others: the name may be wrong.
async fn warn_of_unreported(session: &Session, waits: &[(&ObjectRef, Vec<Goal>)], printer: &mut Printer) {
    let mut wanted: BTreeMap<(&GroupVersionKind, Option<&Namespace>), BTreeSet<&str>> = BTreeMap::new();
    // Where all conditions of a kind are known, the wait ends by itself.
    for (target, goals) in waits.iter().filter(|(target, _)| !readiness::knows_conditions(&target.gvk)) {
        let conditions = goals.iter().filter_map(Goal::condition);
        wanted.entry((&target.gvk, target.namespace.as_ref())).or_default().extend(conditions);
    }
    for ((gvk, namespace), wanted) in wanted.into_iter().filter(|(_, wanted)| !wanted.is_empty()) {
        let selection =
            Selection { namespace: namespace.cloned(), limit: Some(MOST_ASKED), ..Selection::default() };
        let Ok(page) = session.list_page(gvk, &selection, "").await else { continue };
        let reported: BTreeSet<&str> = page.items.iter().flat_map(conditions).collect();
        let is_missing = |wanted: &&str| !reported.iter().any(|it| it.eq_ignore_ascii_case(wanted));
        for wanted in wanted.into_iter().filter(is_missing).filter(|_| !reported.is_empty()) {
            let warning = Diagnostic::warning(readiness::codes::UNKNOWN_CONDITION, "Unknown Condition")
                .detail(format!(
                    "No {} reports a condition {wanted:?} here. Conditions that they report: {}.",
                    gvk.kind(),
                    reported.iter().copied().collect::<Vec<_>>().join(", ")
                ))
                .hint("Check the name, unless the condition is still to come.");
            printer.diagnostic(&warning);
        }
    }
}

/// The types of an object's conditions.
fn conditions(object: &Value) -> impl Iterator<Item = &str> {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.filter_map(|condition| condition["type"].as_str())
}

/// Waits, and shows the reason in the progress bar.
pub(super) async fn follow(
    session: &Session,
    target: &ObjectRef,
    wait: &Wait,
    bar: &ProgressBar,
) -> Result<Readiness, Failure> {
    bar.set_message(format!("waiting for {target}"));
    let say = |why: &str| {
        let why = why.lines().next().unwrap_or_default();
        bar.set_message(format!("waiting for {target}: {why}"));
    };
    Ok(session.wait_for(target, wait, say).await.map_err(|error| error.diagnostic("Wait"))?)
}
