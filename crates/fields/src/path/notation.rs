//! The notation of paths for people: `spec.template.spec.containers[name="web"].image`.
//!
//! It is what patterns read, so that a path can be pasted into `ignore_fields`, `--who`, `--take` and `--ignore`.

use std::fmt::{self, Write as _};

use serde_json::Value;

use super::{FieldPath, PathElement};

/// A path in the notation for people; made by [`FieldPath::notation`].
#[derive(Clone, Copy, Debug)]
pub struct Notation<'p>(&'p FieldPath);

impl FieldPath {
    /// The path with list items by their keys and names with dots in quotes: `metadata.labels["app.kubernetes.io/name"]`.
    pub fn notation(&self) -> Notation<'_> {
        Notation(self)
    }
}

impl fmt::Display for Notation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, element) in self.0.elements().iter().enumerate() {
            match element {
                PathElement::Field(name) if is_plain(name) => {
                    if position > 0 {
                        f.write_char('.')?;
                    }
                    f.write_str(name)?;
                }
                PathElement::Field(name) => write!(f, "[{}]", Quoted(name))?,
                PathElement::Key(key) => {
                    for (position, (name, value)) in key.fields().enumerate() {
                        write!(f, "{}{name}={}", if position == 0 { "[" } else { "," }, Text(value))?;
                    }
                    f.write_char(']')?;
                }
                PathElement::Value(value) => write!(f, "[={}]", Text(value.get()))?,
                PathElement::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// Whether a pattern reads the name as it is.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | ':'))
}

/// A text in the quotes that it does not contain itself. No name in Kubernetes contains both.
struct Quoted<'t>(&'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quote = if self.0.contains('"') { '\'' } else { '"' };
        write!(f, "{quote}{}{quote}", self.0)
    }
}

/// A value: strings in quotes, everything else as JSON.
struct Text<'v>(&'v Value);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::String(text) => Quoted(text).fmt(f),
            other => other.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use crate::{FieldPath, IgnoreFields, PathElement, Schema, arbitrary, written};

    #[test]
    fn items_are_named_by_key_and_odd_names_are_in_quotes() {
        let check = |elements: Vec<PathElement>, expected: &str| {
            let path: FieldPath = elements.into_iter().collect();
            assert_eq!(path.notation().to_string(), expected);
        };
        let field = PathElement::field;
        let web = PathElement::key([("name", json!("web"))]);
        check(
            vec![field("spec"), field("containers"), web, field("image")],
            r#"spec.containers[name="web"].image"#,
        );
        let port = PathElement::key([("containerPort", json!(80)), ("protocol", json!("TCP"))]);
        check(vec![field("ports"), port], r#"ports[containerPort=80,protocol="TCP"]"#);
        check(vec![field("metadata"), field("labels"), field("a.b/c")], r#"metadata.labels["a.b/c"]"#);
        check(vec![field("data"), field("say \"hi\"")], r#"data['say "hi"']"#);
        check(vec![field("finalizers"), PathElement::value(json!("a/b"))], r#"finalizers[="a/b"]"#);
        check(vec![field("rules"), PathElement::Index(0), field("verbs")], "rules[0].verbs");
    }

    proptest! {
        #[test]
        fn a_path_that_is_printed_is_understood_as_a_pattern(object in arbitrary::deployment()) {
            let schema = Schema::of(&object);
            for path in written(&object, &schema).leaves().paths() {
                let text = path.notation().to_string();
                let pattern = IgnoreFields::parse([&text]).unwrap();
                prop_assert!(pattern.on(&object, &schema).contains(&path), "{text}");
            }
        }
    }
}
