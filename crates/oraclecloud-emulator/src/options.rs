//! How a server is set up: from code, or from the options and the script of the command line.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::fault::Fault;
use crate::timeline::{Pace, TimelineFor};

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen; loopback only, since there is no TLS.
    pub listen: SocketAddr,
    /// Where public keys are read from, and where a key and a configuration file for clients are put; a folder that
    /// goes with the server when none is given.
    pub key_dir: Option<PathBuf>,
    /// Where the journal is written to, besides being kept.
    pub journal: Option<PathBuf>,
    /// `retry-after` of polls, in seconds.
    pub retry_after: Option<u64>,
    /// How the cloud behaves.
    pub script: Script,
    /// Makes names of resources and requests the same at every start.
    pub seed: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            key_dir: None,
            journal: None,
            retry_after: None,
            script: Script::default(),
            seed: None,
        }
    }
}

/// How the cloud behaves, as JSON.
///
/// ```json
/// {
///   "pace": "polls",
///   "timelines": [{"operation": "CreateQueue", "name": "orders", "timeline": {"outcome": "never"}}],
///   "faults": [{"operation": "GetWorkRequest", "nth": 3,
///               "mishap": {"refuse": {"status": 503, "code": "ServiceUnavailable"}}}],
///   "pageSize": 1
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Script {
    /// What moves operations on.
    pub pace: Pace,
    /// How operations go; the first that fits counts, and the default timeline when none does.
    pub timelines: Vec<TimelineFor>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// The most entries on a page, whatever a client asks for.
    pub page_size: Option<usize>,
    /// Whether answers about Streams name a work request, as those of some services do.
    pub stream_work_requests: bool,
    /// Defined tags that the tenancy adds to whatever is created.
    pub tag_defaults: Map<String, Value>,
    /// Compartments whose policy is revoked from the start.
    pub revoked: Vec<String>,
}

impl Script {
    /// Reads a script.
    pub fn read(text: &str) -> Result<Self, ScriptError> {
        serde_json::from_str(text).map_err(ScriptError)
    }
}

/// A script that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the script cannot be read: {0}")]
pub struct ScriptError(serde_json::Error);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Mishap;
    use crate::route::Operation;
    use crate::timeline::{Outcome, Timeline};

    #[test]
    fn a_script_is_read_and_what_it_does_not_say_has_its_default() {
        let script = Script::read(
            r#"{
                "pace": {"stepMillis": 200},
                "timelines": [{"operation": "CreateQueue", "name": "orders", "timeline": {"outcome": "never"}}],
                "faults": [{"operation": "CreateQueue", "nth": 1, "mishap": "resetAfter"},
                           {"operation": "GetQueue", "nth": 2, "times": 3,
                            "mishap": {"refuse": {"status": 429, "code": "TooManyRequests", "retryAfter": 7}}}],
                "pageSize": 1
            }"#,
        )
        .unwrap();
        assert_eq!(script.pace, Pace::StepMillis(200));
        let timeline = Timeline { outcome: Outcome::Never, ..Timeline::default() };
        assert_eq!(script.timelines[0].timeline, timeline);
        assert_eq!((script.faults[0].times, &script.faults[0].mishap), (1, &Mishap::ResetAfter));
        assert_eq!(script.faults[1].operation, Operation::GetQueue);
        assert_eq!(Script::read("{}").unwrap(), Script::default());
        let again = Script::read(&serde_json::to_string(&script).unwrap()).unwrap();
        assert_eq!(again, script);
    }

    #[test]
    fn a_script_with_a_slip_is_refused_with_its_place() {
        let message = Script::read("{\n  \"pagesize\": 1\n}").unwrap_err().to_string();
        assert!(message.contains("pagesize") && message.contains("line 2"), "{message}");
    }
}
