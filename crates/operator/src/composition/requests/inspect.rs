//! Records the next pass over an XR for a user who may have it reconciled, and shows what the user may read.

use composition::composite::Composite;
use composition::object;
use manifest::{Namespace, ObjectRef};
use serde_json::Value;

use super::Refusal;
use super::identity::Rights;
use super::plan::mask_key;
use super::wire::{InspectQuestion, MAX_INSPECT_TEXT, Named, unpack};
use crate::composition::engine::Engine;
use crate::composition::preview::Readers;
use crate::composition::recording::{Piece, Recording, WantedRecording};
use crate::runtime::store::Key;

/// Whether a controller here can record the XR of a packed question. What cannot be read is refused later.
pub(super) fn is_here(engine: &Engine, question: &str) -> bool {
    let Ok(InspectQuestion { xr }) = unpack(question, MAX_INSPECT_TEXT) else { return true };
    xr.target().is_none_or(|target| engine.recordings.has(&target.gvk, &Key::from(&target)))
}

pub(super) async fn answer(
    engine: &Engine,
    question: &InspectQuestion,
    rights: &Rights<'_>,
) -> Result<Recording, Refusal> {
    let refuse = |why: String| Refusal::Refused(why);
    let target =
        question.xr.target().ok_or_else(|| refuse(format!("{} is not a valid kind", question.xr.kind)))?;
    for (verb, why) in
        [("get", "shows what its functions are given and return"), ("patch", "has it reconciled")]
    {
        if !rights.may(verb, &target).await {
            return Err(refuse(format!(
                "you may not {verb} {target}. plimsoll inspect {why}, so it needs permission to {verb} it"
            )));
        }
    }
    let read = engine.client.read(&target).await.map_err(|error| refuse(error.text()))?;
    let xr = read.ok_or_else(|| refuse(format!("{target} does not exist")))?;
    if Composite::new(&xr, composition::composite::Layout::Modern).is_paused() {
        return Err(refuse(format!(
            "{target} is paused by the annotation crossplane.io/paused, so there are no passes to record"
        )));
    }
    if object::is_being_deleted(&xr) {
        return Err(refuse(format!("{target} is being deleted, so its functions no longer run")));
    }
    let (wanted, recorded) = WantedRecording::new(mask_key());
    if engine.recordings.record(&target.gvk, &Key::from(&target), wanted).is_err() {
        return Err(Refusal::NotHere(format!(
            "the operator does not reconcile {target}: its XRD is not established, or the XR belongs to another shard"
        )));
    }
    let mut recording = match recorded.await {
        Ok(Ok(recording)) => recording,
        Ok(Err(why)) => return Err(refuse(format!("{target} was not reconciled: {why}"))),
        Err(_) => return Err(refuse(format!("the pass over {target} ended without a result"))),
    };
    conceal(&mut recording, &target, rights).await;
    Ok(recording)
}

/// Hides what the user may not read: objects by themselves, and what functions may have derived from them.
async fn conceal(recording: &mut Recording, xr: &ObjectRef, rights: &dyn Readers) {
    let mut concealed = None;
    for piece in recording.observed.values_mut() {
        concealed = conceal_object(piece, None, rights).await.or(concealed);
    }
    for piece in recording.observed.values_mut().chain(&mut recording.composite) {
        // A user who may read an object need not be one who may read the Secret that it publishes to.
        if let Some(secret) = &piece.connection_secret
            && !may_get(secret, rights).await
        {
            concealed = Some(of_kind(secret));
            piece.connection_details.clear();
        }
    }
    let revision = "apiextensions.crossplane.io/v1/CompositionRevision".parse().expect("a fixed kind");
    let revision = ObjectRef::new(revision, None, recording.revision.clone());
    let reads_revision = rights.may_read(&revision).await;
    for step in &mut recording.steps {
        if !reads_revision {
            step.input.iter_mut().for_each(|input| input.hide(&format!("you may not get {revision}")));
        }
        for credential in step.credentials.values_mut() {
            let target = credential.secret.target();
            if target.is_none_or(|target| target.name.is_empty())
                || !may_get(&credential.secret, rights).await
            {
                concealed = Some(of_kind(&credential.secret));
                credential.entries.clear();
                if !reads_revision {
                    credential.secret.name.clear();
                }
            }
        }
        for call in &mut step.calls {
            for piece in call.required.values_mut().flatten() {
                if let Some(what) = conceal_object(piece, None, rights).await {
                    // Which objects of a kind there are is not known to the user either.
                    piece.object.iter_mut().for_each(|named| named.name.clear());
                    concealed = Some(what);
                }
            }
            let Some(returned) = &mut call.returned else { continue };
            for piece in returned.resources.values_mut() {
                conceal_object(piece, xr.namespace.as_ref(), rights).await;
            }
            for (text, named) in returned.requires.iter_mut().zip(&returned.required) {
                if !may_get(named, rights).await {
                    // What follows says which of them, and whether one of that name exists is not known to the user.
                    let kind = format!(": {} ({})", named.kind, named.api_version);
                    text.truncate(text.find(&kind).map_or(0, |at| at + kind.len()));
                }
            }
        }
    }
    let Some(what) = concealed else { return };
    // The context may contain anything that a function was given.
    let why = format!("it may contain what comes from {what}, which you may not get");
    for call in recording.steps.iter_mut().flat_map(|step| &mut step.calls) {
        let returned = call.returned.iter_mut().flat_map(|returned| &mut returned.context);
        call.context.iter_mut().chain(returned).for_each(|piece| piece.hide(&why));
    }
}

/// Hides an object that the user may not read; what it is then. Without a namespace of its own it is in `namespace`.
async fn conceal_object(
    piece: &mut Piece,
    namespace: Option<&Namespace>,
    rights: &dyn Readers,
) -> Option<String> {
    let Some(named) = &piece.object else {
        piece.hide("it is of no kind");
        return None;
    };
    let mut named = named.clone();
    named.namespace = named.namespace.or_else(|| namespace.map(|own| own.as_str().to_owned()));
    if may_get(&named, rights).await {
        return None;
    }
    let what = of_kind(&named);
    piece.hide(&format!("you may not get {what}"));
    piece.connection_details.clear();
    Some(what)
}

async fn may_get(named: &Named, rights: &dyn Readers) -> bool {
    match named.target() {
        Some(target) => rights.may_read(&target).await,
        None => false,
    }
}

/// `objects of kind Secret in namespace shop`
fn of_kind(named: &Named) -> String {
    let place = named.namespace.as_ref().map_or_else(String::new, |it| format!(" in namespace {it}"));
    format!("objects of kind {}{place}", named.kind)
}

/// Leaves out the largest values until a recording fits; `pack` says whether it does.
pub(super) fn fit(
    recording: &mut Recording,
    pack: impl Fn(&Recording) -> Result<String, Refusal>,
) -> Result<String, Refusal> {
    let mut limit = 1 << 20;
    loop {
        match pack(recording) {
            Err(Refusal::TooLarge) if limit > 16 => trim(recording, limit),
            packed => return packed,
        }
        limit /= 4;
    }
}

/// Leaves out all values of more than `limit` bytes.
fn trim(recording: &mut Recording, limit: usize) {
    let (mut count, mut bytes) = recording.trimmed;
    for piece in recording.pieces_mut() {
        let size = piece.value.as_ref().map(Value::to_string).map_or(0, |text| text.len());
        if size > limit {
            piece.value = None;
            piece.trimmed = Some(size);
            (count, bytes) = (count + 1, bytes + size);
        }
    }
    recording.trimmed = (count, bytes);
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use serde_json::json;

    use super::*;
    use crate::composition::recording::{Call, Returned, StepRecord};

    /// A user who may read all objects but those of these kinds.
    struct Without(&'static [&'static str]);

    impl Readers for Without {
        fn may_read<'a>(&'a self, target: &'a ObjectRef) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
            Box::pin(async { !self.0.contains(&target.kind()) })
        }
    }

    fn named(kind: &str, name: &str) -> Named {
        Named {
            api_version: "v1".into(),
            kind: kind.into(),
            namespace: Some("shop".into()),
            name: name.into(),
        }
    }

    #[tokio::test]
    async fn what_comes_from_unreadable_objects_is_hidden() {
        async fn concealed(without: &'static [&'static str], change: fn(&mut Recording)) -> String {
            let context = || Some(Piece { value: Some(json!({"password": "hunter2"})), ..Piece::default() });
            let returned = Returned { context: context(), ..Returned::default() };
            let call = Call { context: context(), returned: Some(returned), ..Call::default() };
            let mut recording = Recording {
                composite: Some(Piece { object: Some(named("XApp", "a")), ..Piece::default() }),
                steps: vec![StepRecord { calls: vec![call], ..StepRecord::default() }],
                ..Recording::default()
            };
            change(&mut recording);
            let xr = named("XApp", "a").target().unwrap();
            conceal(&mut recording, &xr, &Without(without)).await;
            serde_json::to_string(&recording).unwrap()
        }
        async fn check(change: fn(&mut Recording)) {
            let shown = concealed(&["Secret"], change).await;
            assert!(!shown.contains("hunter2") && !shown.contains("db-secret"), "{shown}");
            assert!(shown.contains("objects of kind Secret in namespace shop"), "{shown}");
            let shown = concealed(&[], change).await;
            assert!(shown.contains("hunter2"), "{shown}");
        }
        let nothing: fn(&mut Recording) = |_| {};
        assert!(concealed(&["Secret"], nothing).await.contains("hunter2"));
        check(|recording| {
            let secret = Some(named("Secret", "db-secret"));
            let child = Piece {
                object: Some(named("Database", "db")),
                connection_secret: secret,
                connection_details: vec!["db-secret-password".into()],
                ..Piece::default()
            };
            recording.observed.insert("db".into(), child);
        })
        .await;
        check(|recording| {
            let xr = recording.composite.as_mut().unwrap();
            xr.connection_secret = Some(named("Secret", "db-secret"));
        })
        .await;
        check(|recording| {
            let piece = Piece { object: Some(named("Secret", "db-secret")), ..Piece::default() };
            let call = &mut recording.steps[0].calls[0];
            call.required.insert("login".into(), vec![piece]);
            let returned = call.returned.as_mut().unwrap();
            returned.requires = vec!["login: Secret (v1) db-secret in shop".into(), "schema of X".into()];
            returned.required = vec![named("Secret", "db-secret")];
        })
        .await;
    }

    #[tokio::test]
    async fn names_of_what_is_required_are_hidden_even_if_it_does_not_exist() {
        let returned = Returned {
            requires: vec!["login: Secret (v1) db-secret in shop".into(), "x: schema of X (v1)".into()],
            required: vec![named("Secret", "db-secret")],
            ..Returned::default()
        };
        let call = Call { returned: Some(returned), ..Call::default() };
        let step = StepRecord { calls: vec![call], ..StepRecord::default() };
        let mut recording = Recording { steps: vec![step], ..Recording::default() };
        conceal(&mut recording, &named("XApp", "a").target().unwrap(), &Without(&["Secret"])).await;
        let returned = recording.steps[0].calls[0].returned.as_ref().unwrap();
        assert_eq!(returned.requires, ["login: Secret (v1)", "x: schema of X (v1)"]);
    }

    #[test]
    fn the_largest_values_are_left_out_and_counted() {
        let piece = |length: usize| Piece { value: Some(json!("x".repeat(length))), ..Piece::default() };
        let mut recording = Recording {
            observed: [("small", 10), ("large", 2000), ("huge", 2_000_000)]
                .into_iter()
                .map(|(key, length)| (key.to_owned(), piece(length)))
                .collect(),
            ..Recording::default()
        };
        let pack = |recording: &Recording| {
            let text = serde_json::to_string(recording).unwrap();
            if text.len() > 3000 { Err(Refusal::TooLarge) } else { Ok(text) }
        };
        fit(&mut recording, pack).unwrap();
        assert_eq!(recording.trimmed, (1, 2_000_002));
        assert_eq!(recording.observed["huge"].trimmed, Some(2_000_002));
        assert!(recording.observed["large"].value.is_some());
        assert!(matches!(fit(&mut recording, |_| Err(Refusal::TooLarge)), Err(Refusal::TooLarge)));
    }
}
