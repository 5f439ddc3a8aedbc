//! What earlier applies of a set left: it makes drift of what would otherwise be another manager's field, and dry runs
//! needless.

use manifest::ObjectRef;
use ownership::{Observed, Prior, client_side_appliers};
use plan::SetRecord;
use serde_json::Value;

use super::Batch;
use super::resolve::ResolvedObject;
use super::writer::Writer;
use crate::support::applyset::SetPlan;
use crate::support::mask_key::random_key;

impl Batch {
    fn recorded(&self) -> Option<&SetRecord> {
        self.set.as_ref()?.set.record()
    }

    /// What is known of the last apply of an object.
    pub(super) fn prior(&self, target: &ObjectRef, writer: &Writer) -> Prior<'_> {
        let record = self.recorded().and_then(|set| set.member(target)?.record.as_ref());
        Prior::recorded(record, &writer.manager, self.observed(target))
    }

    /// Whether the API server would answer a dry run as it answered the last apply.
    pub(super) fn is_answered(&self, object: &ResolvedObject, writer: &Writer, live: &Observed) -> bool {
        let Some(set) = self.recorded() else { return false };
        let desired = writer.desired(&object.body, None);
        client_side_appliers(live).is_empty()
            && set.is_answered(&object.target, &desired, &writer.left_names, live)
    }

    /// From now on, remembers how objects are left. It starts with what is known.
    pub(crate) fn start_record(&mut self) {
        let known = self.recorded().cloned();
        let record = self.set.is_some().then(|| known.unwrap_or_else(|| SetRecord::new(random_key())));
        self.record.replace(record);
    }

    /// Remembers how an apply has left an object.
    pub(crate) fn remember_answer(&self, object: &ResolvedObject, writer: &Writer, answer: &Value) {
        // Managers that cannot be read are reported by the comparison.
        if self.record.borrow().is_some()
            && let Ok(answer) = Observed::new(answer.clone())
        {
            self.remember(object, writer, &answer);
        }
    }

    /// Remembers an object that an apply leaves as it is.
    pub(crate) fn remember_unchanged(&self, object: &ResolvedObject, writer: &Writer) {
        if let Some(live) = self.observed(&object.target) {
            self.remember(object, writer, live);
        }
    }

    pub(super) fn remember(&self, object: &ResolvedObject, writer: &Writer, live: &Observed) {
        let Some(set) = &self.set else { return };
        if let Some(record) = self.record.borrow_mut().as_mut() {
            let left = writer.left(Some(live));
            let desired = writer.desired(&object.body, left.as_ref());
            let namespace = set.set.parent.namespace.as_ref();
            record.insert(&object.target, &desired, &writer.left_names, live, namespace);
        }
    }

    /// What is remembered after an apply, of its objects and of the members that are left.
    pub(crate) fn finished_record(&self, set: &SetPlan) -> Option<SetRecord> {
        let mut record = self.record.take()?;
        record.retain(self.objects.iter().map(|object| &object.target).chain(set.remaining()));
        Some(record)
    }
}
