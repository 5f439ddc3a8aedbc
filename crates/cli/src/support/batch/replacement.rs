//! Objects whose fields cannot be changed: if the user wants that, they are deleted and created again.

use cluster::{Class, Delete, Deletion, Error, Propagation, Session};
use diag::Diagnostic;
use fields::{Change, FieldPath};
use manifest::ObjectRef;
use ownership::Observed;
use plan::FieldChange;

use super::Batch;
use super::resolve::{ResolvedObject, is_needed_by_others};
use super::writer::Writer;
use crate::args::delete::Cascade;
use crate::args::plan::ReplaceArgs;
use crate::codes;
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
    /// What the files change, as far as they alone say.
    pub(crate) changes: Vec<FieldChange>,
    /// The fields that make it necessary.
    pub(crate) immutable: Vec<FieldPath>,
    /// What becomes of the objects that it owns.
    pub(crate) cascade: Propagation,
}

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

impl Batch {
    /// What a replacement would do after `error`; `None` if the object is not to be replaced.
    pub(super) async fn preview_replacement(
        &self,
        session: &Session,
        object: &ResolvedObject,
        writer: &Writer,
        error: &Error,
    ) -> Option<ObjectReport> {
        let report = self.replacement(object, writer, error)?;
        if self.replacing == Replacing::Shown {
            return Some(report);
        }
        Some(match session.try_delete(&object.target).await {
            Ok(_) => report,
            Err(error) => ObjectReport::refused(&object.target, refusal::refusal(&error, "Replace")),
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
        let report = self.replacement(object, writer, error)?;
        let target = &object.target;
        let live = self.observed(target)?;
        let how = Delete {
            uid: live.object()["metadata"]["uid"].as_str().map(str::to_owned),
            propagation,
            ..Delete::of(target)
        };
        let refused = |why: Diagnostic| Some(ObjectReport::refused(target, why));
        match session.delete(target, &how).await {
            Err(error) => return refused(refusal::refusal(&error, "Replace")),
            Ok(Deletion::Stuck(stuck)) => return refused(stuck.diagnostic()),
            Ok(Deletion::Gone { .. } | Deletion::Recreated | Deletion::Requested) => {}
        }
        match session.apply(target, &object.body, writer.write()).await {
            Ok(reply) => {
                self.remember_answer(object, writer, &reply.object);
                Some(report)
            }
            Err(error) => {
                let why = refusal::of_object(&error, "Replace", object, None);
                let detail =
                    format!("{}\n\nThe object has been deleted, and does not exist any more.", why.detail);
                refused(why.detail(detail).hint("Correct the file, and apply again."))
            }
        }
    }

    /// What would be replaced. Never what contains other objects: they would go with it.
    fn replacement(&self, object: &ResolvedObject, writer: &Writer, error: &Error) -> Option<ObjectReport> {
        let cascade = match self.replacing {
            Replacing::Deleting(propagation) if error.class() == Class::Immutable => propagation,
            Replacing::Shown if error.class() == Class::Immutable => Propagation::default(),
            _ => return None,
        };
        let live = self.observed(&object.target).filter(|_| !is_needed_by_others(&object.target))?;
        let WrittenOver { before, after, changes, immutable } = WrittenOver::of(error, object, writer, live);
        if immutable.is_empty() {
            return None;
        }
        let immutable = immutable.into_iter().map(|change| change.path).collect();
        let changes = changes.into_iter().map(|change| field_change(change, live)).collect();
        let replacement = Replacement { changes, immutable, cascade };
        let whole = writer.keeps_whole.then_some(Whole { before: Some(before), after: Some(after) });
        let findings = loses_data(&object.target).into_iter().collect();
        Some(ObjectReport::replaced(&object.target, replacement, findings).with_whole(whole))
    }
}

fn field_change(Change { path, old, new }: Change, live: &Observed) -> FieldChange {
    let held_now = live.managed().holders(&path).into_iter().cloned().collect();
    FieldChange { path, old, new, held_now, ..FieldChange::default() }
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
