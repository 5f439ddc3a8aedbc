//! Logs in Terraform's own format, hclog's JSON, to standard error.

mod level;

use std::io::Write;
use std::sync::Mutex;

use serde::Serialize;
use serde_json::{Map, Value as Json};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Subscriber};
use tracing_serde::fields::AsMap as _;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

/// Terraform reads lines of up to 64 KiB and shows the rest of a longer one as a line without a level.
const MAX_LINE: usize = 60 * 1024;

/// Strings are cut to this length when a line is too long.
const MAX_TEXT: usize = 8 * 1024;

/// Starts logging for the provider at `address`, at the level set in the environment.
pub(crate) fn init(address: &str, environment: impl Fn(&str) -> Option<String>) {
    let filter = level::filter(address, environment);
    let layer = Hclog(Mutex::new(std::io::stderr())).with_filter(filter);
    // A second provider in the same process, as in tests, uses the first one's log.
    let _ = Registry::default().with(layer).try_init();
}

struct Hclog<W>(Mutex<W>);

/// The fields of a span, which apply to every event in it.
struct SpanFields(Map<String, Json>);

impl<S, W> Layer<S> for Hclog<W>
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    W: Write + Send + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(SpanFields(fields(attributes.field_map())));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(SpanFields(known)) = span.extensions_mut().get_mut() {
            known.extend(fields(values.field_map()));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut line = Map::new();
        for span in
            context.event_scope(event).into_iter().flat_map(tracing_subscriber::registry::Scope::from_root)
        {
            if let Some(SpanFields(fields)) = span.extensions().get() {
                line.extend(fields.clone());
            }
        }
        let mut fields = fields(event.field_map());
        let message = fields.remove("message").unwrap_or_else(|| "".into());
        line.extend(fields);
        line.insert("@level".to_owned(), level_name(*event.metadata().level()).into());
        line.insert("@message".to_owned(), message);
        line.insert("@module".to_owned(), event.metadata().target().into());
        line.insert("@timestamp".to_owned(), format!("{:.6}", jiff::Timestamp::now()).into());
        let mut text = render(line);
        text.push('\n');
        if let Ok(mut out) = self.0.lock() {
            // There is nowhere to report a log that cannot be written.
            let _ = out.write_all(text.as_bytes());
        }
    }
}

/// The line as JSON. If it is too long, long strings are cut, then all fields but hclog's own are dropped.
fn render(mut line: Map<String, Json>) -> String {
    let text = Json::Object(line.clone()).to_string();
    if text.len() <= MAX_LINE {
        return text;
    }
    for value in line.values_mut() {
        if let Json::String(text) = value {
            shorten(text);
        }
    }
    let text = Json::Object(line.clone()).to_string();
    if text.len() <= MAX_LINE {
        return text;
    }
    line.retain(|name, _| name.starts_with('@'));
    Json::Object(line).to_string()
}

fn shorten(text: &mut String) {
    if text.len() <= MAX_TEXT {
        return;
    }
    let cut = text.len() - MAX_TEXT;
    let mut end = MAX_TEXT;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    *text = format!("{}… ({cut} bytes more)", &text[..end]);
}

fn level_name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

/// The fields of a span, a record or an event.
fn fields(recorded: impl Serialize) -> Map<String, Json> {
    match serde_json::to_value(recorded) {
        Ok(Json::Object(fields)) => fields,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests;
