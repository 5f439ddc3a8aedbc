//! Taking away what an XRD has brought: first the claims, then the XRs, each with its kind.

use std::time::Duration;

use cluster::{Class, Propagation, Selection};
use composition::composite::Composite;
use composition::definition::Definition;
use composition::object;
use composition::run::Object;
use diag::Diagnostic;
use jiff::Timestamp;
use manifest::ObjectRef;

use super::report::Report;
use super::{Ended, Pass, Role, Stopped, crd_target, in_words};
use crate::composition::writer::WriteError;

/// How often it is looked whether the last object has gone: of that, nobody tells.
const LOOK: Duration = Duration::from_millis(500);

impl Pass<'_> {
    /// Deletes claims and their kind, then XRs and theirs, each as far as it can be done now.
    ///
    /// The reference deletes both at once. A claim would then make a new XR in the place of one that went before it.
    pub(super) async fn terminate(&mut self, definition: &Definition) -> Result<Ended, Stopped> {
        let roles = Role::of(definition);
        let mut report = Report::on(&self.xrd, Timestamp::now());
        for role in &roles {
            report.terminating(*role);
        }
        self.publish(report).await?;
        self.remember_composed(definition).await?;
        for role in roles.into_iter().rev() {
            if let Some(ended) = self.redact(definition, role).await? {
                return Ok(ended);
            }
        }
        let all = [Role::Claim, Role::Composite];
        self.set_finalizers(&all, false, "cannot remove composite resource finalizer").await?;
        Ok(Ended::Settled)
    }

    /// An XRD that makes no sense has nothing of ours that could be found; it may go.
    pub(super) async fn let_go(&mut self, found: &[Diagnostic]) -> Result<Ended, Stopped> {
        let why = found.iter().map(in_words).collect::<Vec<_>>().join("; ");
        tracing::warn!(xrd = object::name(&self.xrd), why, "a definition that cannot be read is let go");
        let name = object::name(&self.xrd).unwrap_or_default().to_owned();
        self.definitions.kinds.stop(Role::Claim, &name).await;
        self.definitions.kinds.stop(Role::Composite, &name).await;
        let all = [Role::Claim, Role::Composite];
        self.set_finalizers(&all, false, "cannot remove composite resource finalizer").await?;
        Ok(Ended::Settled)
    }

    /// Takes one side away; nothing is returned when that is done.
    async fn redact(&mut self, definition: &Definition, role: Role) -> Result<Option<Ended>, Stopped> {
        let words = role.words();
        let name = object::name(&self.xrd).unwrap_or_default().to_owned();
        let Some(crd) = role.crd(definition) else {
            // Without a CRD of ours there is nothing to delete.
            self.definitions.kinds.stop(role, &name).await;
            return Ok(None);
        };
        let target = crd_target(&crd);
        let doing = format!("cannot get {} CustomResourceDefinition", words.noun);
        let read = self.definitions.engine.session.read(&target).await;
        let live = self.done(read.map_err(WriteError::from), role, &doing)?;
        let live = live.map(|reply| object::from_value(reply.object)).filter(|live| self.controls(live));
        let Some(live) = live else {
            self.definitions.kinds.stop(role, &name).await;
            return Ok(None);
        };
        if self.delete_objects(definition, role).await? {
            let message = format!("waiting for defined {}s to be deleted", words.noun);
            self.say(role, false, words.terminate, message);
            return Ok(Some(Ended::Waiting(LOOK)));
        }
        if role == Role::Composite && self.is_left_behind().await? {
            return Ok(Some(Ended::Waiting(LOOK)));
        }
        // The controller has seen the last object go; without a kind it would only meet errors.
        self.definitions.kinds.stop(role, &name).await;
        if !object::is_being_deleted(&live) {
            let uid = object::uid(&live).map(str::to_owned);
            let writer = &self.definitions.engine.writer;
            let deleted = writer.delete(&target, uid, Propagation::Background).await;
            self.done(deleted, role, &format!("cannot delete {} CustomResourceDefinition", words.noun))?;
            let crd = object::name(&live).unwrap_or_default();
            let message = format!("Deleted {} CustomResourceDefinition: {crd}", words.noun);
            self.say(role, false, words.terminate, message);
        }
        // Its end is a change of the CRD, which names the XRD again.
        Ok(Some(Ended::Waiting(LOOK)))
    }

    /// Notes what the XRs are composed of, while they can be asked.
    async fn remember_composed(&mut self, definition: &Definition) -> Result<(), Stopped> {
        for xr in self.objects(definition, Role::Composite).await? {
            let refs = Composite::new(&xr, definition.scope.layout()).resource_refs();
            let uid = object::uid(&xr).unwrap_or_default();
            self.memory.composed.extend(refs.into_iter().map(|reference| (reference, uid.to_owned())));
        }
        Ok(())
    }

    /// Whether something is left that XRs were composed of and that nobody has asked to go yet.
    ///
    /// Kubernetes collects it, but not any more once it does not know the kind of its owner.
    async fn is_left_behind(&mut self) -> Result<bool, Stopped> {
        for (reference, uid) in self.memory.composed.clone() {
            let read = match self.definitions.engine.session.read(&reference).await {
                Err(error) if error.class() == Class::KindMissing => Ok(None),
                read => read,
            };
            let read =
                self.done(read.map_err(WriteError::from), Role::Composite, "cannot get composed resource")?;
            let is_left = read.map(|reply| object::from_value(reply.object)).is_some_and(|left| {
                let is_ours = object::controller(&left).is_some_and(|controller| controller.uid == uid);
                is_ours && !object::is_being_deleted(&left)
            });
            if is_left {
                return Ok(true);
            }
            self.memory.composed.remove(&(reference, uid));
        }
        Ok(false)
    }

    fn controls(&self, crd: &Object) -> bool {
        object::controller(crd).is_some_and(|owner| Some(owner.uid.as_str()) == object::uid(&self.xrd))
    }

    /// Asks all objects of one side to go; whether there are any left.
    async fn delete_objects(&mut self, definition: &Definition, role: Role) -> Result<bool, Stopped> {
        let words = role.words();
        let objects = self.objects(definition, role).await?;
        for one in objects.iter().filter(|one| !object::is_being_deleted(one)) {
            let uid = object::uid(one).map(str::to_owned);
            let Ok(reference) = ObjectRef::of(one) else { continue };
            let writer = &self.definitions.engine.writer;
            let deleted = writer.delete(&reference, uid, Propagation::Background).await;
            self.done(deleted, role, &format!("cannot delete defined {}s", words.noun))?;
        }
        Ok(!objects.is_empty())
    }

    /// All objects of one side.
    async fn objects(&mut self, definition: &Definition, role: Role) -> Result<Vec<Object>, Stopped> {
        let Some(kind) = role.objects(definition) else { return Ok(Vec::new()) };
        let listed = match self.definitions.engine.session.list(kind, &Selection::default()).await {
            Err(error) if error.class() == Class::KindMissing => return Ok(Vec::new()),
            listed => listed,
        };
        let doing = format!("cannot list defined {}s", role.words().noun);
        let listing = self.done(listed.map_err(WriteError::from), role, &doing)?;
        Ok(listing.items.into_iter().map(object::from_value).collect())
    }
}
