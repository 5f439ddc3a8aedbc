//! Listings: filters, order and pages.

use jiff::Timestamp;
use serde_json::Value;

use super::resource::{Kind, Resource};
use super::work::Work;
use super::{Ask, Cloud, Done, items};
use crate::reply::{Refusal, Reply};

/// What entries are sorted by: a name, when that is asked for, then the order of creation.
type Key = (String, u64);

impl Cloud {
    pub(super) fn list_queues(&mut self, ask: &Ask<'_>, now: Timestamp) -> Result<Done, Refusal> {
        let compartment = ask.required("compartmentId")?;
        let entries = self.list(Kind::Queue, "compartmentId", compartment, ask, now)?;
        let (entries, next) = page(entries, ask, 100, 1_000, self.script.page_size)?;
        Ok(Done::read(Reply::json(items(&entries)).header("opc-next-page", next), None))
    }

    pub(super) fn list_streams(&mut self, ask: &Ask<'_>, now: Timestamp) -> Result<Done, Refusal> {
        let (field, value) = match (ask.parameter("compartmentId"), ask.parameter("streamPoolId")) {
            (Some(compartment), None) => ("compartmentId", compartment),
            (None, Some(pool)) => ("streamPoolId", pool),
            _ => return Err(Refusal::invalid("Exactly one of compartmentId and streamPoolId is needed.")),
        };
        let entries = self.list(Kind::Stream, field, value, ask, now)?;
        let (entries, next) = page(entries, ask, 10, 50, self.script.page_size)?;
        Ok(Done::read(Reply::json(Value::Array(entries)).header("opc-next-page", next), None))
    }

    fn list(
        &mut self,
        kind: Kind,
        field: &str,
        value: &str,
        ask: &Ask<'_>,
        now: Timestamp,
    ) -> Result<Vec<(Key, Value)>, Refusal> {
        if field == "compartmentId" && self.revoked.contains(value) {
            return Err(Refusal::not_authorized_or_not_found());
        }
        let by_name = matches!(ask.parameter("sortBy"), Some("displayName" | "name" | "NAME"));
        let asked_for = |resource: &Resource| {
            resource.kind == kind
                && resource.text(field) == value
                && ask.parameter(kind.name_field()).is_none_or(|name| name == resource.name())
                && ask.parameter("id").is_none_or(|id| id == resource.id)
        };
        let in_state = |resource: &Resource| {
            ask.parameter("lifecycleState").is_none_or(|state| state.eq_ignore_ascii_case(&resource.state))
        };
        let mut shown = Vec::new();
        let mut hidden = Vec::new();
        for resource in self.resources.values().filter(|resource| asked_for(resource)) {
            if self.is_hidden(resource, now) {
                hidden.push(resource.id.clone());
            } else if !self.is_gone(resource, now)
                && !self.revoked.contains(resource.compartment())
                && in_state(resource)
            {
                let name = if by_name { resource.name().to_owned() } else { String::new() };
                shown.push(((name, resource.number), resource.summary()));
            }
        }
        // Whoever waits for something to appear may have nothing else to look at than the listing.
        for id in hidden {
            self.look_at(&id, now);
        }
        Ok(shown)
    }

    pub(super) fn list_works(&mut self, ask: &Ask<'_>, now: Timestamp) -> Result<Done, Refusal> {
        let compartment = ask.required("compartmentId")?;
        if self.revoked.contains(compartment) {
            return Err(Refusal::not_authorized_or_not_found());
        }
        let pace = self.pace();
        let entries = self
            .works
            .values()
            .filter(|work| work.kind == Kind::Queue && work.compartment == compartment)
            .filter(|work| ask.parameter("workRequestId").is_none_or(|id| id == work.id))
            .map(|work| ((String::new(), work.number), work.show(pace, now)))
            .collect();
        let (entries, next) = page(entries, ask, 100, 1_000, self.script.page_size)?;
        Ok(Done::read(Reply::json(items(&entries)).header("opc-next-page", next), None))
    }

    pub(super) fn list_notes(
        &mut self,
        ask: &Ask<'_>,
        _now: Timestamp,
        notes: fn(&Work) -> Vec<Value>,
    ) -> Result<Done, Refusal> {
        let notes = notes(self.work(ask.id)?);
        let entries = (1..).zip(notes).map(|(number, note)| ((String::new(), number), note)).collect();
        let (entries, next) = page(entries, ask, 100, 1_000, self.script.page_size)?;
        Ok(Done::read(Reply::json(items(&entries)).header("opc-next-page", next), Some(ask.id)))
    }
}

/// The entries of the page asked for and the name of the next one.
///
/// A page is named by the last entry before it, so that what comes and goes in between shifts nothing.
fn page(
    mut entries: Vec<(Key, Value)>,
    ask: &Ask<'_>,
    default: usize,
    most: usize,
    page_size: Option<usize>,
) -> Result<(Vec<Value>, Option<String>), Refusal> {
    let limit = match ask.parameter("limit").map(str::parse) {
        None => default,
        Some(Ok(limit)) if (1..=most).contains(&limit) => limit,
        Some(_) => return Err(Refusal::invalid(format!("limit must be from 1 to {most}."))),
    };
    let limit = limit.min(page_size.unwrap_or(usize::MAX)).max(1);
    let descending = ask.parameter("sortOrder").is_some_and(|order| order.eq_ignore_ascii_case("DESC"));
    entries.sort_by(|(a, _), (b, _)| if descending { b.cmp(a) } else { a.cmp(b) });
    if let Some(token) = ask.parameter("page") {
        let after: Key = token
            .split_once('.')
            .and_then(|(number, name)| Some((name.to_owned(), number.parse().ok()?)))
            .ok_or_else(|| Refusal::invalid("page is no page of this listing."))?;
        entries.retain(|(key, _)| if descending { *key < after } else { *key > after });
    }
    let more = entries.len() > limit;
    entries.truncate(limit);
    let next = entries.last().filter(|_| more).map(|((name, number), _)| format!("{number}.{name}"));
    Ok((entries.into_iter().map(|(_, entry)| entry).collect(), next))
}
