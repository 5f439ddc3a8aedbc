//! Renders XRs with a changed platform for a user who may change it, and shows what the user may read.

use std::pin::Pin;

use composition::object;
use composition::protocol::Object;
use futures::stream::{self, StreamExt as _};
use manifest::ObjectRef;
use manifest::secret::MaskKey;

use super::Refusal;
use super::identity::Rights;
use super::wire::{Named, PlanQuestion};
use crate::composition::engine::Engine;
use crate::composition::function::FunctionLocations;
use crate::composition::preview::{Platform, Previewer, Readers, XrPreview, is_platform};
use crate::runtime::client::ObjectClient;

/// As many objects are read at a time.
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
    for changed in &question.changed {
        check(changed, &engine.client, rights).await?;
    }
    let now = engine.clock.now();
    let platform = Platform::read(engine.client.session(), &question.changed, [], now).await?;
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
        "you may not {verb} {target}. Rendering XRs with a changed {kind} shows what only those may see who could apply it"
    )))
}

async fn read(xr: &Named, client: &ObjectClient, rights: &Rights<'_>) -> Result<Object, String> {
    let target = xr.target().ok_or_else(|| format!("{} is no kind", xr.kind))?;
    if !rights.may("get", &target).await {
        return Err(format!("you may not get {target}"));
    }
    let read = client.read(&target).await.map_err(|error| error.text())?;
    read.filter(|read| object::uid(read).is_some()).ok_or_else(|| format!("{target} does not exist"))
}
