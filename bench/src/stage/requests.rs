//! The requests of the operator, counted from the API server's audit log.

use std::fmt;

use sandbox::audit;

use super::AGENT;

/// What the operator asked of the API server in one phase, without its lease.
pub struct Requests(Vec<audit::Request>);

impl Requests {
    /// Those of the operator among `all`.
    pub(super) fn of_operator(all: Vec<audit::Request>) -> Self {
        let is_ours = |request: &audit::Request| {
            request.user_agent.starts_with(AGENT) && !request.resource.starts_with("leases")
        };
        Self(all.into_iter().filter(is_ours).collect())
    }

    /// Those that change something, Events apart.
    pub fn writes(&self) -> Vec<String> {
        let writes = self.0.iter().filter(|request| is_write(&request.verb) && request.resource != "events");
        writes.map(|request| format!("{} {}", request.verb, request.uri)).collect()
    }

    pub fn events(&self) -> usize {
        self.0.iter().filter(|request| request.resource == "events").count()
    }

    /// Counts by verb, for each of `objects`.
    pub fn each(&self, objects: usize) -> impl fmt::Display {
        let counts = audit::count(&self.0, |request| match request.resource.as_str() {
            "events" => Some("events"),
            _ => Some(request.verb.as_str()),
        });
        let refused = self.0.iter().filter(|request| request.status.is_some_and(|code| code >= 400)).count();
        let verbs: Vec<String> =
            counts.iter().map(|(verb, count)| format!("{verb} {}", per(*count, objects))).collect();
        let mutating = per(self.writes().len(), objects);
        format!("{mutating} mutating ({}; refused {refused})", verbs.join(", "))
    }
}

fn is_write(verb: &str) -> bool {
    ["create", "update", "patch", "delete"].contains(&verb)
}

#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
pub fn per(count: usize, objects: usize) -> String {
    format!("{:.2}", count as f64 / objects as f64)
}
