//! Values that debug output leaves out: a wait may yield what a Secret holds.

use std::fmt;

use serde_json::Value;

/// Says whether there is a value, and not which.
pub(crate) struct Hidden<'v>(pub(crate) Option<&'v Value>);

impl fmt::Debug for Hidden<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "(a value)" } else { "(no value)" })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{Applied, Cause, Check, Planned, Refreshed, Situation, Tracked};

    #[test]
    fn no_value_appears_in_debug_output() {
        let value = json!({ "data": { "password": "aHVudGVyMg==" } });
        let tracked = Tracked::Present(value.clone());
        let shown = [
            format!("{:?}", Check::Met(Some(value.clone()))),
            format!("{tracked:?}"),
            format!("{:?}", Planned::Value(value.clone())),
            format!("{:?}", Situation { tracked, changes: false, owed: false }),
            format!("{:?}", Applied::finished(Some(value.clone()))),
            format!("{:?}", Refreshed { value: Some(value.clone()), owed: false }),
            format!("{:?}", Cause::TimedOut { object: &value, pods: &[] }),
        ];
        for shown in shown {
            assert!(!shown.contains("aHVudGVyMg"), "{shown}");
        }
        assert_eq!(format!("{:?}", Planned::Value(value)), "Value((a value))");
        assert_eq!(format!("{:?}", Check::Met(())), "Met(..)");
        let early = Check::<()>::NotYet("it is early".to_owned());
        assert_eq!(format!("{early:?}"), "NotYet(\"it is early\")");
    }
}
