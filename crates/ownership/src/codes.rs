//! The codes of what this crate reports.

use diag::Code;

pub(crate) const DRIFT: Code = Code::new(
    "ownership-drift",
    "Somebody changed a field that this configuration holds, and applying sets it back (row 13). Add the field to ignore_fields if the other manager should decide it.",
);
pub(crate) const TAKING: Code = Code::new(
    "ownership-taking",
    "A field is taken from a manager that is changing it (row 7). Unless that manager stops, both will go on setting it.",
);
pub(crate) const OVERWRITING: Code = Code::new(
    "ownership-overwriting",
    "A field was edited here and changed by somebody else since the last apply; applying overwrites their value (row 15).",
);
pub(crate) const NOT_KEPT: Code = Code::new(
    "ownership-not-kept",
    "Who holds a field changes without a reason in the configuration (rows 4, 5, 8 and 9): a webhook, a conversion or the API server drops or adds it.",
);
pub(crate) const HANDED: Code = Code::new(
    "ownership-handed",
    "A field is taken or released while nobody else is changing it (rows 6, 10 and 11). Nothing needs to be done.",
);

/// Every code of this crate.
pub const CODES: &[Code] = &[DRIFT, TAKING, OVERWRITING, NOT_KEPT, HANDED];
