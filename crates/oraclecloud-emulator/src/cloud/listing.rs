//! Listings: filters, order and pages.

use jiff::Timestamp;
use oraclecloud::Kind;
use serde_json::{Value, json};

use super::resource::Resource;
use super::work_request::WorkRequest;
use super::{ApiRequest, Cloud, Handled};
use crate::reply::{ApiError, Reply};
use crate::route::work_request_service;

/// The sort key: the name, if requested, then the order of creation.
type Key = (String, u64);

impl Cloud {
    pub(super) fn list(
        &mut self,
        kind: Kind,
        request: &ApiRequest<'_>,
        now: Timestamp,
    ) -> Result<Handled, ApiError> {
        let scope = scope(kind, request)?;
        let entries = self.entries(kind, &scope, request, now)?;
        if !kind.bare_list {
            return self.items(entries, request, None);
        }
        let (entries, next) = page(entries, request, 10, kind.page as usize, self.script.page_size)?;
        Ok(Handled::read(Reply::json(Value::Array(entries)).header("opc-next-page", next), None))
    }

    fn entries(
        &mut self,
        kind: Kind,
        scope: &[(&str, &str)],
        request: &ApiRequest<'_>,
        now: Timestamp,
    ) -> Result<Vec<(Key, Value)>, ApiError> {
        if scope.iter().any(|(name, value)| *name == "compartmentId" && self.revoked.contains(*value)) {
            return Err(ApiError::not_authorized_or_not_found());
        }
        let by_name = matches!(request.parameter("sortBy"), Some("displayName" | "name" | "NAME"));
        let matches = |resource: &Resource| {
            resource.kind == kind
                && resource.place == request.place
                // What no body has, the service knows from elsewhere: it is everywhere.
                && scope.iter().all(|(name, value)| kind.spec[*name].local || resource.text(name) == *value)
                && (scope.iter().any(|(name, _)| *name == kind.name_field)
                    || request.parameter(&kind.name_field).is_none_or(|name| name == resource.name()))
                && request.parameter("id").is_none_or(|id| id == resource.id)
        };
        let in_state = |resource: &Resource| {
            request
                .parameter("lifecycleState")
                .is_none_or(|state| state.eq_ignore_ascii_case(&resource.state))
        };
        let mut entries = Vec::new();
        let mut hidden = Vec::new();
        for resource in self.resources.values().filter(|resource| matches(resource)) {
            if self.is_hidden(resource, now) {
                hidden.push(resource.id.clone());
            } else if !self.is_gone(resource, now)
                && !self.revoked.contains(resource.compartment())
                && in_state(resource)
            {
                let name = if by_name { resource.name().to_owned() } else { String::new() };
                entries.push(((name, resource.number), resource.summary()));
            }
        }
        // A client that waits for a resource to appear may poll only the listing.
        for id in hidden {
            self.record_poll(&id, now);
        }
        Ok(entries)
    }

    pub(super) fn list_work_requests(
        &mut self,
        service: Option<&str>,
        request: &ApiRequest<'_>,
        now: Timestamp,
    ) -> Result<Handled, ApiError> {
        let compartment = request.required("compartmentId")?;
        if self.revoked.contains(compartment) {
            return Err(ApiError::not_authorized_or_not_found());
        }
        let pace = self.script.pace;
        let entries = self
            .work_requests
            .values()
            .filter(|work| is_shown(work, service) && work.place == request.place)
            .filter(|work| work.compartment == compartment)
            .filter(|work| request.parameter("workRequestId").is_none_or(|id| id == work.id))
            .map(|work| ((String::new(), work.number), work.to_json(pace, now)))
            .collect();
        self.items(entries, request, None)
    }

    /// The errors or the log of a work request.
    pub(super) fn list_details(
        &mut self,
        service: Option<&str>,
        request: &ApiRequest<'_>,
        details: fn(&WorkRequest) -> Vec<Value>,
    ) -> Result<Handled, ApiError> {
        let details = details(self.work_request(service, request)?);
        let entries = (1..).zip(details).map(|(number, entry)| ((String::new(), number), entry)).collect();
        self.items(entries, request, Some(request.id))
    }

    /// A page with a list under `items`.
    fn items(
        &self,
        entries: Vec<(Key, Value)>,
        request: &ApiRequest<'_>,
        resource: Option<&str>,
    ) -> Result<Handled, ApiError> {
        let (entries, next) = page(entries, request, 100, 1_000, self.script.page_size)?;
        Ok(Handled::read(Reply::json(json!({"items": entries})).header("opc-next-page", next), resource))
    }
}

/// The parameters that say which resources are listed: those of one alternative, and the parents in the path.
fn scope<'a>(kind: Kind, request: &'a ApiRequest<'_>) -> Result<Vec<(&'a str, &'a str)>, ApiError> {
    let value = |name: &'a str| {
        let parent = request.parents.iter().find(|(parent, _)| *parent == name);
        parent.map(|(_, value)| value.as_str()).or_else(|| request.parameter(name)).map(|value| (name, value))
    };
    let alternatives = &kind.description().scope;
    let given: Vec<Vec<_>> = alternatives
        .iter()
        .filter_map(|names| names.iter().map(|name| value(name)).collect::<Option<Vec<_>>>())
        .collect();
    match (given.as_slice(), alternatives.as_slice()) {
        ([one], _) => Ok(one.clone()),
        ([], [names]) => {
            let missing = names.iter().find(|name| value(name).is_none());
            Err(ApiError::missing(missing.map_or("a parameter", String::as_str)))
        }
        _ => {
            let names: Vec<String> = alternatives.iter().map(|names| names.join(" with ")).collect();
            Err(ApiError::invalid(format!("Exactly one of {} is required.", names.join(" and "))))
        }
    }
}

/// Whether the API of a service shows the work request.
pub(super) fn is_shown(work: &WorkRequest, service: Option<&str>) -> bool {
    work.kind.has_work_requests()
        && service.is_none_or(|service| service == work_request_service(work.kind).0)
}

/// The entries of the requested page and the token of the next one.
///
/// A token identifies the last entry before the page, so that concurrent changes do not shift pages.
fn page(
    mut entries: Vec<(Key, Value)>,
    request: &ApiRequest<'_>,
    default: usize,
    most: usize,
    page_size: Option<usize>,
) -> Result<(Vec<Value>, Option<String>), ApiError> {
    let limit = match request.parameter("limit").map(str::parse) {
        None => default,
        Some(Ok(limit)) if (1..=most).contains(&limit) => limit,
        Some(_) => return Err(ApiError::invalid(format!("limit must be from 1 to {most}."))),
    };
    let limit = limit.min(page_size.unwrap_or(usize::MAX)).max(1);
    let descending = request.parameter("sortOrder").is_some_and(|order| order.eq_ignore_ascii_case("DESC"));
    entries.sort_by(|(a, _), (b, _)| if descending { b.cmp(a) } else { a.cmp(b) });
    if let Some(token) = request.parameter("page") {
        let after: Key = token
            .split_once('.')
            .and_then(|(number, name)| Some((name.to_owned(), number.parse().ok()?)))
            .ok_or_else(|| ApiError::invalid("page is not a page of this listing."))?;
        entries.retain(|(key, _)| if descending { *key < after } else { *key > after });
    }
    let more = entries.len() > limit;
    entries.truncate(limit);
    let next = entries.last().filter(|_| more).map(|((name, number), _)| format!("{number}.{name}"));
    Ok((entries.into_iter().map(|(_, entry)| entry).collect(), next))
}
