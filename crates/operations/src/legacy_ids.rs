//! The work request ids that OSOK published for a Queue before it had a tracker, kept for clients that read them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::operation::{Operation, Phase, Source};
use crate::status::Status;

/// `createWorkRequestId`, `updateWorkRequestId` and `deleteWorkRequestId`, next to the fields of a Queue's status.
///
/// They are derived from the tracker, and no decision depends on them, with one exception: an operation that OSOK left
/// in flight is resumed from them. No other kind has these fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LegacyWorkRequestIds {
    /// The work request of the create in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create_work_request_id: Option<String>,
    /// The work request of the update in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_work_request_id: Option<String>,
    /// The work request of the delete in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete_work_request_id: Option<String>,
}

impl LegacyWorkRequestIds {
    /// The id in flight at its phase, and none elsewhere.
    pub fn of(status: &Status) -> Self {
        let mut ids = Self::default();
        if let Some(current) = status.current() {
            ids.slot(current.record.phase).clone_from(&current.record.work_request_id);
        }
        ids
    }

    /// Restores the tracker of `status` where it lacks an id.
    ///
    /// A tracker that follows the lifecycle is left alone. One that follows a work request without an id takes the id of
    /// its phase. Without a tracker the first id counts: delete before update before create.
    pub fn resume(&self, status: &mut Status, now: Timestamp) {
        match &mut status.status.tracker.current {
            Some(current) if current.source == Source::WorkRequest => {
                let record = &mut current.record;
                if record.work_request_id.as_deref().is_none_or(str::is_empty) {
                    record.work_request_id = self.id(record.phase).map(str::to_owned);
                }
            }
            Some(_) => {}
            none => {
                *none = [Phase::Delete, Phase::Update, Phase::Create].into_iter().find_map(|phase| {
                    let id = self.id(phase)?.to_owned();
                    let mut operation = Operation::pending(Source::WorkRequest, phase, now);
                    operation.record.work_request_id = Some(id);
                    Some(operation)
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

    fn ids(create: &str, update: &str, delete: &str) -> LegacyWorkRequestIds {
        let id = |id: &str| (!id.is_empty()).then(|| id.to_owned());
        LegacyWorkRequestIds {
            create_work_request_id: id(create),
            update_work_request_id: id(update),
            delete_work_request_id: id(delete),
        }
    }

    fn tracking(source: Source, phase: Phase, id: Option<&str>) -> Status {
        let mut status = Status::default();
        let mut operation = Operation::pending(source, phase, Timestamp::UNIX_EPOCH);
        operation.record.work_request_id = id.map(str::to_owned);
        status.status.tracker.current = Some(operation);
        status
    }

    #[test]
    fn the_work_request_to_follow_is_restored() {
        let check = |name: &str,
                     mut status: Status,
                     ids: LegacyWorkRequestIds,
                     expected: Option<(Phase, Option<&str>)>| {
            ids.resume(&mut status, Timestamp::UNIX_EPOCH);
            let found = status.current().map(|it| (it.record.phase, it.record.work_request_id.as_deref()));
            assert_eq!(found, expected, "{name}");
        };
        let wr = Source::WorkRequest;
        check("nothing anywhere", Status::default(), ids("", "", ""), None);
        check("create alone", Status::default(), ids("c", "", ""), Some((Phase::Create, Some("c"))));
        check("update before create", Status::default(), ids("c", "u", ""), Some((Phase::Update, Some("u"))));
        check("delete before all", Status::default(), ids("c", "u", "d"), Some((Phase::Delete, Some("d"))));
        check("blank is nothing", Status::default(), ids("c", "", "  "), Some((Phase::Create, Some("c"))));
        check(
            "the tracker's id wins",
            tracking(wr, Phase::Create, Some("t")),
            ids("c", "", ""),
            Some((Phase::Create, Some("t"))),
        );
        check(
            "the tracker's phase picks the id",
            tracking(wr, Phase::Update, None),
            ids("c", "u", "d"),
            Some((Phase::Update, Some("u"))),
        );
        check(
            "the lifecycle owns the tracker",
            tracking(Source::Lifecycle, Phase::Create, None),
            ids("c", "", ""),
            Some((Phase::Create, None)),
        );
    }

    #[test]
    fn ids_follow_the_tracker_and_vanish_with_it() {
        let in_flight = tracking(Source::WorkRequest, Phase::Update, Some("wr-2"));
        assert_eq!(LegacyWorkRequestIds::of(&in_flight), ids("", "wr-2", ""));
        let kept = tracking(Source::Lifecycle, Phase::Delete, Some("wr-3"));
        assert_eq!(LegacyWorkRequestIds::of(&kept), ids("", "", "wr-3"));
        assert_eq!(LegacyWorkRequestIds::of(&Status::default()), LegacyWorkRequestIds::default());
    }
}
