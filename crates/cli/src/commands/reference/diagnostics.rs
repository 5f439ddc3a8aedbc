//! Every code of a diagnostic, by the part of Plimsoll that reports it.

use std::fmt::Write as _;

use diag::Code;

/// The parts, in the order in which people meet them.
const PARTS: &[(&str, &[Code])] = &[
    ("The command line", crate::codes::CODES),
    ("Manifests", manifest::CODES),
    ("Fields", fields::CODES),
    ("Ownership", ownership::CODES),
    ("Waits", readiness::CODES),
    ("Clusters", cluster::CODES),
    ("The sandbox", sandbox::CODES),
    ("The Terraform provider", provider::CODES),
    ("Terraform's protocol", tfplugin::codes::CODES),
    ("Compositions", composition::CODES),
    ("Operations", operations::codes::CODES),
    ("Oracle Cloud", oraclecloud::codes::CODES),
    ("The operator", operator::codes::CODES),
];

/// The page.
pub(super) fn page() -> String {
    let mut page = String::from(
        "# Diagnostics\n\nEvery finding has a stable code: `error[object-missing]: …`. Made from the code by `cargo xtask book`.\n",
    );
    for (part, codes) in PARTS {
        let _infallible = write!(page, "\n## {part}\n");
        let mut codes = codes.to_vec();
        codes.sort();
        for code in codes {
            let _infallible = write!(page, "\n### {code}\n\n{}\n", code.about());
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_code_means_one_thing() {
        let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
        for (part, codes) in PARTS {
            assert!(!codes.is_empty(), "{part}");
            for code in *codes {
                let other = seen.insert(code.name(), part);
                assert_eq!(other, None, "{code} is a code of {part} as well");
            }
        }
    }
}
