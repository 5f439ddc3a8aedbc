//! Renders XRs with a changed platform for a user who may change it, and shows what the user may read.

use std::collections::{BTreeSet, HashSet};
use std::pin::Pin;

use composition::object;
use composition::platform::is_platform;
use composition::protocol::Object;
use futures::stream::{self, StreamExt as _};
use manifest::ObjectRef;
use manifest::secret::MaskKey;

use super::Refusal;
use super::identity::Rights;
use super::wire::{MAX_XRS, Named, PlanQuestion};
use crate::composition::engine::Engine;
use crate::composition::function::FunctionLocations;
use crate::composition::preview::{Previewer, Readers, XrPreview, read_platform};
use crate::runtime::client::ObjectClient;

/// Max concurrent reads.
const MAX_CONCURRENT: usize = 16;

impl Readers for Rights<'_> {
    fn may_read<'a>(&'a self, target: &'a ObjectRef) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
        Box::pin(self.may("get", target))
    }
}

/// The previews, in the order of the XRs that were asked for. One that is gone or may not be read has a failure.
pub(super) async fn answer(
    engine: &Engine,
    locations: &FunctionLocations,
    question: &PlanQuestion,
    rights: &Rights<'_>,
) -> Result<Vec<XrPreview>, Refusal> {
    check_size(question).map_err(Refusal::Refused)?;
    for changed in &question.changed {
        check(changed, &engine.client, rights).await?;
    }
    let now = engine.clock.now();
    let platform = read_platform(engine.client.session(), &question.changed, BTreeSet::new(), now).await?;
    let moved;
    let functions = if platform.moves_functions() {
        moved = engine.functions.located(platform.locate(locations.flags().clone()));
        &moved
    } else {
        &engine.functions
    };
    let mut reads = Vec::new();
    for xr in &question.xrs {
        reads.push(read(xr, &engine.client, rights));
    }
    let read: Vec<Result<Object, String>> = stream::iter(reads).buffered(MAX_CONCURRENT).collect().await;
    let xrs: Vec<Object> = read.iter().flatten().cloned().collect();
    let previewer = Previewer::new(engine.client.clone(), functions, &platform, mask_key());
    let default = engine.default_service_account.clone();
    let previewer = previewer.by_operator(engine.shard.clone(), default, rights);
    let mut previews = previewer.preview(&xrs).await.into_iter();
    let preview = |read: Result<Object, String>| match read {
        Ok(_) => previews.next().unwrap_or_default(),
        Err(why) => XrPreview { failure: Some(why), ..XrPreview::default() },
    };
    Ok(read.into_iter().map(preview).collect())
}

/// All users who may ask may ask for this much.
fn check_size(question: &PlanQuestion) -> Result<(), String> {
    if question.changed.is_empty() {
        return Err("the request names no changed Composition, XRD or Function".to_owned());
    }
    let count = question.xrs.len();
    if count > MAX_XRS {
        return Err(format!(
            "the request names {count} XRs, and the limit is {MAX_XRS}. Ask for them in several requests"
        ));
    }
    let mut seen = HashSet::new();
    match question.xrs.iter().find(|xr| !seen.insert(*xr)) {
        Some(twice) => Err(format!("the request names {} {} twice", twice.kind, twice.name)),
        None => Ok(()),
    }
}

/// A key for one answer: its masks say which values are the same, and are useless elsewhere.
pub(super) fn mask_key() -> MaskKey {
    let mut random = [0; 16];
    aws_lc_rs::rand::fill(&mut random).expect("the system has random numbers");
    MaskKey::new(u128::from_be_bytes(random))
}

/// The engine runs what a Composition says, with the operator's rights. Only users who could have it do so by writing the
/// Composition may see what comes of it.
async fn check(changed: &Object, client: &ObjectClient, rights: &Rights<'_>) -> Result<(), Refusal> {
    let target = ObjectRef::of(changed).map_err(|error| Refusal::Refused(error.to_string()))?;
    if !is_platform(&target) {
        return Err(Refusal::Refused(format!("{target} is no Composition, XRD or Function")));
    }
    let exists = client.read(&target).await.map_err(|error| Refusal::Refused(error.text()))?.is_some();
    let verb = if exists { "patch" } else { "create" };
    if rights.may(verb, &target).await {
        return Ok(());
    }
    let kind = target.kind();
    Err(Refusal::Refused(format!(
        "you may not {verb} {target}. Rendering XRs with a changed {kind} requires permission to apply it"
    )))
}

async fn read(xr: &Named, client: &ObjectClient, rights: &Rights<'_>) -> Result<Object, String> {
    let target = xr.target().ok_or_else(|| format!("{} is not a valid kind", xr.kind))?;
    if !rights.may("get", &target).await {
        return Err(format!("you may not get {target}"));
    }
    let read = client.read(&target).await.map_err(|error| error.text())?;
    read.filter(|read| object::uid(read).is_some()).ok_or_else(|| format!("{target} does not exist"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_question_is_limited() {
        let check = |changed: usize, xrs: Vec<usize>, expected: &str| {
            let named =
                |number: usize| Named { kind: "X".into(), name: format!("x{number}"), ..Named::default() };
            let question = PlanQuestion {
                changed: vec![object::object(json!({"kind": "Composition"})); changed],
                xrs: xrs.into_iter().map(named).collect(),
            };
            assert_eq!(check_size(&question).err().unwrap_or_default(), expected);
        };
        check(1, (0..100).collect(), "");
        check(0, vec![1], "the request names no changed Composition, XRD or Function");
        check(
            1,
            (0..101).collect(),
            "the request names 101 XRs, and the limit is 100. Ask for them in several requests",
        );
        check(1, vec![1, 2, 1], "the request names X x1 twice");
    }
}
