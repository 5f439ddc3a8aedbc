//! A value as Go's `%v` prints it, which is what waits compare with and what error texts show.

use manifest::display_number;
use serde_json::Value;

/// The text of a value: strings as they are, `<nil>` for null, `map[a:1 b:2]`, `[1 2]`, `1e+21`.
pub fn go_text(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Null => text.push_str("<nil>"),
        Value::Bool(bool) => text.push_str(if *bool { "true" } else { "false" }),
        Value::Number(number) => text.push_str(&display_number(number)),
        Value::String(string) => text.push_str(string),
        Value::Array(list) => {
            text.push('[');
            for (position, element) in list.iter().enumerate() {
                if position > 0 {
                    text.push(' ');
                }
                write(element, text);
            }
            text.push(']');
        }
        Value::Object(map) => {
            text.push_str("map[");
            for (position, (key, element)) in map.iter().enumerate() {
                if position > 0 {
                    text.push(' ');
                }
                text.push_str(key);
                text.push(':');
                write(element, text);
            }
            text.push(']');
        }
    }
}
