//! kubectl's JSONPath dialect, which users write in waits, on the command line and in ignored fields.
//!
//! It is not RFC 9535: a template mixes text with actions in braces, dots in names are escaped, a missing key is an
//! error, and much of what looks like a mistake has a meaning. Parser, evaluator and error texts follow
//! `k8s.io/client-go/util/jsonpath`, and the differential tests hold them to it.
//!
//! ```
//! use fields::jsonpath::JsonPath;
//! use serde_json::json;
//!
//! let object = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
//! let path = JsonPath::parse(r#"ready: {.status.conditions[?(@.type=="Ready")].status}"#)?;
//! assert_eq!(path.render(&object)?, "ready: True");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compare;
mod error;
mod eval;
mod go_text;
mod item;
mod node;
#[cfg(test)]
mod oracle_tests;
mod parser;
mod place;
mod quote;
mod slice;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::Value;

use self::eval::{Evaluator, MissingKeys};
use self::item::Item;
use self::node::{Node, Part};

pub use self::error::{EvalError, ParseError};
pub use self::go_text::go_text;
pub use self::place::{Place, Step, prune};

/// A parsed template, ready to be applied to any number of objects.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    parts: Vec<Part>,
    missing_keys: MissingKeys,
}

impl JsonPath {
    /// Reads a template as `kubectl get -o jsonpath=…` does: text, and actions in braces.
    pub fn parse(template: &str) -> Result<Self, ParseError> {
        Ok(Self { parts: parser::parse(template)?, missing_keys: MissingKeys::Refuse })
    }

    /// Reads a single path with or without braces and leading dot: `status.phase`, `.status.phase`, `{.status.phase}`.
    ///
    /// This is what `kubectl wait --for=jsonpath=…` and Terraform's `wait_for` take.
    pub fn parse_relaxed(path: &str) -> Result<Self, ParseError> {
        let inner = path.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(path);
        let rooted = inner.starts_with(['.', '[', '$', '@']);
        // `..name` asks for a descent; a dot before it would be one too many.
        let dot = if rooted { "" } else { "." };
        Self::parse(&format!("{{{dot}{inner}}}"))
    }

    /// Lets a missing key select nothing instead of being an error, as `kubectl get` does.
    #[must_use]
    pub fn allow_missing_keys(mut self) -> Self {
        self.missing_keys = MissingKeys::Allow;
        self
    }

    /// The top-level field that everything the path selects is below, if the path names one.
    pub fn root_field(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Action(nodes)] => match nodes.first()? {
                Node::Field(name) => Some(name),
                _ => None,
            },
            _ => None,
        }
    }

    /// All values the template selects, in order; literals in it are values, too.
    pub fn find<'v>(&self, object: &'v Value) -> Result<Vec<Cow<'v, Value>>, EvalError> {
        let mut evaluator = Evaluator::new(&self.parts, self.missing_keys);
        let groups = evaluator.run(object)?;
        Ok(groups.into_iter().flatten().map(Item::into_value).collect())
    }

    /// Where in `object` the selected values are; literals are nowhere and are left out.
    pub fn find_places(&self, object: &Value) -> Result<Vec<Place>, EvalError> {
        let mut evaluator = Evaluator::new(&self.parts, self.missing_keys);
        let groups = evaluator.run(object)?;
        Ok(groups.iter().flatten().filter_map(|item| evaluator.place(item)).collect())
    }

    /// The text `kubectl get -o jsonpath=…` prints: results of one action apart by a space, maps and lists as JSON.
    pub fn render(&self, object: &Value) -> Result<String, EvalError> {
        let mut evaluator = Evaluator::new(&self.parts, self.missing_keys);
        let groups = evaluator.run(object)?;
        let words =
            |group: &Vec<Item>| group.iter().copied().map(Item::to_text).collect::<Vec<_>>().join(" ");
        Ok(groups.iter().map(words).collect())
    }
}

/// Takes any bytes for a template, a zero byte and an object, and applies the one to the other in every way there is:
/// all of them have to come to an answer.
#[doc(hidden)]
pub fn fuzz(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (template, object) = text.split_once('\0').unwrap_or((&text, ""));
    let object = serde_json::from_str(object).unwrap_or_default();
    for path in [JsonPath::parse(template), JsonPath::parse_relaxed(template)].into_iter().flatten() {
        for path in [path.clone(), path.allow_missing_keys()] {
            let places = path.find_places(&object).unwrap_or_default();
            prune(&object, &places);
            let found = path.find(&object).map(|found| found.len());
            let printed = path.render(&object).map(|text| text.len());
            assert_eq!(found.err(), printed.err(), "what can be found can be printed");
        }
    }
}
