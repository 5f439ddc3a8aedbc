use super::*;

const PHASES: [Phase; 3] = [Phase::Create, Phase::Update, Phase::Delete];
const REASONS: [StallReason; 10] = [
    StallReason::Failed,
    StallReason::Canceled,
    StallReason::Attention,
    StallReason::Unknown,
    StallReason::AccessOrAbsenceUnclear,
    StallReason::AccessDenied,
    StallReason::Rejected,
    StallReason::Missing,
    StallReason::HeldByAnother,
    StallReason::EndpointSecret,
];

#[test]
fn every_class_and_phase_has_its_shared_condition() {
    use Class::{Attention, Canceled, Failed, Pending, Succeeded, Unknown};
    let mut rows = Vec::new();
    for class in [Pending, Succeeded, Failed, Canceled, Attention, Unknown] {
        for phase in PHASES.map(Some).into_iter().chain([None]) {
            let (condition, message) = shared_condition(class, phase);
            rows.push(format!(
                "{:<9} {:<6} | {}={:?} | {message}",
                format!("{class:?}"),
                phase.map_or("-", Phase::as_str),
                condition.as_str(),
                condition.status(),
            ));
        }
    }
    insta::assert_snapshot!(rows.join("\n"), @r"
    Pending   create | Provisioning=True | OCI create is in progress
    Pending   update | Updating=True | OCI update is in progress
    Pending   delete | Terminating=True | OCI delete is in progress
    Pending   -      | Provisioning=True | OCI reconcile is in progress
    Succeeded create | Active=True | OCI create completed
    Succeeded update | Active=True | OCI update completed
    Succeeded delete | Terminating=True | OCI delete completed; waiting for final confirmation
    Succeeded -      | Active=True | OCI reconcile completed
    Failed    create | Failed=False | OCI create failed
    Failed    update | Failed=False | OCI update failed
    Failed    delete | Failed=False | OCI delete failed
    Failed    -      | Failed=False | OCI reconcile failed
    Canceled  create | Failed=False | OCI create was canceled
    Canceled  update | Failed=False | OCI update was canceled
    Canceled  delete | Failed=False | OCI delete was canceled
    Canceled  -      | Failed=False | OCI reconcile was canceled
    Attention create | Failed=False | OCI create requires attention
    Attention update | Failed=False | OCI update requires attention
    Attention delete | Failed=False | OCI delete requires attention
    Attention -      | Failed=False | OCI reconcile requires attention
    Unknown   create | Failed=False | OCI create status is unknown
    Unknown   update | Failed=False | OCI update status is unknown
    Unknown   delete | Failed=False | OCI delete status is unknown
    Unknown   -      | Failed=False | OCI reconcile status is unknown
    ");
}

#[test]
fn every_outcome_has_its_conditions() {
    let mut outcomes = vec![Outcome::Ready];
    outcomes.extend(PHASES.map(Outcome::InFlight));
    outcomes.push(Outcome::Retrying);
    outcomes.extend(REASONS.map(Outcome::Stalled));
    outcomes.extend(PHASES.map(Outcome::Overdue));
    let show = |(status, reason): StatusReason| format!("{status:?}/{reason}");
    let rows: Vec<String> = outcomes
        .into_iter()
        .map(|outcome| {
            let (ready, progressing, stalled) = outcome.conditions();
            format!(
                "{:<30} | {} | {} | {}",
                format!("{outcome:?}"),
                ready.map_or_else(|| "unchanged".to_owned(), show),
                show(progressing),
                show(stalled),
            )
        })
        .collect();
    insta::assert_snapshot!(rows.join("\n"), @r"
    Ready                          | True/Available | False/Idle | False/AsExpected
    InFlight(Create)               | False/Provisioning | True/Provisioning | False/AsExpected
    InFlight(Update)               | unchanged | True/Updating | False/AsExpected
    InFlight(Delete)               | False/Terminating | True/Terminating | False/AsExpected
    Retrying                       | unchanged | True/Retrying | False/AsExpected
    Stalled(Failed)                | False/Failed | False/Failed | True/Failed
    Stalled(Canceled)              | False/Canceled | False/Canceled | True/Canceled
    Stalled(Attention)             | False/Attention | False/Attention | True/Attention
    Stalled(Unknown)               | False/Unknown | False/Unknown | True/Unknown
    Stalled(AccessOrAbsenceUnclear) | False/AccessOrAbsenceUnclear | False/AccessOrAbsenceUnclear | True/AccessOrAbsenceUnclear
    Stalled(AccessDenied)          | False/AccessDenied | False/AccessDenied | True/AccessDenied
    Stalled(Rejected)              | False/Rejected | False/Rejected | True/Rejected
    Stalled(Missing)               | False/Missing | False/Missing | True/Missing
    Stalled(HeldByAnother)         | False/HeldByAnother | False/HeldByAnother | True/HeldByAnother
    Stalled(EndpointSecret)        | False/EndpointSecret | False/EndpointSecret | True/EndpointSecret
    Overdue(Create)                | unchanged | True/Provisioning | True/DeadlineExceeded
    Overdue(Update)                | unchanged | True/Updating | True/DeadlineExceeded
    Overdue(Delete)                | unchanged | True/Terminating | True/DeadlineExceeded
    ");
}

#[test]
fn every_stall_is_a_failure_in_osoks_contract() {
    for reason in REASONS {
        assert_eq!(shared_condition(reason.class(), None).0, SharedConditionType::Failed, "{reason:?}");
    }
}

#[test]
fn an_untouched_ready_keeps_its_generation() {
    let mut status = Status::default();
    let now = Timestamp::UNIX_EPOCH;
    status.publish(Outcome::Ready, "Queue matches its spec", 1, now);
    status.publish(Outcome::InFlight(Phase::Update), "updating", 2, now);
    let ready = status.condition(ConditionType::Ready).unwrap();
    assert_eq!((ready.status, ready.observed_generation), (ConditionStatus::True, Some(1)));
    let progressing = status.condition(ConditionType::Progressing).unwrap();
    assert_eq!((progressing.status, progressing.observed_generation), (ConditionStatus::True, Some(2)));
    assert_eq!(status.observed_generation, Some(2));
}

#[test]
fn ready_is_unknown_before_it_is_first_published() {
    let mut status = Status::default();
    status.publish(Outcome::Retrying, "503", 1, Timestamp::UNIX_EPOCH);
    let ready = status.condition(ConditionType::Ready).unwrap();
    assert_eq!((ready.status, ready.reason.as_str()), (ConditionStatus::Unknown, "Retrying"));
}

#[test]
fn a_blank_message_falls_back_to_the_table() {
    let check = |message: Option<&str>, expected: &str| {
        let mut status = Status::default();
        status.publish_shared(Class::Pending, Some(Phase::Update), message, Timestamp::UNIX_EPOCH);
        assert_eq!(status.status.message.as_deref(), Some(expected));
        assert_eq!(status.status.conditions[0].message, expected);
        assert_eq!(status.status.reason.as_deref(), Some("Updating"));
    };
    check(None, "OCI update is in progress");
    check(Some("  "), "OCI update is in progress");
    check(Some(" growing "), "growing");
}
