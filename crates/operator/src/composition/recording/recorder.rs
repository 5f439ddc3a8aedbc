//! Records a pass while it runs, and brings the recording to the user who asked for it.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use composition::RunError;
use composition::composition::Step;
use composition::event::Event;
use composition::object;
use composition::observed::Observed;
use composition::protocol::{
    Match, Object, Ready, Requirements, Resource, ResourceSelector, RunRequest, RunResponse, State,
};
use functions::CallWatcher;
use jiff::Timestamp;
use manifest::GroupVersionKind;
use manifest::secret::{self, MaskKey};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::pieces::{
    Call, Condition, Credential, Finding, Phase, Piece, Recording, Returned, StepRecord, Writing,
    milliseconds, named,
};
use crate::composition::requests::Named;
use crate::runtime::store::Key;

/// How many bytes of values a recording may have. What comes after is counted only.
const MAX_BYTES: usize = 16 << 20;

/// Records one pass.
pub(in crate::composition) struct Recorder {
    key: MaskKey,
    began: Instant,
    state: Mutex<Recorded>,
}

struct Recorded {
    recording: Recording,
    last_phase: Instant,
    bytes: usize,
}

impl Recorder {
    /// `key` masks the values of Secrets.
    fn new(key: MaskKey, now: Timestamp) -> Self {
        let began = Instant::now();
        let recording = Recording { began: now.to_string(), ..Recording::default() };
        Self { key, began, state: Mutex::new(Recorded { recording, last_phase: began, bytes: 0 }) }
    }

    pub(in crate::composition) fn as_watcher(&self) -> &dyn CallWatcher {
        self
    }

    /// The part of the pass called `name` has ended.
    pub(in crate::composition) fn phase(&self, name: &str) {
        let mut state = self.state();
        let now = Instant::now();
        let took = now.duration_since(std::mem::replace(&mut state.last_phase, now));
        state.recording.phases.push(Phase { name: name.to_owned(), milliseconds: milliseconds(took) });
    }

    pub(in crate::composition) fn selected(&self, revision: &str) {
        revision.clone_into(&mut self.state().recording.revision);
    }

    /// What functions are given as observed.
    pub(in crate::composition) fn observed(&self, observed: &Observed, given: &State) {
        let missing = observed.missing.iter().map(Named::from).collect();
        let composite = self.resource(&given.composite);
        let resources = self.resources(&given.resources);
        let recording = &mut self.state().recording;
        (recording.composite, recording.observed, recording.missing) = (Some(composite), resources, missing);
    }

    /// A step of the pipeline begins.
    pub(in crate::composition) fn step(&self, step: &Step) {
        let credentials = step.credentials.iter().filter_map(|wanted| {
            let secret = wanted.secret_ref.as_ref()?;
            let secret = (&composition::connection::secret_ref(&secret.namespace, &secret.name)).into();
            Some((wanted.name.clone(), Credential { secret, entries: Vec::new() }))
        });
        let record = StepRecord {
            step: step.step.clone(),
            function: step.function_ref.name.clone(),
            input: step.input.as_ref().map(|input| self.value(input)),
            credentials: credentials.collect(),
            ..StepRecord::default()
        };
        self.state().recording.steps.push(record);
    }

    /// The function of the last step did not respond.
    pub(in crate::composition) fn step_failed(&self, error: &RunError) {
        if let Some(step) = self.state().recording.steps.last_mut() {
            step.error = Some(error.to_string());
        }
    }

    pub(in crate::composition) fn written(&self, writing: Writing) {
        self.state().recording.writes.push(writing);
    }

    pub(in crate::composition) fn events<'e>(&self, events: impl IntoIterator<Item = &'e Event>) {
        self.state().recording.events.extend(events.into_iter().map(Finding::of_event));
    }

    pub(in crate::composition) fn failed(&self, why: String) {
        self.state().recording.failure = Some(why);
    }

    /// The recording of the pass that has left `xr`.
    fn finish(self, xr: &Object) -> Recording {
        let mut recording = self.state.into_inner().unwrap_or_else(PoisonError::into_inner).recording;
        recording.conditions = object::list(xr, &["status", "conditions"]).cloned().collect();
        recording.milliseconds = milliseconds(self.began.elapsed());
        recording
    }

    fn state(&self) -> MutexGuard<'_, Recorded> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn resources(&self, resources: &BTreeMap<String, Resource>) -> BTreeMap<String, Piece> {
        resources.iter().map(|(key, resource)| (key.clone(), self.resource(resource))).collect()
    }

    fn resource(&self, resource: &Resource) -> Piece {
        let ready = match resource.ready {
            Ready::Unspecified => None,
            Ready::True => Some(true),
            Ready::False => Some(false),
        };
        Piece {
            object: named(resource),
            connection_details: resource.connection_details.keys().cloned().collect(),
            ready,
            ..self.value(&resource.object)
        }
    }

    /// A value, masked if it is a Secret, unless the recording is too large already.
    fn value(&self, value: &Object) -> Piece {
        let size = size(value);
        {
            let mut state = self.state();
            if state.bytes + size > MAX_BYTES {
                let (pieces, bytes) = &mut state.recording.trimmed;
                (*pieces, *bytes) = (*pieces + 1, *bytes + size);
                return Piece { trimmed: Some(size), ..Piece::default() };
            }
            state.bytes += size;
        }
        let value = secret::masked(&Value::Object(value.clone()), &self.key);
        Piece { value: Some(value), ..Piece::default() }
    }

    fn returned(&self, response: &RunResponse) -> Returned {
        let composite = &response.desired.composite;
        Returned {
            composite: (!composite.is_empty()).then(|| self.resource(composite)),
            resources: self.resources(&response.desired.resources),
            results: response.results.iter().map(Finding::of_result).collect(),
            conditions: response.conditions.iter().map(Condition::of).collect(),
            requires: requirements(&response.requirements),
            context: response.context.as_ref().filter(|context| !context.is_empty()).map(|it| self.value(it)),
            ttl_seconds: response.meta.ttl.map(|ttl| ttl.as_secs_f64()),
        }
    }
}

impl CallWatcher for Recorder {
    fn called(&self, request: &RunRequest, response: Result<&RunResponse, &RunError>, took: Duration) {
        let required = request.required_resources.iter().chain(&request.extra_resources);
        let required = required.map(|(name, found)| {
            (name.clone(), found.iter().map(|resource| self.resource(resource)).collect())
        });
        let call = Call {
            milliseconds: milliseconds(took),
            context: request.context.as_ref().filter(|context| !context.is_empty()).map(|it| self.value(it)),
            required: required.collect(),
            schemas: request.required_schemas.keys().cloned().collect(),
            returned: response.ok().map(|response| self.returned(response)),
            error: response.err().map(ToString::to_string),
        };
        let mut state = self.state();
        let Some(step) = state.recording.steps.last_mut() else { return };
        for (name, data) in &request.credentials {
            if let Some(credential) = step.credentials.get_mut(name) {
                credential.entries = data.keys().cloned().collect();
            }
        }
        step.calls.push(call);
    }
}

/// What is required, in words.
fn requirements(required: &Requirements) -> Vec<String> {
    let resources = required.extra_resources.iter().chain(&required.resources).map(|(name, selector)| {
        let ResourceSelector { api_version, kind, matching, namespace } = selector;
        let which = match matching {
            Match::All => "all".to_owned(),
            Match::Name(name) => name.clone(),
            Match::Labels(labels) => {
                labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
            }
        };
        let place = namespace.as_ref().map_or_else(String::new, |namespace| format!(" in {namespace}"));
        format!("{name}: {kind} ({api_version}) {which}{place}")
    });
    let schemas = required
        .schemas
        .iter()
        .map(|(name, selector)| format!("{name}: schema of {} ({})", selector.kind, selector.api_version));
    resources.chain(schemas).collect()
}

/// How many bytes a value has as JSON, without writing it.
fn size(value: &Object) -> usize {
    struct Count(usize);

    impl Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    // A value has no keys but texts, and counting does not fail.
    let _infallible = serde_json::to_writer(&mut count, value);
    count.0
}

/// A recording that a user waits for. Dropped, it tells that there will be none.
pub(in crate::composition) struct WantedRecording {
    key: MaskKey,
    done: oneshot::Sender<Result<Recording, String>>,
}

impl WantedRecording {
    pub(in crate::composition) fn new(key: MaskKey) -> (Self, oneshot::Receiver<Result<Recording, String>>) {
        let (done, receiver) = oneshot::channel();
        (Self { key, done }, receiver)
    }

    pub(in crate::composition) fn begin(&self, now: Timestamp) -> Recorder {
        Recorder::new(self.key.clone(), now)
    }

    /// Hands over what was recorded of the pass that has left `xr`. The user may have gone.
    pub(in crate::composition) fn done(self, recorder: Recorder, xr: &Object) {
        let _gone = self.done.send(Ok(recorder.finish(xr)));
    }

    /// There is no pass to record.
    pub(in crate::composition) fn refuse(self, why: &str) {
        let _gone = self.done.send(Err(why.to_owned()));
    }
}

/// Has the next pass over an XR recorded.
pub(in crate::composition) trait RecordPass: Send + Sync {
    /// Records the next pass, which is made now; gives the request back if the XR is not reconciled here.
    fn record(&self, xr: &Key, wanted: WantedRecording) -> Result<(), WantedRecording>;

    /// Whether it reconciles this XR.
    fn has(&self, xr: &Key) -> bool;
}

/// The running controllers that can record passes, by group and kind of their XRs.
#[derive(Default)]
pub(in crate::composition) struct Recordings(Mutex<BTreeMap<String, Weak<dyn RecordPass>>>);

impl Recordings {
    pub(in crate::composition) fn offer(&self, kind: &GroupVersionKind, controller: Weak<dyn RecordPass>) {
        let mut offered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        offered.retain(|_, controller| controller.strong_count() > 0);
        offered.insert(kind.group_kind(), controller);
    }

    /// Has the next pass over an XR recorded, if a controller here reconciles it.
    pub(in crate::composition) fn record(
        &self,
        kind: &GroupVersionKind,
        xr: &Key,
        wanted: WantedRecording,
    ) -> Result<(), WantedRecording> {
        match self.controller(kind) {
            Some(controller) => controller.record(xr, wanted),
            None => Err(wanted),
        }
    }

    /// Whether a controller here reconciles an XR.
    pub(in crate::composition) fn has(&self, kind: &GroupVersionKind, xr: &Key) -> bool {
        self.controller(kind).is_some_and(|controller| controller.has(xr))
    }

    fn controller(&self, kind: &GroupVersionKind) -> Option<Arc<dyn RecordPass>> {
        let offered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        offered.get(&kind.group_kind()).and_then(Weak::upgrade)
    }
}
