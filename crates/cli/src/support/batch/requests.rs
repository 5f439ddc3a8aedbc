//! What is sent for an object: the apply or its dry run, and before it what other managers and `kubectl apply` require.

use cluster::{Class, Error, FieldConflict, PatchType, Reply, Session, Write};
use manifest::ObjectRef;
use ownership::{Desired, FieldManager, Handover, Observed, client_side_appliers};
use serde_json::Value;

use super::Batch;
use super::resolve::ResolvedObject;
use super::writer::Writer;

impl Batch {
    /// Asks what an apply would do, including a take-over from `kubectl apply` and the fields to take.
    pub(super) async fn dry_run(
        &self,
        session: &Session,
        object: &ResolvedObject,
        writer: &Writer,
        write: Write<'_>,
    ) -> Result<Reply, Error> {
        let target = &object.target;
        let observed = self.observed(target);
        let body = writer.body_for_dry_run(&object.body, observed);
        let client_side = self.client_side(target);
        let appliers = client_side.iter().flat_map(|(_, appliers)| appliers);
        let appliers: Vec<&str> = appliers.map(FieldManager::as_str).collect();
        let is_settled = |conflict: &FieldConflict| {
            appliers.contains(&conflict.manager.as_str()) || writer.takes(conflict, &body, observed)
        };
        let mut reply = match session.apply(target, &body, write).await {
            Err(error) if error.class() == Class::FieldManagerConflict => match error.overlooking(is_settled)
            {
                Some(conflict) => return Err(conflict),
                None => session.apply(target, &body, write.force()).await?,
            },
            applied => applied?,
        };
        let Some((live, _)) = client_side else { return Ok(reply) };
        // Managers that cannot be read are reported by the comparison.
        let Ok(answer) = Observed::new(reply.object.clone()) else { return Ok(reply) };
        let patch = plan::takeover_patch(&Desired::new(&writer.manager, &body), live, &answer);
        let dry_run = Write::by(write.manager).dry_run();
        let patched = session.patch(target, PatchType::Json, &Value::Array(patch), dry_run).await?;
        reply.object = plan::after_takeover(live, &answer, patched.object);
        Ok(reply)
    }

    /// Applies an object, after what `kubectl apply` holds has become ours, and what is left to others is theirs.
    pub(crate) async fn apply(
        &self,
        session: &Session,
        object: &ResolvedObject,
        writer: &Writer,
    ) -> Result<Reply, Error> {
        let (target, live) = (&object.target, self.observed(&object.target));
        self.take_over(session, target, writer).await?;
        writer.release(session, target, &object.body, live).await?;
        let body = writer.body(&object.body, live);
        match live.filter(|live| self.is_guarded && writer.needs_one_write(live)) {
            Some(live) if self.client_side(target).is_none() => {
                writer.apply_to(session, target, &body, live).await
            }
            _ => writer.apply(session, target, &body, live).await,
        }
    }

    /// Moves what `kubectl apply` holds to the manager who is about to apply.
    async fn take_over(&self, session: &Session, target: &ObjectRef, writer: &Writer) -> Result<(), Error> {
        let Some((live, _)) = self.client_side(target) else { return Ok(()) };
        let edit = |live: &Observed| Handover::of(live).take_over_client_side(&writer.manager).patch();
        let again = |live: Value| edit(&Observed::new(live).ok()?);
        let write = Write::by(writer.manager.as_str());
        session.edit_managed_fields(target, write, edit(live), again).await.map(drop)
    }

    /// The live object and the managers of `kubectl apply`, if it wrote the object.
    fn client_side(&self, target: &ObjectRef) -> Option<(&Observed, Vec<FieldManager>)> {
        let live = self.observed(target)?;
        let appliers = client_side_appliers(live);
        (!appliers.is_empty()).then_some((live, appliers))
    }
}
