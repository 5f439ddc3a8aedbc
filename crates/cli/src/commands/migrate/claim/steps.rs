//! The steps by which an XR takes the place of a claim. Each can be repeated; until the last two, nothing is lost.

use std::time::Duration;

use cluster::{Check, Delete, Error, PatchType, Session, WaitOutcome, Write};
use composition::claim::successor::{ANNOTATION_PAUSED, change_manager, change_owner};
use composition::composite::{Composite, Layout, refs_intent};
use composition::condition::{Conditions, SYNCED};
use composition::naming::COMPOSITE_MANAGER;
use composition::object;
use composition::protocol::Object;
use diag::Diagnostic;
use manifest::ObjectRef;
use serde_json::{Value, json};

use super::plan::{Finished, Plan};
use crate::codes;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::printer::{GOOD, Printer};

/// The manager of the new XR, the same as that of `plimsoll apply`.
pub(super) const WRITER: &str = "plimsoll";
/// The manager of everything else.
const MOVER: &str = "plimsoll-migrate";

pub(super) async fn hand_over(
    session: &Session,
    plan: &Plan,
    timeout: Duration,
    printer: &mut Printer,
) -> Outcome {
    let mut steps = Steps { session, plan, timeout, printer: &mut *printer };
    let (claim, xr) = (reference(&plan.claim)?, reference(&plan.xr)?);
    for old in [&claim, &xr] {
        steps.pause(old).await?;
    }
    let successor = steps.create().await?;
    for child in plan.composed.keys() {
        steps.hand_over(child, &successor).await?;
    }
    steps.keep_secret().await?;
    steps.resume().await?;
    steps.verify(&successor).await?;
    delete(session, &xr, timeout, printer).await?;
    delete(session, &claim, timeout, printer).await?;
    replaced(&claim, &plan.target, printer);
    Ok(Exit::Success)
}

/// The last step, which an earlier run has left.
pub(super) async fn finish(
    session: &Session,
    finished: &Finished,
    timeout: Duration,
    printer: &mut Printer,
) -> Outcome {
    delete(session, &finished.claim, timeout, printer).await?;
    replaced(&finished.claim, &finished.target, printer);
    Ok(Exit::Success)
}

fn replaced(claim: &ObjectRef, target: &ObjectRef, printer: &mut Printer) {
    printer.message(format_args!(
        "{claim} is replaced by {target}. Replace it in your manifests too: kubectl get {}.{}/{} --namespace {} -o yaml",
        target.kind().to_lowercase(),
        target.group(),
        target.name,
        target.namespace.as_ref().map(ToString::to_string).unwrap_or_default()
    ));
}

/// Deletes the claim or its XR. It is paused until it has a deletion timestamp, or it would compose anew.
async fn delete(
    session: &Session,
    target: &ObjectRef,
    timeout: Duration,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let request = Delete { timeout: Duration::ZERO, ..Delete::of(target) };
    session.delete(target, &request).await.map_err(failed)?;
    if session.read(target).await.map_err(failed)?.is_some() {
        match annotate(session, target, None).await {
            // It went meanwhile.
            Err(_) if session.read(target).await.map_err(failed)?.is_none() => {}
            annotated => annotated?,
        }
    }
    let check = |object: Option<&Value>| match object {
        None => Check::Met(()),
        Some(_) => Check::NotYet("it is still there".to_owned()),
    };
    match session.wait_until(target, timeout, check).await.map_err(failed)? {
        WaitOutcome::Met { .. } => done(printer, format_args!("{target}: deleted")),
        _ => Err(stuck(target, "it is not gone")),
    }
}

async fn annotate(session: &Session, target: &ObjectRef, paused: Option<&str>) -> Result<(), Failure> {
    let patch = json!({"metadata": {"annotations": {ANNOTATION_PAUSED: paused}}});
    session.patch(target, PatchType::Merge, &patch, Write::by(MOVER)).await.map_err(failed)?;
    Ok(())
}

fn done(printer: &mut Printer, what: std::fmt::Arguments<'_>) -> Result<(), Failure> {
    Ok(printer.data(format_args!("{GOOD}done{GOOD:#} {what}"))?)
}

struct Steps<'s> {
    session: &'s Session,
    plan: &'s Plan,
    timeout: Duration,
    printer: &'s mut Printer,
}

impl Steps<'_> {
    /// Makes the engine leave an object alone, and waits until it says so: a reconcile may be running.
    async fn pause(&mut self, target: &ObjectRef) -> Result<(), Failure> {
        annotate(self.session, target, Some("true")).await?;
        let is_paused = |object: &Object| {
            let conditions = Conditions::of(object);
            conditions.get(SYNCED).is_some_and(|synced| synced.reason == "ReconcilePaused")
        };
        self.wait(target, "the engine does not pause it", is_paused).await?;
        self.done(format_args!("{target}: paused"))
    }

    /// Creates the successor, which the engine leaves alone too, with references to all it is going to be composed of.
    async fn create(&mut self) -> Result<Object, Failure> {
        let plan = self.plan;
        let target = &plan.target;
        let mut paused = plan.successor.clone();
        object::nested_mut(&mut paused, &["metadata", "annotations"])
            .insert(ANNOTATION_PAUSED.to_owned(), "true".into());
        let created = self.session.apply(target, &Value::Object(paused), Write::by(WRITER)).await;
        let created = object::from_value(created.map_err(failed)?.object);
        let refs = refs_intent(Composite::new(&created, Layout::Modern), plan.composed.keys());
        let write = Write::by(COMPOSITE_MANAGER).force();
        let referring = self.session.apply(target, &Value::Object(refs), write).await.map_err(failed)?;
        self.done(format_args!("{target}: created, and paused"))?;
        Ok(object::from_value(referring.object))
    }

    async fn hand_over(&mut self, child: &ObjectRef, successor: &Object) -> Result<(), Failure> {
        let (write, plan) = (Write::by(MOVER), self.plan);
        let from = &plan.xr;
        let operations = |patch: Option<Value>| patch.and_then(|patch| patch.as_array().cloned());
        let own = |live: Value| operations(change_owner(&object::from_value(live), from, successor));
        self.session.edit_managed_fields(child, write, None, own).await.map_err(failed)?;
        let hold =
            |live: Value| operations(change_manager(&object::from_value(live), from, successor, MOVER));
        self.session.edit_managed_fields(child, write, None, hold).await.map_err(failed)?;
        self.done(format_args!("{child}: handed over"))
    }

    /// Takes the connection Secret of the claim out of its ownership: it would go with the claim.
    async fn keep_secret(&mut self) -> Result<(), Failure> {
        let plan = self.plan;
        let Some(secret) = &plan.secret else { return Ok(()) };
        let uid = object::uid(&plan.claim);
        let orphan = |live: Value| {
            let live = object::from_value(live);
            let owners = object::list(&live, &["metadata", "ownerReferences"]);
            let (claims, kept): (Vec<Value>, Vec<Value>) =
                owners.cloned().partition(|owner| owner["uid"].as_str() == uid);
            let path = "/metadata/ownerReferences";
            (!claims.is_empty()).then(|| vec![json!({"op": "replace", "path": path, "value": kept})])
        };
        let kept = self.session.edit_managed_fields(secret, Write::by(MOVER), None, orphan).await;
        if kept.map_err(failed)?.is_some() {
            self.done(format_args!("{secret}: kept"))?;
        }
        Ok(())
    }

    /// Lets the engine serve the successor.
    async fn resume(&mut self) -> Result<(), Failure> {
        let plan = self.plan;
        let (target, body) = (&plan.target, Value::Object(plan.successor.clone()));
        self.session.apply(target, &body, Write::by(WRITER)).await.map_err(failed)?;
        let is_synced = |object: &Object| readiness::condition(object, SYNCED, "True").is_ok();
        self.wait(target, "the engine does not sync it", is_synced).await?;
        self.done(format_args!("{target}: synced"))
    }

    /// Makes sure that everything is still the same, and the successor's, before what owned it goes.
    async fn verify(&mut self, successor: &Object) -> Result<(), Failure> {
        let plan = self.plan;
        for (target, before) in &plan.composed {
            let now = self
                .session
                .read(target)
                .await
                .map_err(failed)?
                .map(|reply| object::from_value(reply.object));
            let is_same = now.as_ref().is_some_and(|now| {
                object::uid(now) == object::uid(before)
                    && !object::is_being_deleted(now)
                    && object::is_controlled_by(now, successor)
            });
            if !is_same {
                let title = format!("{target} is no longer composed by {}", plan.target);
                return Err(Diagnostic::error(codes::MIGRATION_STUCK, title)
                    .hint("The claim and its XR are still there, paused. Compare the two Compositions.")
                    .into());
            }
        }
        self.done(format_args!("composed resources ({}) are the same as before", plan.composed.len()))
    }

    async fn wait(
        &self,
        target: &ObjectRef,
        otherwise: &str,
        is_so: impl Fn(&Object) -> bool,
    ) -> Result<(), Failure> {
        let check = |object: Option<&Value>| match object.and_then(Value::as_object) {
            Some(object) if is_so(object) => Check::Met(()),
            _ => Check::NotYet(otherwise.to_owned()),
        };
        match self.session.wait_until(target, self.timeout, check).await.map_err(failed)? {
            WaitOutcome::Met { .. } => Ok(()),
            _ => Err(stuck(target, otherwise)),
        }
    }

    fn done(&mut self, what: std::fmt::Arguments<'_>) -> Result<(), Failure> {
        done(self.printer, what)
    }
}

fn reference(object: &Object) -> Result<ObjectRef, Failure> {
    ObjectRef::of(object).map_err(|error| Diagnostic::error(codes::MIGRATION_STUCK, error.to_string()).into())
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes errors by value")]
fn failed(error: Error) -> Failure {
    error.diagnostic("Migrate").into()
}

fn stuck(target: &ObjectRef, why: &str) -> Failure {
    Diagnostic::error(codes::MIGRATION_STUCK, format!("{target}: {why} in time"))
        .hint("Find the cause with `plimsoll why`, and run the command again: it goes on where it stopped.")
        .into()
}
