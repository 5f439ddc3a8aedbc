//! Figures and the bars they have to stay under.

use bench::{Outcome, say};
use serde_json::{Value, json};

#[derive(Default)]
pub(crate) struct Bars(Vec<Value>);

impl Bars {
    /// Prints `figure` with its bar.
    pub(crate) fn at_most(&mut self, what: &str, figure: f64, bar: f64) -> Outcome<()> {
        let verdict = if figure <= bar { "ok" } else { "MISSED" };
        say(format_args!("{what}: {figure:.2}, bar {bar}: {verdict}"))?;
        self.0.push(json!({"what": what, "figure": figure, "bar": bar, "ok": figure <= bar}));
        Ok(())
    }

    /// Prints all as JSON; an error if one is missed.
    pub(crate) fn report(self) -> Outcome<()> {
        let is_missed = self.0.iter().any(|bar| bar["ok"] == false);
        say(format_args!("{}", Value::Array(self.0)))?;
        if is_missed { Err("a bar is missed".into()) } else { Ok(()) }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a process has far less than 2^52 bytes")]
pub(crate) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
