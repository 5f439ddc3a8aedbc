//! The live composed resources, read with as few requests as possible.

use std::collections::{BTreeMap, HashMap, HashSet};

use cluster::{Selection, is_worth_listing};
use composition::naming::LABEL_COMPOSITE;
use composition::object;
use composition::protocol::Object;
use futures::stream::{self, StreamExt as _};
use manifest::{GroupVersionKind, Namespace, ObjectRef};

use crate::runtime::client::{ApiError, ObjectClient};

const MAX_CONCURRENT: usize = 8;

/// Objects that were listed ahead. Others are read when they are asked for: they may lack the label, or the kind may not be
/// listed.
#[derive(Default)]
pub(super) struct Live(HashMap<ObjectRef, Object>);

impl Live {
    /// Lists what `references` name, where several are of one kind in one namespace.
    pub(super) async fn of(client: &ObjectClient, references: impl IntoIterator<Item = ObjectRef>) -> Self {
        let mut groups: BTreeMap<(GroupVersionKind, Option<Namespace>), HashSet<String>> = BTreeMap::new();
        for reference in references {
            groups.entry((reference.gvk, reference.namespace)).or_default().insert(reference.name);
        }
        let mut lists = Vec::new();
        for ((gvk, namespace), names) in groups {
            if is_worth_listing(&gvk, names.len(), None) {
                lists.push(list(client, gvk, namespace, names));
            }
        }
        let listed: Vec<_> = stream::iter(lists).buffer_unordered(MAX_CONCURRENT).collect().await;
        Self(listed.into_iter().flatten().collect())
    }

    pub(super) async fn read(
        &self,
        client: &ObjectClient,
        reference: &ObjectRef,
    ) -> Result<Option<Object>, ApiError> {
        if let Some(known) = self.0.get(reference) {
            return Ok(Some(known.clone()));
        }
        match client.read(reference).await {
            // Without any version of its kind it does not exist either.
            Err(error) if error.is_kind_absent() => Ok(None),
            read => read,
        }
    }
}

/// The composed ones of these names; none if they may not be listed.
async fn list(
    client: &ObjectClient,
    gvk: GroupVersionKind,
    namespace: Option<Namespace>,
    names: HashSet<String>,
) -> Vec<(ObjectRef, Object)> {
    let labels = Some(LABEL_COMPOSITE.to_owned());
    let selection = Selection { namespace: namespace.clone(), labels, ..Selection::default() };
    let Ok(listed) = client.session().list(&gvk, &selection).await else { return Vec::new() };
    let mut found = Vec::new();
    for item in listed.items.into_iter().map(object::from_value) {
        let name = object::name(&item).unwrap_or_default().to_owned();
        // A reference without a namespace may be to an object in one.
        let is_there = object::namespace(&item) == namespace.as_ref().map(Namespace::as_str);
        if is_there && names.contains(&name) {
            found.push((ObjectRef::new(gvk.clone(), namespace.clone(), name), item));
        }
    }
    found
}
