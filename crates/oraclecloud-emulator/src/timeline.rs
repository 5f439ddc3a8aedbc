//! The course of an operation: its steps, its outcome, and how far listings lag behind it.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::route::Operation;

/// What advances operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Pace {
    /// Each read of an operation, or of its resource, advances it by one step after the response.
    #[default]
    Polls,
    /// A step takes this many milliseconds of the [`Clock`](crate::Clock).
    StepMillis(u64),
}

/// The course of one operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Timeline {
    pub steps: Vec<TimelineStep>,
    pub outcome: Outcome,
    /// The number of steps a new resource stays hidden: for a Queue after its work request has ended, for a Stream from
    /// the beginning. At zero it is visible as CREATING at once.
    pub hidden: u32,
    /// The number of steps a deleted resource stays visible as DELETED.
    pub lingers: u32,
}

impl Default for Timeline {
    fn default() -> Self {
        let step = |status: &str, percent: f32| TimelineStep { status: status.to_owned(), percent };
        Self {
            steps: vec![step("ACCEPTED", 0.0), step("IN_PROGRESS", 30.0), step("IN_PROGRESS", 70.0)],
            outcome: Outcome::Succeed,
            hidden: 0,
            lingers: 1,
        }
    }
}

/// What a work request reports during one step. Any status is sent as is, even one that no service has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimelineStep {
    pub status: String,
    pub percent: f32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    #[default]
    Succeed,
    Fail {
        code: String,
        message: String,
    },
    Cancel,
    /// It stays at its last step.
    Never,
}

/// Assigns a timeline to operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TimelineRule {
    pub operation: Operation,
    /// Only for resources with this name.
    #[serde(default)]
    pub name: Option<String>,
    /// Only for this many operations.
    #[serde(default)]
    pub times: Option<u32>,
    pub timeline: Timeline,
}

/// The position of an operation in its timeline.
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

    pub(crate) fn record_poll(&mut self) {
        self.polls = self.polls.saturating_add(1);
    }

    /// The number of steps that have passed.
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

    pub(crate) fn length(&self) -> u32 {
        u32::try_from(self.timeline.steps.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn has_ended(&self, pace: Pace, now: Timestamp) -> bool {
        self.timeline.outcome != Outcome::Never && self.position(pace, now) >= self.length()
    }

    /// The current step of an operation that has not ended.
    pub(crate) fn step(&self, pace: Pace, now: Timestamp) -> TimelineStep {
        let last = self.timeline.steps.len().saturating_sub(1);
        let index = usize::try_from(self.position(pace, now)).unwrap_or(usize::MAX).min(last);
        let unknown = || TimelineStep { status: "IN_PROGRESS".to_owned(), percent: 0.0 };
        self.timeline.steps.get(index).cloned().unwrap_or_else(unknown)
    }
}
