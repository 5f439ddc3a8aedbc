//! Records a pass while it runs, and brings the recording to the user who asked for it.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use composition::RunError;
use composition::composition::Step;
use composition::connection;
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

use super::known::KnownValues;
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
    known: KnownValues,
}

impl Recorder {
    /// `key` masks the values of Secrets.
    fn new(key: MaskKey, now: Timestamp) -> Self {
        let began = Instant::now();
        let recording = Recording { began: now.to_string(), ..Recording::default() };
        let recorded = Recorded { recording, last_phase: began, bytes: 0, known: KnownValues::default() };
        Self { key, began, state: Mutex::new(recorded) }
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
        {
            let known = &mut self.state().known;
            known.add_resource(&given.composite);
            given.resources.values().for_each(|resource| known.add_resource(resource));
        }
        let composite = self.resource(&given.composite);
        let resources = self.resources(&given.resources);
        let recording = &mut self.state().recording;
        (recording.composite, recording.observed, recording.missing) = (Some(composite), resources, missing);
    }

    /// A step of the pipeline begins.
    pub(in crate::composition) fn step(&self, step: &Step) {
        let credentials = step.credentials.iter().filter_map(|wanted| {
            let secret = wanted.secret_ref.as_ref()?;
            let secret = (&connection::secret_ref(&secret.namespace, &secret.name)).into();
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
    pub(in crate::composition) fn finish(self, xr: &Object) -> Recording {
        let recorded = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Recorded { mut recording, known, .. } = recorded;
        recording.conditions = object::list(xr, &["status", "conditions"]).cloned().collect();
        // In the end, since a later step may be given what an earlier one was not.
        known.mask_all(&mut recording, &self.key);
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
            connection_secret: connection::secret_of(&resource.object)
                .filter(|_| !resource.connection_details.is_empty())
                .map(|(namespace, name)| (&connection::secret_ref(namespace, name)).into()),
            ready,
            ..self.value(&resource.object)
        }
    }

    fn context(&self, context: Option<&Object>) -> Option<Piece> {
        context.filter(|context| !context.is_empty()).map(|context| self.value(context))
    }

    /// A value without those of Secrets, unless the recording is too large already.
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
        let value = secret::masked_within(&Value::Object(value.clone()), &self.key);
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
            required: required_objects(&response.requirements),
            context: self.context(response.context.as_ref()),
            ttl_seconds: response.meta.ttl.map(|ttl| ttl.as_secs_f64()),
        }
    }
}

impl CallWatcher for Recorder {
    fn called(&self, request: &RunRequest, response: Result<&RunResponse, &RunError>, took: Duration) {
        let required = request.required_resources.iter().chain(&request.extra_resources);
        {
            let known = &mut self.state().known;
            request.credentials.values().for_each(|data| known.add_details(data));
            required.clone().flat_map(|(_, found)| found).for_each(|resource| known.add_resource(resource));
            if let Ok(response) = response {
                known.add_resource(&response.desired.composite);
                response.desired.resources.values().for_each(|resource| known.add_resource(resource));
            }
        }
        let required = required.map(|(name, found)| {
            (name.clone(), found.iter().map(|resource| self.resource(resource)).collect())
        });
        let call = Call {
            milliseconds: milliseconds(took),
            context: self.context(request.context.as_ref()),
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

/// The objects that are required, in the order of [`requirements`].
fn required_objects(required: &Requirements) -> Vec<Named> {
    let selectors = required.extra_resources.values().chain(required.resources.values());
    let named = |selector: &ResourceSelector| Named {
        api_version: selector.api_version.clone(),
        kind: selector.kind.clone(),
        namespace: selector.namespace.clone(),
        name: match &selector.matching {
            Match::Name(name) => name.clone(),
            Match::All | Match::Labels(_) => String::new(),
        },
    };
    selectors.map(named).collect()
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

    /// The user no longer waits.
    fn is_abandoned(&self) -> bool {
        self.done.is_closed()
    }
}

/// The recordings of one pass that users wait for. One pass answers them all.
#[derive(Default)]
pub(in crate::composition) struct WantedRecordings(Vec<WantedRecording>);

impl WantedRecordings {
    pub(in crate::composition) fn add(&mut self, wanted: WantedRecording) {
        self.0.retain(|earlier| !earlier.is_abandoned());
        self.0.push(wanted);
    }

    /// Takes back those of a pass that will be repeated.
    pub(in crate::composition) fn extend(&mut self, wanted: Self) {
        wanted.0.into_iter().for_each(|wanted| self.add(wanted));
    }

    pub(in crate::composition) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Records a pass, if a user waits for it. Users who wait together get the same masks.
    pub(in crate::composition) fn begin(&self, now: Timestamp) -> Option<Recorder> {
        self.0.first().map(|first| Recorder::new(first.key.clone(), now))
    }

    /// Hands over what was recorded. The users may have gone.
    pub(in crate::composition) fn done(self, recording: &Recording) {
        for wanted in self.0.into_iter().filter(|wanted| !wanted.is_abandoned()) {
            let _gone = wanted.done.send(Ok(recording.clone()));
        }
    }

    /// There is no pass to record.
    pub(in crate::composition) fn refuse(self, why: &str) {
        for wanted in self.0 {
            let _gone = wanted.done.send(Err(why.to_owned()));
        }
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

#[cfg(test)]
mod tests {
    use composition::protocol::FunctionResult;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn all_who_wait_get_the_recording_of_one_pass() {
        let key = MaskKey::new(7);
        let mut wanted = WantedRecordings::default();
        assert!(wanted.begin(Timestamp::UNIX_EPOCH).is_none());
        let (first, one) = WantedRecording::new(key.clone());
        let (second, other) = WantedRecording::new(key.clone());
        let (third, gone) = WantedRecording::new(key);
        wanted.add(first);
        wanted.add(third);
        drop(gone);
        wanted.add(second);
        let recorder = wanted.begin(Timestamp::UNIX_EPOCH).unwrap();
        recorder.selected("main-1");
        // The pass is repeated, and another user asks in the meantime.
        let mut next = WantedRecordings::default();
        next.extend(wanted);
        next.done(&recorder.finish(&Object::new()));
        for received in [one, other] {
            assert_eq!(received.await.unwrap().unwrap().revision, "main-1");
        }
    }

    #[test]
    fn a_recording_has_nothing_of_what_functions_were_given_or_return_in_secret() {
        let recorder = Recorder::new(MaskKey::new(7), Timestamp::UNIX_EPOCH);
        let step = json!({"step": "a", "functionRef": {"name": "f"}});
        recorder.step(&serde_json::from_value(step).unwrap());
        let details =
            |value: &str| [("password".to_owned(), value.as_bytes().to_vec())].into_iter().collect();
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"token": "dG9rZW4tMw=="}});
        let resource = |object: Value| Resource { object: object::object(object), ..Resource::default() };
        // Everything that a function may put a value into; some of the values become known later.
        let careless = || {
            json!({
                "url": "postgres://admin:password-1@db", "key": "password-2", "nested": [{"token": "token-3"}],
                "encoded": "dG9rZW4tMw==", "own": "password-5", "composed": "password-6", "published": "password-7",
                "secret": {"kind": "Secret", "stringData": {"k": "password-4"}}, "zone": "eu",
            })
        };
        let mut said = careless();
        said["secret"].take();
        let said = said.to_string();
        let status = resource(json!({"status": careless()}));
        let given = State {
            composite: Resource { connection_details: details("password-1"), ..status.clone() },
            resources: [("map".to_owned(), status.clone())].into(),
        };
        recorder.observed(&Observed::default(), &given);
        let request = RunRequest {
            context: Some(object::object(careless())),
            credentials: [("cloud".to_owned(), details("password-2"))].into(),
            required_resources: [("token".to_owned(), vec![resource(secret)])].into(),
            ..RunRequest::default()
        };
        let composed = json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"k": "password-6"}});
        let map = Resource { connection_details: details("password-7"), ..status.clone() };
        let mut response =
            RunResponse { context: Some(object::object(careless())), ..RunResponse::default() };
        response.desired = State {
            composite: Resource { connection_details: details("password-5"), ..status },
            resources: [("secret".to_owned(), resource(composed)), ("map".to_owned(), map)].into(),
        };
        response.results = vec![FunctionResult { message: said.clone(), ..FunctionResult::default() }];
        recorder.called(&request, Ok(&response), Duration::ZERO);
        let error = RunError::new(composition::RunErrorClass::Failed, said.clone());
        recorder.called(&request, Err(&error), Duration::ZERO);
        recorder.step_failed(&error);
        recorder.events([&Event::warning("Compose", said.clone())]);
        recorder.failed(said.clone());
        let xr = json!({"status": {"conditions": [{"type": "Ready", "message": said}]}});
        let recording = recorder.finish(&object::object(xr));
        let shown = serde_json::to_string(&recording).unwrap();
        for value in ["password-", "token-3", "dG9rZW4tMw"] {
            assert!(!shown.contains(value), "{value}: {recording:#?}");
        }
        for piece in [recording.composite.as_ref(), recording.steps[0].calls[0].context.as_ref()] {
            let value = piece.unwrap().value.as_ref().unwrap().to_string();
            assert!(
                value.contains("postgres://admin:(sensitive hmac:") && value.contains(r#""zone":"eu""#),
                "{value}"
            );
        }
    }
}
