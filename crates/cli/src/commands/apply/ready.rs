//! The wait for what was applied.

use std::collections::{HashMap, HashSet};
use std::pin::pin;

use cluster::{Readiness, Session};
use futures::future::join_all;
use futures::stream::{self, StreamExt as _};
use manifest::{GroupVersionKind, ObjectRef};
use readiness::{Conditions, Cut, Wait, Written, WrittenWait, is_ready_when_created};

use crate::args::plan::Apply;
use crate::commands::wait::follow;
use crate::support::exit::Failure;
use crate::support::printer::{GOOD, Printer};
use crate::support::process::interrupt;
use crate::support::report::{Action, Report, WaitResult};

/// How the waits ended.
pub(super) enum Waited {
    Ready,
    NotReady,
    /// The user pressed Ctrl-C while it waited for so many objects.
    Interrupted(usize),
}

/// Waits for all applied objects concurrently, and records how each wait ended. After an interrupt, nothing is awaited: the report
/// would be lost.
pub(super) async fn wait(
    report: &mut Report,
    session: &Session,
    args: &Apply,
    printer: &mut Printer,
) -> Result<Waited, Failure> {
    for object in report.objects.iter_mut().filter(|object| object.action() != Action::Refused) {
        let is_ready = is_ready_when_created(object.target.group(), object.target.kind());
        object.wait = is_ready.then_some(WaitResult::Ready);
    }
    let written = report.objects.iter().filter(|object| object.action() != Action::Refused);
    let targets: Vec<ObjectRef> =
        written.filter(|object| object.wait.is_none()).map(|object| object.target.clone()).collect();
    let kinds: HashSet<&GroupVersionKind> = targets.iter().map(|target| &target.gvk).collect();
    let asked = kinds.into_iter().map(async |gvk| (gvk, session.conditions(gvk).await));
    let known: HashMap<&GroupVersionKind, Conditions> = join_all(asked).await.into_iter().collect();
    let ready = ready(args);
    let wait = |target: &ObjectRef| {
        let conditions = known.get(&target.gvk).cloned();
        Wait { conditions, ..ready.clone() }
    };
    let waits: Vec<_> = targets.iter().map(|target| (target, wait(target))).collect();
    let bar = printer.progress(waits.len(), "ready");
    let waiting = waits.iter().map(|(target, wait)| async {
        let readiness = follow(session, target, wait, &bar).await;
        bar.inc(1);
        (*target, readiness)
    });
    let mut ended = stream::iter(waiting).buffered(waits.len().max(1));
    let (mut waited, mut results) = (Waited::Ready, HashMap::new());
    let mut interrupted = pin!(interrupt());
    loop {
        let next = tokio::select! {
            biased;
            next = ended.next() => next,
            () = &mut interrupted => {
                waited = Waited::Interrupted(waits.len() - results.len());
                break;
            }
        };
        match next {
            None => break,
            Some((target, Ok(Readiness::Met { .. }))) => {
                bar.suspend(|| printer.message(format_args!("{GOOD}ready{GOOD:#} {target}")));
                results.insert(target, WaitResult::Ready);
            }
            Some((target, Ok(Readiness::Unmet { diagnosis, .. }) | Err(Failure::Diagnostic(diagnosis)))) => {
                bar.suspend(|| printer.diagnostic(&diagnosis));
                results.insert(target, WaitResult::NotReady(diagnosis));
                waited = Waited::NotReady;
            }
            Some((_, Err(failure))) => return Err(failure),
        }
    }
    for object in &mut report.objects {
        object.wait = object.wait.take().or_else(|| results.remove(&object.target));
    }
    bar.finish_and_clear();
    Ok(waited)
}

/// The wait for an object of any kind to be ready.
fn ready(args: &Apply) -> Wait {
    let timeout = Written::Known(args.timeout.to_string());
    let written = WrittenWait { rollout: Written::Known(true), timeout, ..WrittenWait::default() };
    written.parse(None, Cut::Root).wait.expect("a rollout and a timeout that was checked")
}
