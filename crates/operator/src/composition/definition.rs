//! The controller of XRDs: it makes the kinds they define, has them watched, and takes both away again.
//!
//! ```text
//! XRD ──▶ finalizers ──▶ CRDs applied ──▶ CRDs established ──▶ controllers run ──▶ Established, Offered
//!     deleted ──▶ claims go ──▶ claim CRD goes ──▶ XRs go ──▶ XR CRD goes ──▶ finalizers go
//! ```

mod access;
mod establish;
mod report;
mod role;
mod terminate;

pub(crate) use role::Role;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cluster::Selection;
use composition::definition::Definition;
use composition::intent::Applied;
use composition::object;
use composition::run::Object;
use diag::Diagnostic;
use jiff::Timestamp;
use manifest::ObjectRef;
use serde_json::Value;

use super::MANAGER;
use super::engine::Engine;
use super::kinds::Kinds;
use super::writer::WriteError;
use crate::backoff;
use crate::events::{self, Tone};
use crate::store::{Changes, Source, Store};
use crate::work::{Next, Work};
use report::Report;

/// As many XRDs as are gone over at once.
const AT_ONCE: usize = 8;
/// The waits after a pass that failed.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(60);
/// The wait when somebody else was faster, and what they did is not known here yet.
const SOON: Duration = Duration::from_millis(100);

/// The controller of XRDs.
pub(super) struct Definitions {
    engine: Arc<Engine>,
    kinds: Kinds,
    xrds: Store,
    memories: Mutex<HashMap<String, Memory>>,
}

/// What is remembered of an XRD between passes.
#[derive(Clone, Default)]
struct Memory {
    applied: BTreeMap<Role, Applied>,
    /// The rights that were granted.
    granted: Option<Object>,
    /// What XRs that are being deleted were composed of, with the uid of the XR.
    composed: BTreeSet<(ObjectRef, String)>,
    said: BTreeSet<Said>,
    failures: u32,
}

/// Something to tell those who look at the XRD.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Said {
    role: Role,
    warning: bool,
    reason: &'static str,
    message: String,
}

/// A pass while it goes on.
struct Pass<'a> {
    definitions: &'a Definitions,
    /// The XRD as it was last read or written.
    xrd: Object,
    memory: Memory,
    said: Vec<Said>,
}

/// How a pass ended.
enum Ended {
    /// Nothing is left to do until something changes.
    Settled,
    /// Something has to happen elsewhere, of which nobody will tell.
    Waiting(Duration),
}

/// Why a pass ended early; it has been said.
enum Stopped {
    /// Somebody changed the XRD, or what belongs to it, in the meantime.
    Outdated,
    /// Something that has to be tried again.
    Failed,
    /// Something that only a change of the XRD can help.
    Unusable,
}

impl Definitions {
    /// The controller of the XRDs in `xrds`.
    pub(super) fn new(engine: Arc<Engine>, xrds: Store) -> Self {
        let kinds = Kinds::new(Arc::clone(&engine));
        Self { engine, kinds, xrds, memories: Mutex::default() }
    }

    /// Runs until the engine stops, and waits until the controllers it started have ended.
    pub(super) async fn run(self) {
        let work = Work::new();
        let crd =
            "apiextensions.k8s.io/v1/CustomResourceDefinition".parse().expect("it is the name of a kind");
        let source = Source { gvk: crd, selection: Selection::default(), trim: keep_owner_and_status };
        let crds = Store::start(self.engine.session.clone(), source, &self.engine.stop);
        let stop = self.engine.stop.clone();
        let feeding = feed(work.clone(), self.xrds.subscribe(), crds.subscribe());
        let definitions = Arc::new(self);
        let going_over = {
            let definitions = Arc::clone(&definitions);
            work.run(AT_ONCE, stop, move |name: String| {
                let definitions = Arc::clone(&definitions);
                async move { definitions.pass(&name).await }
            })
        };
        tokio::select! {
            () = going_over => {}
            () = feeding => {}
        }
        definitions.kinds.ended().await;
    }

    /// Goes over the XRD called `name`.
    async fn pass(&self, name: &str) -> Next {
        let Some(xrd) = self.xrds.get(None, name).and_then(|xrd| xrd.as_object().cloned()) else {
            // Whoever took the finalizers away by force does not want it to be watched either.
            self.kinds.stop(Role::Claim, name).await;
            self.kinds.stop(Role::Composite, name).await;
            self.memories().remove(name);
            return Next::Idle;
        };
        let memory = self.memories().get(name).cloned().unwrap_or_default();
        let mut pass = Pass { definitions: self, xrd, memory, said: Vec::new() };
        let ended = pass.go().await;
        let Pass { mut memory, said, xrd, .. } = pass;
        for news in said.iter().filter(|said| !memory.said.contains(*said)) {
            self.tell(&xrd, news);
        }
        memory.said = said.into_iter().collect();
        memory.failures = if matches!(ended, Err(Stopped::Failed)) { memory.failures + 1 } else { 0 };
        let next = match ended {
            Ok(Ended::Settled) | Err(Stopped::Unusable) => Next::Idle,
            Ok(Ended::Waiting(wait)) => Next::In(wait),
            Err(Stopped::Outdated) => Next::In(SOON),
            Err(Stopped::Failed) => Next::In(backoff::pause(memory.failures, FIRST_RETRY, LONGEST_RETRY)),
        };
        self.memories().insert(name.to_owned(), memory);
        next
    }

    fn tell(&self, xrd: &Object, said: &Said) {
        let recorder = self.engine.events.recorder(said.role.words().component);
        let tone = if said.warning { Tone::Warning } else { Tone::Normal };
        recorder.record(events::reference(&Value::Object(xrd.clone())), tone, said.reason, &said.message);
    }

    fn memories(&self) -> std::sync::MutexGuard<'_, HashMap<String, Memory>> {
        self.memories.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass<'_> {
    async fn go(&mut self) -> Result<Ended, Stopped> {
        let definition = match Definition::read(&self.xrd) {
            Ok((definition, warnings)) => {
                self.warn(&warnings);
                definition
            }
            Err(found) if object::is_being_deleted(&self.xrd) => return self.let_go(&found).await,
            Err(found) => return Err(self.unusable(&found).await),
        };
        if object::is_being_deleted(&self.xrd) {
            self.terminate(&definition).await
        } else {
            self.establish(&definition).await
        }
    }

    /// What has no effect is said while the XRD is new or has just been changed, not at every start.
    fn warn(&mut self, warnings: &[Diagnostic]) {
        if report::watched_generation(&self.xrd, Role::Composite) != object::generation(&self.xrd) {
            for warning in warnings {
                self.say(Role::Composite, true, "RenderCRD", in_words(warning));
            }
        }
    }

    /// An XRD that makes no sense cannot be watched. What an earlier one has established stays.
    async fn unusable(&mut self, found: &[Diagnostic]) -> Stopped {
        let why = found.iter().map(in_words).collect::<Vec<_>>().join("; ");
        let why = format!("cannot render composite resource CustomResourceDefinition: {why}");
        self.say(Role::Composite, true, "RenderCRD", why.clone());
        let mut report = Report::on(&self.xrd, Timestamp::now());
        report.failed(Role::Composite, "RenderCRD", &why);
        match self.publish(report).await {
            Ok(()) => Stopped::Unusable,
            Err(stopped) => stopped,
        }
    }

    /// Writes what the XRD says about itself, if there is news in it.
    async fn publish(&mut self, report: Report) -> Result<(), Stopped> {
        if let Some(news) = report.news(&self.xrd) {
            let written = self.definitions.engine.writer.replace_status(&news, MANAGER).await;
            let role = Role::Composite;
            self.xrd = self.done(written, role, "cannot update status of CompositeResourceDefinition")?;
        }
        Ok(())
    }

    /// Puts finalizers on the XRD or takes them off, in one write and only if it changes something.
    async fn set_finalizers(&mut self, roles: &[Role], held: bool, doing: &str) -> Result<(), Stopped> {
        let names: Vec<&str> = roles.iter().map(|role| role.words().finalizer).collect();
        let Some(changed) = with_finalizers(&self.xrd, &names, held) else { return Ok(()) };
        let written = self.definitions.engine.writer.replace(&changed, MANAGER).await;
        self.xrd = self.done(written, roles.first().copied().unwrap_or(Role::Composite), doing)?;
        Ok(())
    }

    /// What a write or a read came to; what went wrong is said with what was being done.
    fn done<T>(&mut self, outcome: Result<T, WriteError>, role: Role, doing: &str) -> Result<T, Stopped> {
        outcome.map_err(|error| {
            if error.is_outdated() {
                return Stopped::Outdated;
            }
            let words = role.words();
            let deleting = object::is_being_deleted(&self.xrd);
            let reason = if deleting { words.terminate } else { words.establish };
            let message = format!("{doing}: {}", error.text());
            let xrd = object::name(&self.xrd);
            tracing::warn!(xrd, why = message, "a CompositeResourceDefinition has to wait");
            self.say(role, true, reason, message);
            Stopped::Failed
        })
    }

    fn say(&mut self, role: Role, warning: bool, reason: &'static str, message: impl Into<String>) {
        self.said.push(Said { role, warning, reason, message: message.into() });
    }
}

/// The XRD with or without finalizers; nothing if it is so already.
fn with_finalizers(xrd: &Object, names: &[&str], held: bool) -> Option<Object> {
    let mut changed = xrd.clone();
    let metadata = object::nested_mut(&mut changed, &["metadata"]);
    let mut finalizers = match metadata.get("finalizers") {
        Some(Value::Array(finalizers)) => finalizers.clone(),
        _ => Vec::new(),
    };
    if held {
        for name in names {
            if !finalizers.iter().any(|finalizer| finalizer == name) {
                finalizers.push((*name).into());
            }
        }
    } else {
        finalizers.retain(|finalizer| !names.iter().any(|name| finalizer == name));
    }
    metadata.insert("finalizers".to_owned(), finalizers.into());
    let differs = object::nested(&changed, &["metadata", "finalizers"])
        != Some(object::nested(xrd, &["metadata", "finalizers"]).unwrap_or(&Value::Array(Vec::new())));
    differs.then_some(changed)
}

/// A finding in one sentence.
fn in_words(found: &Diagnostic) -> String {
    match &found.field {
        Some(field) => format!("{field}: {}", found.summary),
        None => found.summary.clone(),
    }
}

/// Names the XRDs that have changed, or whose CRDs have.
async fn feed(work: Work<String>, mut xrds: Changes, mut crds: Changes) {
    loop {
        tokio::select! {
            Some(change) = xrds.recv() => work.now(change.key.name),
            Some(change) = crds.recv() => {
                let objects = [&change.before, &change.after];
                let owners = objects.into_iter().flatten().filter_map(|crd| object::controller(crd.as_object()?));
                for owner in owners.filter(|owner| owner.kind == "CompositeResourceDefinition") {
                    work.now(owner.name);
                }
            }
            else => return,
        }
    }
}

/// Of a CRD only who controls it and whether it is established is of interest; the rest is large.
fn keep_owner_and_status(crd: &mut Value) {
    if let Some(crd) = crd.as_object_mut() {
        crd.remove("spec");
        if let Some(metadata) = crd.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
            metadata.remove("annotations");
        }
    }
}

/// A CRD by name.
fn crd_target(crd: &Object) -> ObjectRef {
    ObjectRef::of(crd).expect("a CustomResourceDefinition has a kind and a name")
}

#[cfg(test)]
mod tests;
