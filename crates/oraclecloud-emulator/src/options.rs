//! Options of the server, and the script of the command line.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use oraclecloud::Catalogue;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::fault::Fault;
use crate::timeline::{Pace, TimelineRule};

#[derive(Clone, Debug)]
pub struct Options {
    /// Loopback only, since there is no TLS.
    pub listen: SocketAddr,
    /// Public keys are read from here, and a key and a configuration file for clients are written to it; a temporary
    /// folder if absent.
    pub key_dir: Option<PathBuf>,
    /// A file to append the journal to.
    pub journal: Option<PathBuf>,
    /// `retry-after` for polls, in seconds.
    pub retry_after: Option<u64>,
    pub script: Script,
    /// The kinds to serve.
    pub kinds: Catalogue,
    /// Makes the identifiers of resources and requests reproducible.
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
            kinds: Catalogue::standard(),
            seed: None,
        }
    }
}

/// The behaviour of the cloud, as JSON.
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
    pub pace: Pace,
    /// The first that matches applies, else the default timeline.
    pub timelines: Vec<TimelineRule>,
    pub faults: Vec<Fault>,
    /// Limits the entries per page, whatever the client requests.
    pub page_size: Option<usize>,
    /// Whether responses about Streams, and other kinds without work requests, name one, as those of some services do.
    pub stream_work_requests: bool,
    /// Defined tags that the tenancy adds to new resources.
    pub tag_defaults: Map<String, Value>,
    /// Compartments whose policy is revoked from the start.
    pub revoked: Vec<String>,
}

impl Script {
    pub fn read(text: &str) -> Result<Self, ScriptError> {
        serde_json::from_str(text).map_err(ScriptError)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("invalid script: {0}")]
pub struct ScriptError(serde_json::Error);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::FaultKind;
    use crate::route::Operation;
    use crate::timeline::{Outcome, Timeline};

    #[test]
    fn absent_parts_of_a_script_have_defaults() {
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
        assert_eq!((script.faults[0].times, &script.faults[0].kind), (1, &FaultKind::ResetAfter));
        assert_eq!(script.faults[1].operation, Operation::GetQueue);
        assert_eq!(Script::read("{}").unwrap(), Script::default());
        let again = Script::read(&serde_json::to_string(&script).unwrap()).unwrap();
        assert_eq!(again, script);
    }

    #[test]
    fn the_error_for_a_typo_in_a_script_has_its_position() {
        let message = Script::read("{\n  \"pagesize\": 1\n}").unwrap_err().to_string();
        assert!(message.contains("pagesize") && message.contains("line 2"), "{message}");
    }
}
