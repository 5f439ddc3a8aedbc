//! A set to FieldsV1 JSON, byte for byte what structured-merge-diff writes.

use manifest::write_jsoniter_name;
use serde_json::Value;

use super::FieldSet;

impl FieldSet {
    /// The set as FieldsV1 JSON text.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        self.write_level(false, &mut text, &mut String::new());
        text
    }

    /// The set as a FieldsV1 value.
    pub fn to_value(&self) -> Value {
        self.level_value(false)
    }

    /// `dot` says that the element above is a member besides having something below.
    fn write_level(&self, dot: bool, text: &mut String, element: &mut String) {
        text.push('{');
        if dot {
            text.push_str("\".\":{}");
        }
        for (position, entry) in self.entries.iter().enumerate() {
            if dot || position > 0 {
                text.push(',');
            }
            element.clear();
            entry.element.write_wire(element);
            write_jsoniter_name(text, element);
            text.push(':');
            entry.below.write_level(entry.member && !entry.below.is_empty(), text, element);
        }
        text.push('}');
    }

    fn level_value(&self, dot: bool) -> Value {
        let own = dot.then(|| (".".to_owned(), Value::Object(serde_json::Map::new())));
        let below = self.entries.iter().map(|entry| {
            (entry.element.to_wire(), entry.below.level_value(entry.member && !entry.below.is_empty()))
        });
        Value::Object(own.into_iter().chain(below).collect())
    }
}
