//! Every diagnostic code, by the part of Plimsoll that reports it.

use std::fmt::Write as _;

use crate::commands::explain::{AREAS, sorted};

pub(super) fn page() -> String {
    let mut page = String::from(
        "# Diagnostics\n\nEvery diagnostic has a stable code: `error[object-missing]: …`. `plimsoll explain CODE` prints the \
         entry below.\nThis page is generated from the code by `cargo xtask book`.\n",
    );
    for (area, codes) in AREAS {
        let _infallible = write!(page, "\n## {area}\n");
        for code in sorted(codes) {
            let _infallible = write!(page, "\n### {code}\n\n{}\n", code.entry());
        }
    }
    page
}
