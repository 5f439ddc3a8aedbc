//! The descriptions at hand: those of the program, compressed, and those of a file that a user adds.
//!
//! A service is read when one of its kinds is asked for: most programs need few of them.

use std::io::Read as _;
use std::str::FromStr;
use std::sync::OnceLock;

use flate2::read::DeflateDecoder;

use super::{Kind, Service};

/// A service of the program.
pub struct Embedded {
    pub service: &'static str,
    /// The names of its kinds, and whether each is only derived.
    pub kinds: &'static [(&'static str, bool)],
    compressed: &'static [u8],
    read: OnceLock<&'static Service>,
}

include!(concat!(env!("OUT_DIR"), "/kinds.rs"));

impl Embedded {
    const fn new(
        service: &'static str,
        kinds: &'static [(&'static str, bool)],
        compressed: &'static [u8],
    ) -> Self {
        Self { service, kinds, compressed, read: OnceLock::new() }
    }

    pub fn all() -> &'static [Self] {
        &EMBEDDED
    }

    /// The kind `service/Kind` of the program.
    pub fn kind(path: &str) -> Option<Kind> {
        let (service, name) = path.split_once('/')?;
        let embedded = Self::all().iter().find(|embedded| embedded.service == service)?;
        embedded.kinds.iter().find(|(kind, _)| *kind == name)?;
        embedded.read().kinds().into_iter().find(|kind| kind.name == name)
    }

    /// The service, which is read and checked the first time.
    pub fn read(&self) -> &'static Service {
        self.read.get_or_init(|| {
            let mut text = String::new();
            let read = DeflateDecoder::new(self.compressed).read_to_string(&mut text);
            read.expect("the build compresses what is read here");
            Service::read(&text).unwrap_or_else(|error| panic!("kinds/{}.json: {error}", self.service))
        })
    }
}

/// Some kinds.
#[derive(Clone, Debug, Default)]
pub struct Catalogue(Vec<Kind>);

impl Catalogue {
    /// The kinds that are exercised end to end; they are served without being asked for.
    pub fn standard() -> Self {
        Self::embedded(|_, _, derived| !derived)
    }

    /// The kinds of the program that a pattern names.
    pub fn matching(patterns: &[Pattern]) -> Self {
        Self::embedded(|service, kind, _| patterns.iter().any(|pattern| pattern.matches(service, kind)))
    }

    fn embedded(is_wanted: impl Fn(&str, &str, bool) -> bool) -> Self {
        let mut kinds = Vec::new();
        for embedded in Embedded::all() {
            let wanted = |(kind, derived): &(&str, bool)| is_wanted(embedded.service, kind, *derived);
            if embedded.kinds.iter().any(wanted) {
                let described = embedded.read().kinds().into_iter();
                kinds.extend(described.filter(|kind| wanted(&(kind.name.as_str(), kind.derived))));
            }
        }
        Self(kinds)
    }

    /// These and others; a kind of the same name is replaced.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        self.0.retain(|kind| others.0.iter().all(|other| other.path() != kind.path()));
        self.0.extend(&others.0);
        self
    }

    pub fn kinds(&self) -> &[Kind] {
        &self.0
    }

    /// The kind `service/Kind`.
    pub fn get(&self, path: &str) -> Option<Kind> {
        self.0.iter().copied().find(|kind| kind.path() == path)
    }
}

/// The kinds of a service.
impl From<&'static Service> for Catalogue {
    fn from(service: &'static Service) -> Self {
        Self(service.kinds())
    }
}

/// A pattern for kinds: `database/*`, `core/Vcn`, `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    service: String,
    kind: String,
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (service, kind) = text.split_once('/').unwrap_or((text, "*"));
        let pattern = Self { service: service.to_owned(), kind: kind.to_owned() };
        let mut embedded =
            Embedded::all().iter().flat_map(|it| it.kinds.iter().map(|kind| (it.service, kind.0)));
        if embedded.any(|(service, kind)| pattern.matches(service, kind)) {
            return Ok(pattern);
        }
        Err(format!("no kind is named `{text}`; write SERVICE/KIND, for instance queue/Queue or database/*"))
    }
}

impl Pattern {
    fn matches(&self, service: &str, kind: &str) -> bool {
        let fits = |pattern: &str, name: &str| match pattern.strip_suffix('*') {
            Some(start) => name.get(..start.len()).is_some_and(|it| it.eq_ignore_ascii_case(start)),
            None => pattern.eq_ignore_ascii_case(name),
        };
        fits(&self.service, service) && fits(&self.kind, kind)
    }
}

#[cfg(test)]
mod tests;
