//! Fields that another manager sets again after every apply of ours.
//!
//! A change that is reverted once is drift. The same field taken back from the same manager in consecutive applies is a
//! fight, which only a change of configuration ends.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::analysis::{Analysis, FieldTransition};
use crate::manager::FieldManager;
use crate::row::Row;

/// How often a field is taken back before it counts as a fight.
const PERSISTENT: u32 = 3;

/// The fields that the last applies took back, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fights(BTreeMap<String, Fight>);

/// A field that the last applies took back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Fight {
    by: Vec<FieldManager>,
    /// When the managers set it before the first of these applies, as the API server wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    applies: u32,
}

impl Fights {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The record after an apply of what was analysed. A field that is not taken back this time is forgotten.
    #[must_use]
    pub fn after(&self, analysis: &Analysis) -> Self {
        let taken_back = analysis.fields.iter().filter(|field| is_taken_back(field));
        let fights = taken_back.map(|field| {
            let name = analysis.print(field);
            let before = self.before(&name, field);
            let since = before.map_or_else(|| field.set_at.clone(), |fight| fight.since.clone());
            let applies = 1 + before.map_or(0, |fight| fight.applies);
            (name, Fight { by: field.others.clone(), since, applies })
        });
        Self(fights.collect())
    }

    /// That the field is fought over, in words, if this is at least the third time.
    pub(crate) fn report(&self, name: &str, field: &FieldTransition) -> Option<String> {
        let fight = self.before(name, field).filter(|fight| fight.applies + 1 >= PERSISTENT)?;
        let names: Vec<&str> = fight.by.iter().map(FieldManager::as_str).collect();
        let verb = if names.len() == 1 { "has" } else { "have" };
        let since = fight.since.as_ref().map_or_else(String::new, |since| format!(", since {since}"));
        Some(format!(
            "{} {verb} set {name} again after each of the last {} applies{since}.",
            names.join(", "),
            fight.applies
        ))
    }

    /// Whether the last apply took the field back from the managers that have set it now.
    pub(crate) fn has_taken_back(&self, name: &str, field: &FieldTransition) -> bool {
        self.before(name, field).is_some()
    }

    fn before(&self, name: &str, field: &FieldTransition) -> Option<&Fight> {
        self.0.get(name).filter(|fight| fight.by == field.others && is_taken_back(field))
    }
}

fn is_taken_back(field: &FieldTransition) -> bool {
    let is_conflict = matches!(field.row, Row::RevertDrift | Row::OverwriteConcurrent | Row::TakeFromActive);
    is_conflict && field.change.is_some() && !field.others.is_empty()
}

#[cfg(test)]
mod tests {
    use fields::{FieldPath, Positions};
    use serde_json::json;

    use super::*;
    use crate::analysis::ValueChange;

    fn analysis(row: Row, manager: &str, set_at: &str) -> Analysis {
        let change =
            ValueChange { before: None, live: Some(json!(5)), planned: Some(json!(3)), masked: false };
        let field = FieldTransition {
            path: FieldPath::of_fields(["spec", "replicas"]),
            row,
            others: vec![FieldManager::new(manager)],
            set_at: Some(set_at.to_owned()),
            change: Some(change),
        };
        Analysis { fields: vec![field], positions: Positions::default(), is_unrecorded: false }
    }

    #[test]
    fn the_third_time_in_a_row_is_a_fight() {
        let drift = |manager: &str, time: &str| analysis(Row::RevertDrift, manager, time);
        let report =
            |fights: &Fights, analysis: &Analysis| fights.report("spec.replicas", &analysis.fields[0]);
        let once = Fights::default().after(&drift("hpa", "t1"));
        assert_eq!(report(&once, &drift("hpa", "t2")), None);
        let twice = once.after(&drift("hpa", "t2"));
        assert_eq!(
            report(&twice, &drift("hpa", "t3")).unwrap(),
            "hpa has set spec.replicas again after each of the last 2 applies, since t1."
        );
        let stored: Fights = serde_json::from_value(serde_json::to_value(&twice).unwrap()).unwrap();
        assert_eq!(stored, twice);
        // Another manager, or an apply without a conflict, starts anew.
        assert_eq!(report(&twice, &drift("kubectl", "t3")), None);
        assert!(twice.after(&analysis(Row::Update, "hpa", "t3")).is_empty());
    }
}
