//! The kinds whose definitions are installed: of all kinds that are described, only these cost a watch.

use cluster::{Error, Selection, Session};
use manifest::GroupVersionKind;
use oraclecloud::kind::{Embedded, service_of};
use oraclecloud::{Catalogue, Kind};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::run::Context;
use crate::runtime::store::{Changes, Source, Store};

pub(super) struct InstalledKinds {
    definitions: Store,
    /// Descriptions that a user added.
    added: Catalogue,
}

impl InstalledKinds {
    pub(super) fn start(context: &Context, stop: &CancellationToken) -> Self {
        let source = Source { trim: keep_names, ..Source::of(definition_kind()) };
        let definitions = Store::start(context.session.clone(), source, &context.metrics, stop);
        Self { definitions, added: context.options.kinds.clone() }
    }

    pub(super) async fn wait_until_known(&self) {
        self.definitions.wait_until_synced().await;
    }

    /// The installed kinds. Where definitions cannot be watched, those that are served without being asked for.
    pub(super) fn kinds(&self) -> Vec<Kind> {
        if !self.definitions.is_synced() {
            return Catalogue::standard().kinds().to_vec();
        }
        self.definitions.state().filter_map(|definition| kind_of(&definition, &self.added)).collect()
    }

    pub(super) fn subscribe(&self) -> InstalledChanges {
        InstalledChanges(self.definitions.subscribe())
    }
}

/// The installed kinds, read once.
pub(crate) async fn installed_kinds(session: &Session, added: &Catalogue) -> Result<Vec<Kind>, Error> {
    let keep = |definition| kind_of(&definition, added);
    let listed = session.list_kept(&definition_kind(), &Selection::default(), &keep).await?;
    Ok(listed.items.into_iter().flatten().collect())
}

fn definition_kind() -> GroupVersionKind {
    "apiextensions.k8s.io/v1/CustomResourceDefinition".parse().expect("a valid kind")
}

/// The kind of a definition, if it is one of Oracle Cloud's and served.
fn kind_of(definition: &Value, added: &Catalogue) -> Option<Kind> {
    readiness::condition(definition, "Established", "True").ok()?;
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str);
    let service = service_of(text("/spec/group")?)?;
    let path = format!("{service}/{}", text("/spec/names/kind")?);
    added.get(&path).or_else(|| Embedded::kind(&path))
}

/// News about definitions.
pub(super) struct InstalledChanges(Changes);

impl InstalledChanges {
    /// Waits until a definition comes, goes or changes; forever once nothing is watched any more.
    pub(super) async fn changed(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// Drops all of a definition but its names and conditions; of other groups, all but the name.
fn keep_names(definition: &mut Value) {
    let Some(fields) = definition.as_object_mut() else { return };
    let spec = fields.remove("spec").unwrap_or_default();
    let is_ours = spec["group"].as_str().and_then(service_of).is_some();
    if is_ours {
        fields.insert("spec".to_owned(), json!({"group": spec["group"], "names": spec["names"]}));
    } else {
        fields.remove("status");
    }
    let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.retain(|name, _| matches!(name.as_str(), "name" | "resourceVersion" | "uid"));
}
