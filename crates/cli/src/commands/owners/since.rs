//! What has become of an object since the last apply of its set.

use std::io;

use cluster::{Selection, Session};
use diag::Diagnostic;
use manifest::{Namespace, ObjectRef};
use ownership::{ChangedSince, FieldManager, Observed};
use plan::SetRecord;
use plan::applyset::PART_OF;
use serde_json::{Value, json};

use crate::codes;
use crate::support::applyset::record::{OF_SET, Place};
use crate::support::exit::Failure;
use crate::support::printer::Printer;

/// The fields that have not stayed as the apply left them.
pub(super) struct Since {
    applied_at: String,
    pub(super) changes: Vec<ChangedSince>,
}

impl Since {
    pub(super) async fn of(session: &Session, target: &ObjectRef, live: &Observed) -> Result<Self, Failure> {
        let unknown = |why: String, hint: &str| {
            let title = format!("no apply record for {target}");
            Diagnostic::error(codes::RECORD_MISSING, title).detail(why).hint(hint)
        };
        let id = live.object()["metadata"]["labels"][PART_OF].as_str().ok_or_else(|| {
            let why = "It belongs to no set, and only sets have a record of what was applied.";
            unknown(why.to_owned(), "Apply it with --applyset.")
        })?;
        let set = find(session, id, target).await?;
        let record = set.as_ref().and_then(|set| set.member(target)?.record.as_ref()).ok_or_else(|| {
            let why = format!("The set {id} has no record of it, or it may not be read.");
            unknown(why, "Apply the set with `plimsoll apply --applyset`.")
        })?;
        if !record.is_current(live) {
            let why = format!(
                "{}'s fields changed since the apply at {}: it was applied again without the set.",
                record.manager(),
                record.applied_at()
            );
            return Err(unknown(why, "Apply the set again.").into());
        }
        Ok(Self { applied_at: record.applied_at().to_owned(), changes: record.changes_since(live) })
    }

    pub(super) fn to_json(&self) -> Value {
        let change = |change: &ChangedSince| {
            json!({
                "field": change.path.notation().to_string(), "heldThen": change.held_then, "heldNow": change.held_now,
                "valueChanged": change.is_value_changed, "setAt": change.set_at,
            })
        };
        let changes: Vec<Value> = self.changes.iter().map(change).collect();
        json!({ "appliedAt": self.applied_at, "changes": changes })
    }

    pub(super) fn show(&self, printer: &mut Printer) -> io::Result<()> {
        if self.changes.is_empty() {
            printer.message(format_args!("nothing has changed since the apply of {}", self.applied_at));
            return Ok(());
        }
        let names = |managers: &[FieldManager]| match managers {
            [] => "(none)".to_owned(),
            _ => managers.iter().map(FieldManager::as_str).collect::<Vec<_>>().join(", "),
        };
        let head = ["FIELD", "HELD THEN", "HELD NOW", "VALUE", "SET"].map(str::to_owned).to_vec();
        let row = |change: &ChangedSince| {
            let value = if change.is_value_changed { "changed" } else { "same" };
            let field = change.path.notation().to_string();
            let set_at = change.set_at.clone().unwrap_or_default();
            vec![field, names(&change.held_then), names(&change.held_now), value.to_owned(), set_at]
        };
        let rows: Vec<Vec<String>> = std::iter::once(head).chain(self.changes.iter().map(row)).collect();
        printer.table(&rows)?;
        printer.message(format_args!("since the apply of {}", self.applied_at));
        Ok(())
    }
}

/// The record of a set, in the namespace of the object or wherever the parent is.
async fn find(session: &Session, id: &str, target: &ObjectRef) -> Result<Option<SetRecord>, Failure> {
    let read = async |namespace: &Namespace| {
        let found = Place::inside(id, namespace).read(session).await;
        found.map(|found| found.record).map_err(|error| error.diagnostic("Owners"))
    };
    if let Some(namespace) = &target.namespace
        && let Some(record) = read(namespace).await?
    {
        return Ok(Some(record));
    }
    let labels = Some(format!("{OF_SET}={id}"));
    let selection = Selection { labels, limit: Some(1), ..Selection::default() };
    let secret = "v1/Secret".parse().expect("a fixed kind");
    // Without the right to search everywhere, it is as good as missing.
    let Ok(page) = session.list_page(&secret, &selection, "").await else { return Ok(None) };
    let namespace = page.items.first().and_then(|part| part["metadata"]["namespace"].as_str());
    match namespace.and_then(Namespace::new) {
        Some(namespace) => Ok(read(&namespace).await?),
        None => Ok(None),
    }
}
