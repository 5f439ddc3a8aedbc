//! A wait as written on a command line: `--for field=…`.

use std::collections::BTreeMap;
use std::str::FromStr;

use thiserror::Error;

use crate::written::{Written, WrittenWait};

/// Why a `--for` cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ForError {
    #[error(
        "{0:?} is not something to wait for; write field=PATH, value=PATH=TEXT, condition=TYPE[=STATUS] or rollout"
    )]
    Form(String),
    /// A `value=` without a second equals sign.
    #[error("{0:?} has no value; write value=PATH=TEXT, for instance value=status.phase=Bound")]
    NoValue(String),
}

/// Reads `field=PATH`, `value=PATH=TEXT`, `condition=TYPE[=STATUS]` or `rollout`.
impl FromStr for WrittenWait {
    type Err = ForError;

    fn from_str(text: &str) -> Result<Self, ForError> {
        let form = || ForError::Form(text.to_owned());
        if text == "rollout" {
            return Ok(Self { rollout: Written::Known(true), ..Self::default() });
        }
        let (mode, wanted) =
            text.split_once('=').filter(|(_, wanted)| !wanted.is_empty()).ok_or_else(form)?;
        match mode {
            "field" => Ok(Self { field: Written::Known(wanted.to_owned()), ..Self::default() }),
            "condition" => Ok(Self { condition: Written::Known(wanted.to_owned()), ..Self::default() }),
            "value" => {
                let (path, value) = split_value(wanted).ok_or_else(|| ForError::NoValue(text.to_owned()))?;
                let values = BTreeMap::from([(path.to_owned(), value.to_owned())]);
                Ok(Self { field_value: Written::Known(values), ..Self::default() })
            }
            _ => Err(form()),
        }
    }
}

/// Splits `PATH=TEXT` at the first equals sign that is not inside the brackets of a filter; TEXT may contain more of them.
fn split_value(wanted: &str) -> Option<(&str, &str)> {
    let mut open = 0_usize;
    let at = wanted.find(|character| {
        match character {
            '[' => open += 1,
            ']' => open = open.saturating_sub(1),
            _ => {}
        }
        character == '=' && open == 0
    })?;
    Some((&wanted[..at], &wanted[at + 1..])).filter(|(path, _)| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cut;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let outcome = match text.parse::<WrittenWait>() {
            Ok(written) => match written.parse(None, Cut::Root).wait {
                Some(wait) => wait.mode.to_string(),
                None => "no wait".to_owned(),
            },
            Err(error) => error.to_string(),
        };
        assert_eq!(outcome, expected);
    }

    #[test]
    fn each_mode_has_a_form() {
        check("rollout", "rollout");
        check("field=status.loadBalancer.ingress[0].ip", "field \"status.loadBalancer.ingress[0].ip\"");
        check("condition=Ready", "condition \"Ready\"");
        check("condition=ready=true", "condition \"ready\"");
        check("condition=Ready=False", "condition \"Ready\"=False");
        check("value=status.phase=Bound", "field \"status.phase\" = \"Bound\"");
        check("value=status.args=--a=b", "field \"status.args\" = \"--a=b\"");
        check("value=status.phase=", "field \"status.phase\" = \"\"");
        check(
            "value=status.conditions[?(@.type=='Ready')].status=True",
            "field \"status.conditions[?(@.type=='Ready')].status\" = \"True\"",
        );
    }

    #[test]
    fn other_texts_are_refused_with_the_forms_there_are() {
        let forms = "is not something to wait for; write field=PATH, value=PATH=TEXT, condition=TYPE[=STATUS] or rollout";
        for text in ["", "ready", "field", "field=", "delete=now", "=x"] {
            check(text, &format!("{text:?} {forms}"));
        }
        check(
            "value=a",
            "\"value=a\" has no value; write value=PATH=TEXT, for instance value=status.phase=Bound",
        );
        check(
            "value==a",
            "\"value==a\" has no value; write value=PATH=TEXT, for instance value=status.phase=Bound",
        );
    }
}
