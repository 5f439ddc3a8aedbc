//! Oracle Cloud's configuration file: an INI file with one profile per section.

use std::collections::BTreeMap;

/// The profile that is used by default, and whose values the others inherit.
pub const DEFAULT_PROFILE: &str = "DEFAULT";

/// The values of one profile, by key in lower case.
///
/// Missing values are inherited from `DEFAULT`, as Oracle documents. A value is everything after the first `=`.
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

/// What is wrong with a configuration file. Lines are named by number only, because they may contain a pass phrase.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigFileError {
    #[error("line {line}: the header of a profile has no `]`")]
    Section { line: usize },
    #[error("line {line}: neither `[profile]` nor `key=value`")]
    Line { line: usize },
    #[error("line {line}: a value before the first `[profile]`")]
    NoSection { line: usize },
    #[error("no profile `{name}`; the file has {}", if profiles.is_empty() { "none".to_owned() } else { profiles.join(", ") })]
    NoProfile { name: String, profiles: Vec<String> },
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# a user
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
    fn a_profile_inherits_from_default() {
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
    fn an_error_names_the_line_without_showing_it() {
        let check = |text: &str, expected: &str| {
            assert_eq!(profile(text, "DEFAULT").unwrap_err().to_string(), expected);
        };
        check("", "no profile `DEFAULT`; the file has none");
        check("[A]\n[B]\n", "no profile `DEFAULT`; the file has A, B");
        check("\nuser=x", "line 2: a value before the first `[profile]`");
        check("[DEFAULT", "line 1: the header of a profile has no `]`");
        check("[DEFAULT]\npass_phrase secret", "line 2: neither `[profile]` nor `key=value`");
    }
}
