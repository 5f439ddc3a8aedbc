//! A call of an API: its name, method and path, written as `CreateQueue POST /queues`.

use http::Method;
use serde::Deserialize;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Route {
    /// Oracle's name of the operation.
    pub name: String,
    pub method: Method,
    /// The path below the version; segments in braces are parameters.
    pub path: String,
    /// The parameters of the query that a call needs, written as `/logs?compartmentId`.
    pub query: Vec<String>,
}

impl Route {
    /// The segments of the path, without parameters replaced.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.path.split('/').filter(|segment| !segment.is_empty())
    }

    /// The names of the parameters in the path.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.segments().filter_map(parameter)
    }
}

/// The name in braces.
pub fn parameter(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

impl TryFrom<String> for Route {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let invalid = || format!("`{text}` is not a call such as `CreateQueue POST /queues`");
        let [name, method, target] = text.split(' ').collect::<Vec<_>>()[..] else { return Err(invalid()) };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let method = method.parse().map_err(|_| invalid())?;
        if name.is_empty() || !path.starts_with('/') {
            return Err(invalid());
        }
        let query = query.split('&').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Ok(Self { name: name.to_owned(), method, path: path.to_owned(), query })
    }
}
