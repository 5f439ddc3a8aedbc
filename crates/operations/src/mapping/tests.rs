use super::*;

#[test]
fn every_class_and_phase_has_its_shared_condition() {
    let mut rows = Vec::new();
    for class in Class::ALL {
        for phase in [Some(Phase::Create), Some(Phase::Update), Some(Phase::Delete), None] {
            let projection = project(class, phase);
            rows.push(format!(
                "{:<9} {:<6} | {}={:?}{} | {}",
                class.as_str(),
                phase.map_or("-", Phase::as_str),
                projection.condition.as_str(),
                projection.condition.status(),
                if projection.requeue { ", requeue" } else { "" },
                projection.message,
            ));
        }
    }
    insta::assert_snapshot!(rows.join("\n"), @r"
    pending   create | Provisioning=True, requeue | OCI create is in progress
    pending   update | Updating=True, requeue | OCI update is in progress
    pending   delete | Terminating=True, requeue | OCI delete is in progress
    pending   -      | Provisioning=True, requeue | OCI reconcile is in progress
    succeeded create | Active=True | OCI create completed
    succeeded update | Active=True | OCI update completed
    succeeded delete | Terminating=True, requeue | OCI delete completed; waiting for final confirmation
    succeeded -      | Active=True | OCI reconcile completed
    failed    create | Failed=False | OCI create failed
    failed    update | Failed=False | OCI update failed
    failed    delete | Failed=False | OCI delete failed
    failed    -      | Failed=False | OCI reconcile failed
    canceled  create | Failed=False | OCI create was canceled
    canceled  update | Failed=False | OCI update was canceled
    canceled  delete | Failed=False | OCI delete was canceled
    canceled  -      | Failed=False | OCI reconcile was canceled
    attention create | Failed=False | OCI create requires attention
    attention update | Failed=False | OCI update requires attention
    attention delete | Failed=False | OCI delete requires attention
    attention -      | Failed=False | OCI reconcile requires attention
    unknown   create | Failed=False | OCI create status is unknown
    unknown   update | Failed=False | OCI update status is unknown
    unknown   delete | Failed=False | OCI delete status is unknown
    unknown   -      | Failed=False | OCI reconcile status is unknown
    ");
}

#[test]
fn every_situation_has_its_conditions() {
    let mut situations = vec![Situation::Idle];
    situations.extend(Phase::ALL.map(Situation::InFlight));
    situations.push(Situation::Retrying);
    situations.extend(Cause::ALL.map(Situation::Stuck));
    situations.extend(Phase::ALL.map(Situation::Overdue));
    let say = |(status, reason): Statement| format!("{status:?}/{reason}");
    let rows: Vec<String> = situations
        .into_iter()
        .map(|situation| {
            let view = view(situation);
            format!(
                "{:<30} | {} | {} | {}",
                format!("{situation:?}"),
                view.ready.map_or_else(|| "unchanged".to_owned(), say),
                say(view.progressing),
                say(view.stalled),
            )
        })
        .collect();
    insta::assert_snapshot!(rows.join("\n"), @r"
    Idle                           | True/Available | False/Idle | False/AsExpected
    InFlight(Create)               | False/Provisioning | True/Provisioning | False/AsExpected
    InFlight(Update)               | unchanged | True/Updating | False/AsExpected
    InFlight(Delete)               | False/Terminating | True/Terminating | False/AsExpected
    Retrying                       | unchanged | True/Retrying | False/AsExpected
    Stuck(Failed)                  | False/Failed | False/Failed | True/Failed
    Stuck(Canceled)                | False/Canceled | False/Canceled | True/Canceled
    Stuck(Attention)               | False/Attention | False/Attention | True/Attention
    Stuck(Unknown)                 | False/Unknown | False/Unknown | True/Unknown
    Stuck(AccessOrAbsenceUnclear)  | False/AccessOrAbsenceUnclear | False/AccessOrAbsenceUnclear | True/AccessOrAbsenceUnclear
    Stuck(AccessDenied)            | False/AccessDenied | False/AccessDenied | True/AccessDenied
    Stuck(Rejected)                | False/Rejected | False/Rejected | True/Rejected
    Stuck(Missing)                 | False/Missing | False/Missing | True/Missing
    Stuck(HeldByAnother)           | False/HeldByAnother | False/HeldByAnother | True/HeldByAnother
    Stuck(EndpointSecret)          | False/EndpointSecret | False/EndpointSecret | True/EndpointSecret
    Overdue(Create)                | unchanged | True/Provisioning | True/DeadlineExceeded
    Overdue(Update)                | unchanged | True/Updating | True/DeadlineExceeded
    Overdue(Delete)                | unchanged | True/Terminating | True/DeadlineExceeded
    ");
}

#[test]
fn every_cause_is_a_failure_in_the_shared_contract() {
    for cause in Cause::ALL {
        let projection = project(cause.class(), None);
        assert_eq!(projection.condition, SharedConditionType::Failed, "{cause:?}");
        assert!(!projection.requeue, "{cause:?}");
    }
}

#[test]
fn a_ready_that_is_not_spoken_of_keeps_its_generation() {
    let mut status = Status::default();
    let now = Timestamp::UNIX_EPOCH;
    status.publish(Situation::Idle, "Queue is available", 1, now);
    status.publish(Situation::InFlight(Phase::Update), "updating", 2, now);
    let ready = status.condition(ConditionType::Ready).unwrap();
    assert_eq!((ready.status, ready.observed_generation), (ConditionStatus::True, Some(1)));
    let progressing = status.condition(ConditionType::Progressing).unwrap();
    assert_eq!((progressing.status, progressing.observed_generation), (ConditionStatus::True, Some(2)));
    assert_eq!(status.observed_generation, Some(2));
}

#[test]
fn a_ready_that_nobody_knows_of_yet_is_unknown() {
    let mut status = Status::default();
    status.publish(Situation::Retrying, "503", 1, Timestamp::UNIX_EPOCH);
    let ready = status.condition(ConditionType::Ready).unwrap();
    assert_eq!((ready.status, ready.reason.as_str()), (ConditionStatus::Unknown, "Retrying"));
}

#[test]
fn an_empty_message_falls_back_to_the_table() {
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
