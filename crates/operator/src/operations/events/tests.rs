use super::*;
use operations::codes;

#[test]
fn a_diagnostic_reads_well_as_an_event() {
    let check = |diagnostic: Diagnostic, expected: (&str, &str)| {
        assert_eq!((reason(&diagnostic).as_str(), message(&diagnostic).as_str()), expected);
    };
    check(
        Diagnostic::note(codes::OPERATION_STARTED, "Queue create is in flight"),
        ("Started", "Queue create is in flight"),
    );
    check(
        Diagnostic::warning(codes::DEADLINE_EXCEEDED, "late").detail("Why.").hint("Do this."),
        ("DeadlineExceeded", "late. Why. Do this."),
    );
}
