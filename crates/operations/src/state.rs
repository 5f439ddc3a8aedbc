//! The lifecycle states of each kind, closed and disjoint, and what each of them means.
//!
//! States are matched whole, never by a part of their name, and a match that forgets one does not compile. What a
//! provider says beyond them is no state at all: the caller gets nothing and publishes the class `unknown`.
//! How a spec becomes a body and what counts as drift is not here: that needs the typed spec, which lives with the
//! controllers.

use crate::operation::Phase;

/// What a lifecycle state means to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// On its way to another state.
    Pending(Phase),
    /// Usable.
    Ready,
    /// Gone; the provider still remembers it.
    Gone,
    /// Broken.
    Failed,
    /// Neither usable nor broken; a person has to act.
    Attention,
}

/// The states of a Queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueueState {
    /// Being made.
    Creating,
    /// Being changed.
    Updating,
    /// Usable.
    Active,
    /// Being removed.
    Deleting,
    /// Removed.
    Deleted,
    /// Broken.
    Failed,
    /// Switched off by the provider.
    Inactive,
}

impl QueueState {
    /// Every state.
    pub const ALL: [Self; 7] = [
        Self::Creating,
        Self::Updating,
        Self::Active,
        Self::Deleting,
        Self::Deleted,
        Self::Failed,
        Self::Inactive,
    ];

    /// The provider's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Creating => "CREATING",
            Self::Updating => "UPDATING",
            Self::Active => "ACTIVE",
            Self::Deleting => "DELETING",
            Self::Deleted => "DELETED",
            Self::Failed => "FAILED",
            Self::Inactive => "INACTIVE",
        }
    }

    /// The state that the provider's word names, in any case and with blanks around it.
    pub fn parse(raw: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str().eq_ignore_ascii_case(raw.trim()))
    }

    /// What it means.
    pub const fn meaning(self) -> Meaning {
        match self {
            Self::Creating => Meaning::Pending(Phase::Create),
            Self::Updating => Meaning::Pending(Phase::Update),
            Self::Active => Meaning::Ready,
            Self::Deleting => Meaning::Pending(Phase::Delete),
            Self::Deleted => Meaning::Gone,
            Self::Failed => Meaning::Failed,
            Self::Inactive => Meaning::Attention,
        }
    }
}

/// The states of a Stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamState {
    /// Being made.
    Creating,
    /// Usable.
    Active,
    /// Being changed.
    Updating,
    /// Being removed.
    Deleting,
    /// Removed.
    Deleted,
    /// Broken.
    Failed,
}

impl StreamState {
    /// Every state.
    pub const ALL: [Self; 6] =
        [Self::Creating, Self::Active, Self::Updating, Self::Deleting, Self::Deleted, Self::Failed];

    /// The provider's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Creating => "CREATING",
            Self::Active => "ACTIVE",
            Self::Updating => "UPDATING",
            Self::Deleting => "DELETING",
            Self::Deleted => "DELETED",
            Self::Failed => "FAILED",
        }
    }

    /// The state that the provider's word names, in any case and with blanks around it.
    pub fn parse(raw: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str().eq_ignore_ascii_case(raw.trim()))
    }

    /// What it means.
    pub const fn meaning(self) -> Meaning {
        match self {
            Self::Creating => Meaning::Pending(Phase::Create),
            Self::Active => Meaning::Ready,
            Self::Updating => Meaning::Pending(Phase::Update),
            Self::Deleting => Meaning::Pending(Phase::Delete),
            Self::Deleted => Meaning::Gone,
            Self::Failed => Meaning::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_read_back_and_nothing_else_is_a_state() {
        for state in QueueState::ALL {
            assert_eq!(QueueState::parse(state.as_str()), Some(state));
            assert_eq!(QueueState::parse(&format!(" {} ", state.as_str().to_lowercase())), Some(state));
        }
        for state in StreamState::ALL {
            assert_eq!(StreamState::parse(state.as_str()), Some(state));
        }
        for other in ["", "CREATE", "PENDING_DELETION", "ACTIVE2", "NEEDS_ATTENTION", "DELET"] {
            assert_eq!(QueueState::parse(other), None, "{other}");
            assert_eq!(StreamState::parse(other), None, "{other}");
        }
        assert_eq!(StreamState::parse("INACTIVE"), None, "a Queue's state is no Stream's");
    }

    #[test]
    fn every_state_has_its_meaning() {
        let queue = QueueState::ALL.map(|state| format!("{} {:?}", state.as_str(), state.meaning()));
        insta::assert_snapshot!(queue.join("\n"), @r"
        CREATING Pending(Create)
        UPDATING Pending(Update)
        ACTIVE Ready
        DELETING Pending(Delete)
        DELETED Gone
        FAILED Failed
        INACTIVE Attention
        ");
        let stream = StreamState::ALL.map(|state| format!("{} {:?}", state.as_str(), state.meaning()));
        insta::assert_snapshot!(stream.join("\n"), @r"
        CREATING Pending(Create)
        ACTIVE Ready
        UPDATING Pending(Update)
        DELETING Pending(Delete)
        DELETED Gone
        FAILED Failed
        ");
    }
}
