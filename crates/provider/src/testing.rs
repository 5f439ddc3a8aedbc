//! What the tests of this crate share.

use tfplugin::diagnostics::Diagnostics;

/// Checks that `found` has exactly these paths and titles.
#[track_caller]
pub(crate) fn assert_diagnostics(found: &Diagnostics, expected: &[(&str, &str)]) {
    let found: Vec<(String, &str)> = found
        .iter()
        .map(|(path, diagnostic)| {
            (path.map(ToString::to_string).unwrap_or_default(), diagnostic.summary.as_str())
        })
        .collect();
    let found: Vec<(&str, &str)> = found.iter().map(|(path, title)| (path.as_str(), *title)).collect();
    assert_eq!(found, expected);
}
