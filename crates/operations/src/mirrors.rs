//! The work-request ids that Queue published before the shared tracker existed, kept for who still reads them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::operation::{Operation, Phase, Source};
use crate::status::Status;

/// `createWorkRequestId`, `updateWorkRequestId` and `deleteWorkRequestId`, next to the fields of a Queue's status.
///
/// They follow from the tracker and nothing decides by them, except once: an object that an older operator left in
/// flight is resumed from them. No other kind has such fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Mirrors {
    /// The id of a create in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create_work_request_id: Option<String>,
    /// The id of an update in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_work_request_id: Option<String>,
    /// The id of a delete in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete_work_request_id: Option<String>,
}

impl Mirrors {
    /// The mirrors of a status: the id in flight at its phase, nothing elsewhere.
    pub fn of(status: &Status) -> Self {
        let mut mirrors = Self::default();
        if let Some(current) = status.current() {
            mirrors.slot(current.phase).clone_from(&current.work_request_id);
        }
        mirrors
    }

    /// Restores the tracker of `status` from these mirrors, where it lacks an id.
    ///
    /// A tracker that follows the lifecycle owns the object, and mirrors are ignored. A tracker of a work request
    /// without an id takes the mirror of its phase. Without a tracker the first mirror counts, delete before update
    /// before create.
    pub fn resume(&self, status: &mut Status, now: Timestamp) {
        match &mut status.status.tracker.current {
            Some(current) if current.source == Source::WorkRequest => {
                if current.work_request_id.as_deref().is_none_or(str::is_empty) {
                    current.work_request_id = self.id(current.phase).map(str::to_owned);
                }
            }
            Some(_) => {}
            none => {
                *none = [Phase::Delete, Phase::Update, Phase::Create].into_iter().find_map(|phase| {
                    let id = self.id(phase)?.to_owned();
                    let operation = Operation::pending(Source::WorkRequest, phase, now);
                    Some(Operation { work_request_id: Some(id), ..operation })
                });
            }
        }
    }

    fn id(&self, phase: Phase) -> Option<&str> {
        let id = match phase {
            Phase::Create => &self.create_work_request_id,
            Phase::Update => &self.update_work_request_id,
            Phase::Delete => &self.delete_work_request_id,
        };
        id.as_deref().map(str::trim).filter(|id| !id.is_empty())
    }

    const fn slot(&mut self, phase: Phase) -> &mut Option<String> {
        match phase {
            Phase::Create => &mut self.create_work_request_id,
            Phase::Update => &mut self.update_work_request_id,
            Phase::Delete => &mut self.delete_work_request_id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mirrors(create: &str, update: &str, delete: &str) -> Mirrors {
        let id = |id: &str| (!id.is_empty()).then(|| id.to_owned());
        Mirrors {
            create_work_request_id: id(create),
            update_work_request_id: id(update),
            delete_work_request_id: id(delete),
        }
    }

    fn tracking(source: Source, phase: Phase, id: Option<&str>) -> Status {
        let mut status = Status::default();
        let operation = Operation::pending(source, phase, Timestamp::UNIX_EPOCH);
        status.status.tracker.current =
            Some(Operation { work_request_id: id.map(str::to_owned), ..operation });
        status
    }

    #[test]
    fn resuming_finds_the_work_request_to_follow() {
        let check =
            |name: &str, mut status: Status, mirrors: Mirrors, expected: Option<(Phase, Option<&str>)>| {
                mirrors.resume(&mut status, Timestamp::UNIX_EPOCH);
                let found =
                    status.current().map(|current| (current.phase, current.work_request_id.as_deref()));
                assert_eq!(found, expected, "{name}");
            };
        let wr = Source::WorkRequest;
        check("nothing anywhere", Status::default(), mirrors("", "", ""), None);
        check("create alone", Status::default(), mirrors("c", "", ""), Some((Phase::Create, Some("c"))));
        check(
            "update before create",
            Status::default(),
            mirrors("c", "u", ""),
            Some((Phase::Update, Some("u"))),
        );
        check(
            "delete before all",
            Status::default(),
            mirrors("c", "u", "d"),
            Some((Phase::Delete, Some("d"))),
        );
        check(
            "blank is nothing",
            Status::default(),
            mirrors("c", "", "  "),
            Some((Phase::Create, Some("c"))),
        );
        check(
            "the tracker's id wins",
            tracking(wr, Phase::Create, Some("t")),
            mirrors("c", "", ""),
            Some((Phase::Create, Some("t"))),
        );
        check(
            "the tracker's phase picks the mirror",
            tracking(wr, Phase::Update, None),
            mirrors("c", "u", "d"),
            Some((Phase::Update, Some("u"))),
        );
        check(
            "the lifecycle owns the tracker",
            tracking(Source::Lifecycle, Phase::Create, None),
            mirrors("c", "", ""),
            Some((Phase::Create, None)),
        );
    }

    #[test]
    fn mirrors_follow_the_tracker_and_vanish_with_it() {
        let in_flight = tracking(Source::WorkRequest, Phase::Update, Some("wr-2"));
        assert_eq!(Mirrors::of(&in_flight), mirrors("", "wr-2", ""));
        let kept = tracking(Source::Lifecycle, Phase::Delete, Some("wr-3"));
        assert_eq!(Mirrors::of(&kept), mirrors("", "", "wr-3"));
        assert_eq!(Mirrors::of(&Status::default()), Mirrors::default());
    }
}
