//! What the tests of this crate share.

use tfplugin::diagnostics::Diagnostics;

/// Checks that `found` has exactly these paths and titles.
#[track_caller]
pub(crate) fn assert_told(found: &Diagnostics, expected: &[(&str, &str)]) {
    let told: Vec<(String, &str)> = found
        .iter()
        .map(|(path, told)| (path.map(ToString::to_string).unwrap_or_default(), told.summary.as_str()))
        .collect();
    let told: Vec<(&str, &str)> = told.iter().map(|(path, title)| (path.as_str(), *title)).collect();
    assert_eq!(told, expected);
}
