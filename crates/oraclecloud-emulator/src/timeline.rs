//! How an operation goes: its steps, its outcome, and how far listings lag behind it.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::route::Operation;

/// What moves operations on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Pace {
    /// Each look at an operation, or at the resource it is about, is answered and then moves it one step.
    #[default]
    Polls,
    /// A step takes this many milliseconds of the server's [`Clock`](crate::Clock).
    StepMillis(u64),
}

/// How one operation goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Timeline {
    /// What it shows on the way.
    pub steps: Vec<Step>,
    /// How it ends.
    pub outcome: Outcome,
    /// How many steps a new resource stays hidden: for a Queue after its work request has ended, for a Stream from
    /// the beginning. With none it shows as CREATING at once.
    pub hidden: u32,
    /// How many steps a deleted resource is still shown as DELETED.
    pub lingers: u32,
}

impl Default for Timeline {
    fn default() -> Self {
        let step = |status: &str, percent: f32| Step { status: status.to_owned(), percent };
        Self {
            steps: vec![step("ACCEPTED", 0.0), step("IN_PROGRESS", 30.0), step("IN_PROGRESS", 70.0)],
            outcome: Outcome::Succeed,
            hidden: 0,
            lingers: 1,
        }
    }
}

/// What a work request shows at one time. The words are sent as they are, also those that no service has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its status.
    pub status: String,
    /// Its percentage.
    pub percent: f32,
}

/// How an operation ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// As asked.
    #[default]
    Succeed,
    /// Badly, for this reason.
    Fail {
        /// The service's word.
        code: String,
        /// What people read.
        message: String,
    },
    /// Called off.
    Cancel,
    /// It does not end: the last step stays.
    Never,
}

/// A timeline for some operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TimelineFor {
    /// Which operation.
    pub operation: Operation,
    /// Only of resources with this name; of all when absent.
    #[serde(default)]
    pub name: Option<String>,
    /// How many operations it is for; for all when absent.
    #[serde(default)]
    pub times: Option<u32>,
    /// How they go.
    pub timeline: Timeline,
}

/// The place of an operation in its timeline.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    pub(crate) timeline: Timeline,
    pub(crate) accepted: Timestamp,
    polls: u32,
}

impl Progress {
    pub(crate) fn new(timeline: Timeline, accepted: Timestamp) -> Self {
        Self { timeline, accepted, polls: 0 }
    }

    /// Somebody looked.
    pub(crate) fn looked_at(&mut self) {
        self.polls = self.polls.saturating_add(1);
    }

    /// How many steps have gone by.
    pub(crate) fn position(&self, pace: Pace, now: Timestamp) -> u32 {
        match pace {
            Pace::Polls => self.polls,
            Pace::StepMillis(millis) => {
                let elapsed = Duration::try_from(now.duration_since(self.accepted)).unwrap_or_default();
                let steps = elapsed.as_millis() / u128::from(millis.max(1));
                u32::try_from(steps).unwrap_or(u32::MAX)
            }
        }
    }

    /// How many steps lie before the end.
    pub(crate) fn length(&self) -> u32 {
        u32::try_from(self.timeline.steps.len()).unwrap_or(u32::MAX)
    }

    /// Whether the end is reached.
    pub(crate) fn has_ended(&self, pace: Pace, now: Timestamp) -> bool {
        self.timeline.outcome != Outcome::Never && self.position(pace, now) >= self.length()
    }

    /// What shows now, before the end.
    pub(crate) fn step(&self, pace: Pace, now: Timestamp) -> Step {
        let last = self.timeline.steps.len().saturating_sub(1);
        let index = usize::try_from(self.position(pace, now)).unwrap_or(usize::MAX).min(last);
        let unsaid = || Step { status: "IN_PROGRESS".to_owned(), percent: 0.0 };
        self.timeline.steps.get(index).cloned().unwrap_or_else(unsaid)
    }
}
