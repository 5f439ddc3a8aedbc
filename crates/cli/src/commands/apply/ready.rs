//! The wait for what was applied.

use std::collections::{HashMap, HashSet};

use cluster::{Readiness, Session};
use futures::future::join_all;
use futures::stream::{self, StreamExt as _};
use manifest::{GroupVersionKind, ObjectRef};
use readiness::{Conditions, Cut, Wait, Written, WrittenWait, is_ready_when_created};

use crate::args::plan::Apply;
use crate::commands::wait::follow;
use crate::support::exit::Failure;
use crate::support::printer::{GOOD, Printer};
use crate::support::report::{Action, Report, WaitResult};

/// Waits for all applied objects concurrently, records how each wait ended, and returns whether all are ready.
pub(super) async fn wait(
    report: &mut Report,
    session: &Session,
    args: &Apply,
    printer: &mut Printer,
) -> Result<bool, Failure> {
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
    let (mut ready, mut results) = (true, HashMap::new());
    while let Some((target, readiness)) = ended.next().await {
        match readiness? {
            Readiness::Met { .. } => {
                bar.suspend(|| printer.message(format_args!("{GOOD}ready{GOOD:#} {target}")));
                results.insert(target, WaitResult::Ready);
            }
            Readiness::Unmet { diagnosis, .. } => {
                bar.suspend(|| printer.diagnostic(&diagnosis));
                results.insert(target, WaitResult::NotReady(diagnosis));
                ready = false;
            }
        }
    }
    for object in &mut report.objects {
        object.wait = object.wait.take().or_else(|| results.remove(&object.target));
    }
    bar.finish_and_clear();
    Ok(ready)
}

/// The wait for an object of any kind to be ready.
fn ready(args: &Apply) -> Wait {
    let timeout = Written::Known(args.timeout.to_string());
    let written = WrittenWait { rollout: Written::Known(true), timeout, ..WrittenWait::default() };
    written.parse(None, Cut::Root).wait.expect("a rollout and a timeout that was checked")
}
