//! Objects whose fields cannot be changed: if the user wants that, they are deleted and created again.

use cluster::{Class, Delete, Deletion, Error, Propagation, Session};
use diag::Diagnostic;
use fields::{Change, FieldPath};
use manifest::ObjectRef;
use ownership::{FieldManager, Observed};
use plan::FieldChange;
use serde_json::Value;

use super::Batch;
use super::creation;
use super::resolve::{ResolvedObject, is_needed_by_others};
use super::writer::Writer;
use crate::args::delete::Cascade;
use crate::args::plan::ReplaceArgs;
use crate::codes;
use crate::support::connect::unreadable_managers;
use crate::support::mask_key::MASK_KEY;
use crate::support::refusal::{self, WrittenOver};
use crate::support::report::{ObjectReport, Whole};

/// What becomes of objects whose fields cannot be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Replacing {
    /// They are refused.
    #[default]
    Not,
    /// What differs is shown, and nothing is done.
    Shown,
    /// They are deleted, with this for what they own, and created again.
    Deleting(Propagation),
}

/// What a replacement does.
pub(crate) struct Replacement {
    /// What differs afterwards; what the files change, where no more is known.
    pub(crate) changes: Vec<FieldChange>,
    /// The fields that make it necessary.
    pub(crate) immutable: Vec<FieldPath>,
    /// The fields that are in no file and do not survive it.
    pub(crate) lost: Vec<FieldPath>,
    /// What becomes of the objects that it owns.
    pub(crate) cascade: Propagation,
    /// Who writes.
    manager: FieldManager,
}

impl Replacement {
    /// What is to be said of a field beside its values.
    pub(crate) fn remark(&self, change: &FieldChange) -> String {
        if self.immutable.contains(&change.path) {
            return "cannot be changed".to_owned();
        }
        let others: Vec<&str> = self.others(change).map(FieldManager::as_str).collect();
        match (self.lost.contains(&change.path), &others[..]) {
            (true, []) => "lost, held by no manager".to_owned(),
            (true, others) => format!("lost, held by {}", others.join(", ")),
            (false, []) => String::new(),
            (false, others) => format!("held by {}", others.join(", ")),
        }
    }

    fn others<'c>(&self, change: &'c FieldChange) -> impl Iterator<Item = &'c FieldManager> {
        change.held_now.iter().filter(|manager| **manager != self.manager)
    }

    /// The warning about fields of other managers that are lost.
    fn loss(&self, target: &ObjectRef) -> Option<Diagnostic> {
        let lost = self.changes.iter().filter(|change| self.lost.contains(&change.path));
        let line = |change: &FieldChange| {
            let others: Vec<&str> = self.others(change).map(FieldManager::as_str).collect();
            (!others.is_empty()).then(|| format!("{} ({})", change.path.notation(), others.join(", ")))
        };
        let lines: Vec<String> = lost.filter_map(line).collect();
        if lines.is_empty() {
            return None;
        }
        let more = match lines.len().saturating_sub(MOST_LOST) {
            0 => String::new(),
            more => format!("\n  and {more} more"),
        };
        let listed = lines[..lines.len().min(MOST_LOST)].join("\n  ");
        let title = format!("{target} is replaced, and loses fields of other managers");
        let warning = Diagnostic::warning(codes::REPLACES_FIELDS, title)
            .object(target.to_string())
            .detail(format!("The new object does not have what other managers hold now:\n\n  {listed}{more}"))
            .hint("Write the fields that have to stay into the file.");
        Some(warning)
    }
}

/// How many of the fields that are lost a warning names.
const MOST_LOST: usize = 10;

pub(crate) const fn propagation(cascade: Cascade) -> Propagation {
    match cascade {
        Cascade::Background => Propagation::Background,
        Cascade::Foreground => Propagation::Foreground,
        Cascade::Orphan => Propagation::Orphan,
    }
}

impl Replacing {
    pub(crate) const fn of(args: &ReplaceArgs) -> Self {
        if args.replace { Self::Deleting(propagation(args.cascade)) } else { Self::Not }
    }
}

/// An object that can only be changed by a replacement, and what its file changes.
struct Replaced<'b> {
    object: &'b ResolvedObject,
    live: &'b Observed,
    writer: &'b Writer,
    written: WrittenOver,
    cascade: Propagation,
}

impl Batch {
    /// What a replacement would do after `error`; `None` if the object is not to be replaced.
    pub(super) async fn preview_replacement(
        &self,
        session: &Session,
        object: &ResolvedObject,
        writer: &Writer,
        error: &Error,
    ) -> Option<ObjectReport> {
        let replaced = self.replaced(object, writer, error)?;
        if self.replacing == Replacing::Shown {
            return Some(replaced.written());
        }
        Some(match replaced.rehearse(session).await {
            Ok(Some(created)) => replaced.created(created, true),
            Ok(None) => replaced.guessed(),
            Err(why) => ObjectReport::refused(&object.target, why),
        })
    }

    /// Replaces an object after `error`; `None` if it is not to be replaced.
    pub(crate) async fn replace(
        &self,
        session: &Session,
        object: &ResolvedObject,
        writer: &Writer,
        error: &Error,
    ) -> Option<ObjectReport> {
        let Replacing::Deleting(propagation) = self.replacing else { return None };
        let replaced = self.replaced(object, writer, error)?;
        let target = &object.target;
        let refused = |why: Diagnostic| Some(ObjectReport::refused(target, why));
        if let Err(why) = replaced.rehearse(session).await {
            return refused(why);
        }
        let how = Delete {
            uid: replaced.live.object()["metadata"]["uid"].as_str().map(str::to_owned),
            propagation,
            ..Delete::of(target)
        };
        match session.delete(target, &how).await {
            Err(error) => return refused(refusal::refusal(&error, "Replace")),
            Ok(Deletion::Stuck(stuck)) => return refused(stuck.diagnostic()),
            Ok(Deletion::Recreated) => return refused(recreated(target)),
            Ok(Deletion::Gone { .. } | Deletion::Requested) => {}
        }
        match session.apply(target, &object.body, writer.write()).await {
            Ok(reply) => {
                self.remember_answer(object, writer, &reply.object);
                Some(replaced.created(reply.object, false))
            }
            Err(error) => {
                let why = refusal::of_object(&error, "Replace", object, None);
                let detail = format!("{}\n\nThe object was deleted but not recreated.", why.detail);
                refused(why.detail(detail).hint("Correct the file, and apply again."))
            }
        }
    }

    /// What would be replaced. Never what contains other objects: they would go with it.
    fn replaced<'b>(
        &'b self,
        object: &'b ResolvedObject,
        writer: &'b Writer,
        error: &Error,
    ) -> Option<Replaced<'b>> {
        let cascade = match self.replacing {
            Replacing::Deleting(propagation) if error.class() == Class::Immutable => propagation,
            Replacing::Shown if error.class() == Class::Immutable => Propagation::default(),
            _ => return None,
        };
        let live = self.observed(&object.target).filter(|_| !is_needed_by_others(&object.target))?;
        let written = WrittenOver::of(error, object, writer, live);
        (!written.immutable.is_empty()).then_some(Replaced { object, live, writer, written, cascade })
    }
}

impl Replaced<'_> {
    /// Asks whether the object may be deleted and could be created again, and what would be created.
    async fn rehearse(&self, session: &Session) -> Result<Option<Value>, Diagnostic> {
        let target = &self.object.target;
        session.try_delete(target).await.map_err(|error| refusal::refusal(&error, "Replace"))?;
        let created = creation::rehearse(session, self.object, self.live, self.writer.write()).await;
        created.map_err(|error| {
            let why = refusal::of_object(&error, "Replace", self.object, None);
            let detail = format!("{}\n\nThe object stays: it could not be recreated.", why.detail);
            let is_quota = why.detail.contains("exceeded quota");
            let why = why.detail(detail);
            if is_quota {
                why.hint("The quota counts the live object, too. Raise it, or delete the object, then apply again.")
            } else {
                why
            }
        })
    }

    /// The replacement of the live object by `created`.
    fn created(self, created: Value, is_dry_run: bool) -> ObjectReport {
        let target = &self.object.target;
        let created = match Observed::new(created) {
            Ok(created) => created,
            Err(error) => return ObjectReport::refused(target, unreadable_managers(target, &error)),
        };
        let body = &self.object.body;
        let changes = plan::recreated(body, self.live, &created, is_dry_run, &MASK_KEY);
        let written = fields::written(body, self.live.schema());
        let manager = &self.writer.manager;
        // What we held and no longer write goes because the file says so.
        let is_lost = |change: &&FieldChange| {
            let is_ours = change.held_now.iter().eq([manager]);
            change.old.is_some()
                && !is_ours
                && !written.touches(&change.path)
                && !written.covers(&change.path)
        };
        let lost = changes.iter().filter(is_lost).map(|change| change.path.clone()).collect();
        let visible = |object: &Observed| Some(plan::visible(object.object(), &MASK_KEY));
        let whole = Whole { before: visible(self.live), after: visible(&created) };
        let replacement = self.replacement(changes, lost);
        let findings = replacement.loss(target).into_iter().collect();
        self.report(replacement, whole, findings)
    }

    /// The same, as far as the file says.
    fn written(self) -> ObjectReport {
        let change = |Change { path, old, new }: &Change| {
            let held_now = self.live.managed().holders(path).into_iter().cloned().collect();
            FieldChange {
                path: path.clone(),
                old: old.clone(),
                new: new.clone(),
                held_now,
                ..FieldChange::default()
            }
        };
        let changes = self.written.changes.iter().map(change).collect();
        let whole =
            Whole { before: Some(self.written.before.clone()), after: Some(self.written.after.clone()) };
        let replacement = self.replacement(changes, Vec::new());
        self.report(replacement, whole, Vec::new())
    }

    /// The same, with a warning that this is not all.
    fn guessed(self) -> ObjectReport {
        let target = &self.object.target;
        let title = format!("{target} is replaced, and what it loses is not known");
        let warning = Diagnostic::warning(codes::REPLACES_FIELDS, title)
            .object(target.to_string())
            .detail("The API server does not say what the new object is like. It does not have what other managers hold.")
            .hint("`plimsoll owners` shows what they hold.");
        let mut report = self.written();
        report.findings.push(warning);
        report
    }

    fn replacement(&self, changes: Vec<FieldChange>, lost: Vec<FieldPath>) -> Replacement {
        let immutable = self.written.immutable.iter().map(|change| change.path.clone()).collect();
        Replacement { changes, immutable, lost, cascade: self.cascade, manager: self.writer.manager.clone() }
    }

    fn report(&self, replacement: Replacement, whole: Whole, findings: Vec<Diagnostic>) -> ObjectReport {
        let target = &self.object.target;
        let findings = loses_data(target).into_iter().chain(findings).collect();
        let report = ObjectReport::replaced(target, replacement, findings);
        report.with_whole(self.writer.keeps_whole.then_some(whole))
    }
}

fn recreated(target: &ObjectRef) -> Diagnostic {
    Diagnostic::error(codes::PLAN_STALE, format!("another client has recreated {target}"))
        .object(target.to_string())
        .detail("The object that was to be replaced is gone, and nothing was applied to the new one.")
        .hint("Plan again.")
}

fn loses_data(target: &ObjectRef) -> Option<Diagnostic> {
    let is_storage =
        target.group().is_empty() && matches!(target.kind(), "PersistentVolumeClaim" | "PersistentVolume");
    is_storage.then(|| {
        Diagnostic::warning(codes::REPLACES_DATA, format!("{target} is replaced, and its data may be lost"))
            .object(target.to_string())
            .detail("The reclaim policy of the volume decides whether what is stored in it is deleted.")
            .hint("Copy the data first, or create a claim with another name.")
    })
}
