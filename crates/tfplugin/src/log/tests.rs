//! Log lines in hclog's format.

use std::sync::Arc;

use tracing_subscriber::layer::SubscriberExt;

use super::*;

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn logged(log: impl FnOnce()) -> Vec<String> {
    let written = Written::default();
    let subscriber = Registry::default().with(Hclog(Mutex::new(written.clone())));
    tracing::subscriber::with_default(subscriber, log);
    let bytes = written.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_line_is_what_hclog_would_write() {
    let lines = logged(|| {
        let span = tracing::info_span!("apply", object = "Pod shop/web", tries = tracing::field::Empty);
        span.record("tries", 2);
        let _entered = span.enter();
        tracing::warn!(target: "provider::object", code = 409, retry = true, "conflict, trying again");
    });
    assert_eq!(lines.len(), 1);
    let mut line: Map<String, Json> = serde_json::from_str(&lines[0]).unwrap();
    let timestamp = line.remove("@timestamp").unwrap();
    let timestamp = timestamp.as_str().unwrap();
    assert_eq!((timestamp.len(), &timestamp[10..11], &timestamp[26..]), (27, "T", "Z"), "{timestamp}");
    assert_eq!(
        Json::Object(line).to_string(),
        r#"{"@level":"warn","@message":"conflict, trying again","@module":"provider::object","code":409,"object":"Pod shop/web","retry":true,"tries":2}"#
    );
}

#[test]
fn a_line_never_exceeds_terraforms_limit() {
    let long = "é".repeat(100_000);
    let lines = logged(|| {
        tracing::info!(body = long, "short");
        tracing::info!("{long}");
        tracing::info!(
            a = long,
            b = long,
            c = long,
            d = long,
            e = long,
            f = long,
            g = long,
            h = long,
            "many"
        );
    });
    let messages: Vec<_> = lines
        .iter()
        .map(|line| {
            assert!(line.len() <= MAX_LINE, "{} bytes", line.len());
            let line: Map<String, Json> = serde_json::from_str(line).unwrap();
            (
                line["@message"].as_str().unwrap().chars().take(5).collect::<String>(),
                line.contains_key("body"),
            )
        })
        .collect();
    assert_eq!(messages, [("short".into(), true), ("ééééé".into(), false), ("many".into(), false)]);
}
