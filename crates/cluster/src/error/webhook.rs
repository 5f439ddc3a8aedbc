//! Recognizes a webhook that the API server could not call: it comes up later than the objects it reviews, or is down.

use super::Error;

impl Error {
    /// The webhook that could not be called, as a phrase. One that answered, if only to deny the request, is not meant.
    pub(crate) fn unavailable_webhook(&self) -> Option<String> {
        let status = self.status().filter(|status| status.code >= 500)?;
        let message = status.message.as_str();
        if message.contains("received invalid webhook response") {
            return None;
        }
        // failed calling webhook "a.example.org": failed to call webhook: Post "https://…": connection refused
        if let Some((_, rest)) = message.split_once("failed calling webhook \"") {
            return Some(format!("webhook {}", rest.split('"').next()?));
        }
        // conversion webhook for example.org/v1, Kind=Widget failed: Post "https://…": connection refused
        let (_, rest) = message.split_once("conversion webhook for ")?;
        let (kind, cause) = rest.split_once(" failed: ")?;
        cause.starts_with("Post ").then(|| format!("conversion webhook for {kind}"))
    }
}
