//! The private state of a resource, key by key.
//!
//! The first four keys are the Go provider's own, so that a state can go back to it.

use manifest::secret::MaskKey;
use ownership::Baseline;
use serde_json::Value;
use tfplugin::private::Private;

/// Field → first manager, as the Go provider stores it.
pub(crate) const FORMER_BASELINE: &str = "ownership_baseline";
/// The maps could not be computed; another apply or refresh will.
pub(crate) const PENDING_PROJECTION: &str = "pending_projection";
/// Imported or moved here, and not applied since.
pub(crate) const IMPORTED: &str = "imported_without_annotations";
/// The last read was rejected, so the state may be stale.
pub(crate) const STALE_READ: &str = "stale_read";
/// Every written field with its managers and value at the last apply.
pub(crate) const BASELINE: &str = "ownership_baseline_v2";
/// A wait did not finish and has to run again.
pub(crate) const WAIT_OWED: &str = "wait_owed";
/// Which cluster the object is in.
pub(crate) const CLUSTER_UID: &str = "cluster_uid";
/// The fingerprint of the API server's last response (`plan::fingerprint`).
pub(crate) const LAST_ANSWER: &str = "settled";
/// The managers of the tool the object was moved from; their fields become ours at the next apply.
pub(crate) const MOVED_FROM: &str = "moved_from";
/// Moved here without a body, which the first read fills in.
pub(crate) const BODY_MISSING: &str = "body_missing";

/// The write-only part of what was last applied, with a mark in place of every value.
pub(crate) const WRITE_ONLY: &str = "write_only";
/// The fields that the last applies took back from other managers (`ownership::Fights`).
pub(crate) const FIGHTS: &str = "fights";
/// What the values of a Secret are masked with; absent in states of version 0.1, whose masks have no key.
pub(crate) const MASK_KEY: &str = "mask_key";

/// What most keys of [`Private`] store.
pub(crate) trait Keys {
    fn flag(&self, key: &str) -> bool;
    fn set_flag(&mut self, key: &str, on: bool);
    /// The key of the masks in the state.
    fn mask_key(&self) -> MaskKey;
    /// Stores a new key of masks.
    fn renew_mask_key(&mut self);
    /// The baseline of the last apply; `written` is the body of an object that was applied.
    fn baseline(&self, written: Option<&Value>) -> Option<Baseline>;
    /// Stores the baseline after an apply of `written`, which is in the state, for us and for the Go provider.
    fn set_baseline(&mut self, baseline: &Baseline, written: &Value);
    /// Stores a whole baseline: one of a patch, or one rebuilt from what the Go provider stored.
    fn adopt_baseline(&mut self, baseline: &Baseline);
}

impl Keys for Private {
    fn flag(&self, key: &str) -> bool {
        self.get_as(key) == Some(true)
    }

    fn set_flag(&mut self, key: &str, on: bool) {
        self.set_optional(key, on.then_some(&true));
    }

    fn mask_key(&self) -> MaskKey {
        let stored = self.get_as::<String>(MASK_KEY).and_then(|key| u128::from_str_radix(&key, 16).ok());
        stored.map_or(MaskKey::FORMER, MaskKey::new)
    }

    fn renew_mask_key(&mut self) {
        let mut random = [0; 16];
        aws_lc_rs::rand::fill(&mut random).expect("the system has random numbers");
        self.set(MASK_KEY, &format!("{:032x}", u128::from_be_bytes(random)));
    }

    fn baseline(&self, written: Option<&Value>) -> Option<Baseline> {
        Baseline::from_value(&self.get_as(BASELINE)?, written, &self.mask_key()).ok()
    }

    fn set_baseline(&mut self, baseline: &Baseline, written: &Value) {
        self.set(BASELINE, &baseline.to_value_beside(written, &self.mask_key()));
        self.set(FORMER_BASELINE, &baseline.to_former(written));
    }

    fn adopt_baseline(&mut self, baseline: &Baseline) {
        self.set(BASELINE, &baseline.to_value());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn flags_are_the_go_providers() {
        let mut private = Private::default();
        private.set_flag(IMPORTED, true);
        assert!(private.flag(IMPORTED));
        assert_eq!(private.get(IMPORTED), Some("true"));
        private.set_flag(IMPORTED, false);
        assert!(private.is_empty());
    }

    #[test]
    fn a_mask_key_is_random_and_reads_back() {
        let mut private = Private::default();
        assert_eq!(private.mask_key(), MaskKey::FORMER);
        private.renew_mask_key();
        let first = private.mask_key();
        assert_eq!(private.clone().mask_key(), first);
        private.renew_mask_key();
        assert!(first != MaskKey::FORMER && first != private.mask_key());
    }

    #[test]
    fn a_baseline_is_stored_for_us_and_for_the_go_provider() {
        let written =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k.x": "v"}});
        let mut answer = written.clone();
        answer["metadata"]["managedFields"] = json!([{
            "manager": "k8sconnect", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:k.x": {}}},
        }]);
        let answer = ownership::Observed::new(answer).unwrap();
        let manager = ownership::FieldManager::new("k8sconnect");
        let mut private = Private::default();
        let desired = ownership::Desired::new(&manager, &written);
        let baseline = Baseline::record(&answer, &desired, &private.mask_key());
        private.set_baseline(&baseline, &written);
        assert_eq!(private.baseline(Some(&written)), Some(baseline));
        assert_eq!(private.get(BASELINE), Some(r#"{"by":[["k8sconnect"]],"rest":true}"#));
        assert_eq!(private.get("ownership_baseline"), Some(r#"{"data.k.x":"k8sconnect"}"#));
    }
}
