//! What the lifecycle states of a kind mean for the object.
//!
//! States are matched whole, never by a part of their name. A state that is not in the table of its kind has no
//! lifecycle: the class `unknown` is published and the resource is left alone.

use serde::Deserialize;

use crate::operation::Phase;

/// What a lifecycle state means for the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum Lifecycle {
    /// A mutation is in flight.
    Pending(Phase),
    Ready,
    /// Its deletion is accepted and comes later; until then a person can cancel it.
    Scheduled,
    /// Deleted; the provider still shows it for a while.
    Deleted,
    Failed,
    /// Neither usable nor broken; a person has to act.
    Attention,
}

/// The words of descriptions.
impl TryFrom<String> for Lifecycle {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        Ok(match word.as_str() {
            "creating" => Self::Pending(Phase::Create),
            "updating" => Self::Pending(Phase::Update),
            "deleting" => Self::Pending(Phase::Delete),
            "ready" => Self::Ready,
            "scheduled" => Self::Scheduled,
            "deleted" => Self::Deleted,
            "failed" => Self::Failed,
            "attention" => Self::Attention,
            _ => return Err(format!("`{word}` is not a known state meaning")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{Kind, Strategy};

    #[test]
    fn states_are_matched_whole_ignoring_case_and_blanks() {
        let states = &[("CREATING", Lifecycle::Pending(Phase::Create)), ("ACTIVE", Lifecycle::Ready)];
        let kind = Kind { name: "", strategy: Strategy::Lifecycle, states, retry_tokens: false };
        for (state, lifecycle) in states {
            for raw in [(*state).to_owned(), format!(" {} ", state.to_lowercase())] {
                assert_eq!(kind.lifecycle(Some(&raw)), Some(*lifecycle), "{raw}");
            }
        }
        for other in ["", "CREATE", "PENDING_DELETION", "ACTIVE2", "INACTIVE", "ACTIV"] {
            assert_eq!(kind.lifecycle(Some(other)), None, "{other}");
        }
        assert_eq!(kind.lifecycle(None), None);
        let stateless = Kind { states: &[], ..kind };
        assert_eq!(stateless.lifecycle(None), Some(Lifecycle::Ready), "what can be read is there");
    }
}
