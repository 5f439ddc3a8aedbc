//! YAML as sigs.k8s.io/yaml writes it, byte for byte: what `kubectl get -o yaml` shows and what imports store.
//!
//! The style is go-yaml v2's: block collections, two spaces, lists not indented under their key, quotes only where
//! needed, literal blocks for texts of several lines, and lines folded at spaces after column 80.

mod order;
mod text;

use serde_json::{Map, Value};

use crate::number::{display_float, json_number};
use text::{Context, Style, Text};

/// `value` as a YAML document.
pub fn to_yaml(value: &Value) -> String {
    let mut writer =
        Writer { out: String::new(), column: 0, indent: None, whitespace: true, indention: true };
    writer.node(value, Context::Root);
    writer.indent_line();
    writer.out
}

/// The text so far and what the last characters of it were.
struct Writer {
    out: String,
    /// In characters, from 0.
    column: usize,
    /// The indentation of the collection that is being written; none outside of all.
    indent: Option<usize>,
    /// Whether what was written last separates tokens.
    whitespace: bool,
    /// Whether the line has only indentation and `- `, `? ` or `: ` so far.
    indention: bool,
}

impl Writer {
    fn node(&mut self, value: &Value, context: Context) {
        match value {
            Value::Null => self.scalar("null", Style::Plain, context),
            Value::Bool(bool) => self.scalar(if *bool { "true" } else { "false" }, Style::Plain, context),
            Value::Number(number) => {
                // The library goes through JSON, where a whole float cannot be told from an integer.
                let json = json_number(number);
                let text = match (json.parse::<i64>(), number.as_f64()) {
                    (Ok(int), _) => int.to_string(),
                    (Err(_), Some(float)) if json.parse::<u64>().is_err() => display_float(float),
                    _ => json,
                };
                self.scalar(&text, Style::Plain, context);
            }
            Value::String(text) => self.scalar(text, Style::preferred(text), context),
            Value::Array(items) if items.is_empty() => self.indicator("[]", false),
            Value::Array(items) => self.sequence(items, context),
            Value::Object(fields) if fields.is_empty() => self.indicator("{}", false),
            Value::Object(fields) => self.mapping(fields),
        }
    }

    fn sequence(&mut self, items: &[Value], context: Context) {
        let outer = self.indent;
        let under_its_key = context == Context::Value && !self.indention;
        if !under_its_key {
            self.indent = Some(outer.map_or(0, |indent| indent + 2));
        }
        for item in items {
            self.indent_line();
            self.indicator("-", true);
            self.node(item, Context::Item);
        }
        self.indent = outer;
    }

    fn mapping(&mut self, fields: &Map<String, Value>) {
        let outer = self.indent;
        self.indent = Some(outer.map_or(0, |indent| indent + 2));
        for (key, value) in order::sorted(fields) {
            self.indent_line();
            if text::is_simple_key(key) {
                self.scalar(key, Style::preferred(key), Context::Key);
                self.adjacent(":");
            } else {
                self.indicator("?", true);
                self.scalar(key, Style::preferred(key), Context::Value);
                self.indent_line();
                self.indicator(":", true);
            }
            self.node(value, Context::Value);
        }
        self.indent = outer;
    }

    fn scalar(&mut self, value: &str, preferred: Style, context: Context) {
        let outer = self.indent;
        self.indent = Some(outer.map_or(2, |indent| indent + 2));
        Text::new(value, preferred, context).write(self);
        self.indent = outer;
    }

    /// Begins a line at the current indentation, unless it has just begun.
    fn indent_line(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.indention || self.column > indent || self.column == indent && !self.whitespace {
            self.line_break();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    /// Writes punctuation, after a space if there is none yet.
    fn indicator(&mut self, indicator: &str, is_indention: bool) {
        if !self.whitespace {
            self.put(' ');
        }
        self.adjacent(indicator);
        self.indention = self.indention && is_indention;
    }

    /// Writes punctuation directly after what stands before it.
    fn adjacent(&mut self, indicator: &str) {
        self.out.push_str(indicator);
        self.column += indicator.len();
        self.whitespace = false;
    }

    fn put(&mut self, character: char) {
        self.out.push(character);
        self.column += 1;
    }

    fn line_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }
}

#[cfg(test)]
mod tests;
