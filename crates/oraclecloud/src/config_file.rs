//! Oracle Cloud's configuration file: an INI with a profile per section.

use std::collections::BTreeMap;

/// The profile that is used when none is named, and that lends its values to the others.
pub const DEFAULT_PROFILE: &str = "DEFAULT";

/// The values of one profile, by key in lower case.
///
/// What a profile does not say it takes from `DEFAULT`, as Oracle documents it. A value is everything behind the
/// first `=`, further ones included.
pub(crate) fn profile(text: &str, name: &str) -> Result<BTreeMap<String, String>, ConfigFileError> {
    let mut values = BTreeMap::new();
    let mut inherited = BTreeMap::new();
    let mut section: Option<&str> = None;
    let mut found = false;
    let mut profiles = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim().trim_start_matches('\u{feff}');
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            let header = header.strip_suffix(']').ok_or(ConfigFileError::Section { line: index + 1 })?.trim();
            profiles.push(header.to_owned());
            found |= header == name;
            section = Some(header);
            continue;
        }
        let (key, value) = line.split_once('=').ok_or(ConfigFileError::Line { line: index + 1 })?;
        let entry = (key.trim().to_ascii_lowercase(), value.trim().to_owned());
        match section {
            None => return Err(ConfigFileError::NoSection { line: index + 1 }),
            Some(section) if section == name => values.extend([entry]),
            Some(DEFAULT_PROFILE) => inherited.extend([entry]),
            Some(_) => {}
        }
    }
    if !found {
        return Err(ConfigFileError::NoProfile { name: name.to_owned(), profiles });
    }
    for (key, value) in inherited {
        values.entry(key).or_insert(value);
    }
    values.retain(|_, value| !value.is_empty());
    Ok(values)
}

/// What is wrong with a configuration file. A line is named by its number only, because it may hold a pass phrase.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigFileError {
    /// A section header without its end.
    #[error("line {line}: a profile begins with `[` and has no `]`")]
    Section {
        /// Which line.
        line: usize,
    },
    /// Neither a header nor a value.
    #[error("line {line}: neither a `[profile]` nor `key=value`")]
    Line {
        /// Which line.
        line: usize,
    },
    /// A value before the first header.
    #[error("line {line}: a value before the first `[profile]`")]
    NoSection {
        /// Which line.
        line: usize,
    },
    /// The profile is not there.
    #[error("no profile `{name}`; there is {}", list(profiles))]
    NoProfile {
        /// What was asked for.
        name: String,
        /// What is there.
        profiles: Vec<String>,
    },
}

fn list(profiles: &[String]) -> String {
    if profiles.is_empty() { "none at all".to_owned() } else { profiles.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# who we are
[DEFAULT]
user = ocid1.user.oc1..me
tenancy=ocid1.tenancy.oc1..us
region=us-phoenix-1
pass_phrase = a=b=c

[ADMIN]
; another one
USER=ocid1.user.oc1..admin
region=
[EMPTY]
";

    #[test]
    fn a_profile_takes_from_default_what_it_does_not_say() {
        let check = |name: &str, expected: &[(&str, &str)]| {
            let read = profile(FILE, name).unwrap();
            let read: Vec<(&str, &str)> =
                read.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            assert_eq!(read, expected, "{name}");
        };
        let common =
            [("pass_phrase", "a=b=c"), ("region", "us-phoenix-1"), ("tenancy", "ocid1.tenancy.oc1..us")];
        check("DEFAULT", &[&common[..], &[("user", "ocid1.user.oc1..me")]].concat());
        check("EMPTY", &[&common[..], &[("user", "ocid1.user.oc1..me")]].concat());
        check("ADMIN", &[common[0], common[2], ("user", "ocid1.user.oc1..admin")]);
    }

    #[test]
    fn a_broken_file_is_refused_by_line_without_showing_it() {
        let check = |text: &str, expected: &str| {
            assert_eq!(profile(text, "DEFAULT").unwrap_err().to_string(), expected);
        };
        check("", "no profile `DEFAULT`; there is none at all");
        check("[A]\n[B]\n", "no profile `DEFAULT`; there is A, B");
        check("\nuser=x", "line 2: a value before the first `[profile]`");
        check("[DEFAULT", "line 1: a profile begins with `[` and has no `]`");
        check("[DEFAULT]\npass_phrase secret", "line 2: neither a `[profile]` nor `key=value`");
    }
}
