//! From an XRD to kinds that are served and watched.

use composition::definition::Definition;
use composition::object;
use composition::run::Object;
use composition::{intent, takeover};
use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

use super::report::{self, Report};
use super::{Ended, LONGEST_RETRY, Pass, Role, Stopped, crd_target};
use crate::composition::kinds::Kind;
use crate::composition::writer::WriteError;

/// Who holds the fields of generated CRDs.
const CRD_MANAGER: &str = "apiextensions.crossplane.io/definition";

/// How the CRD of one side stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Offer {
    /// It is established.
    Served,
    /// It will be; that is a change of the CRD, which names the XRD again.
    Coming,
    /// None can be made of this XRD.
    Unusable,
    /// It is controlled by somebody else, and never touched. Nobody tells when it changes hands.
    Foreign,
    /// The API server refuses it. Mostly a change of the XRD helps, of which we hear; else nobody tells.
    Refused,
}

impl Pass<'_> {
    /// Makes the kinds, and has them watched as soon as they are served.
    pub(super) async fn establish(&mut self, definition: &Definition) -> Result<Ended, Stopped> {
        let roles = Role::of(definition);
        self.set_finalizers(&roles, true, "cannot add composite resource finalizer").await?;
        self.grant(definition).await;
        let mut report = Report::on(&self.xrd, Timestamp::now());
        // Both CRDs are on their way before either is waited for.
        let mut offered = Vec::new();
        for role in roles {
            offered.push((role, self.offer(definition, role, &mut report).await?));
        }
        for (role, _) in offered.iter().filter(|(_, offer)| *offer == Offer::Served) {
            self.watch(definition, *role, &mut report).await;
        }
        self.publish(report).await?;
        let is_stuck = offered.iter().any(|(_, offer)| matches!(offer, Offer::Foreign | Offer::Refused));
        Ok(if is_stuck { Ended::Waiting(LONGEST_RETRY) } else { Ended::Settled })
    }

    /// Applies the CRD of one side.
    async fn offer(
        &mut self,
        definition: &Definition,
        role: Role,
        report: &mut Report,
    ) -> Result<Offer, Stopped> {
        let words = role.words();
        let Some(rendered) = role.crd(definition) else { return Ok(Offer::Unusable) };
        let crd = match known(rendered) {
            Ok(crd) => crd,
            Err(why) => {
                let message = format!("cannot render {} CustomResourceDefinition: {why}", words.noun);
                report.failed(role, "RenderCRD", &message);
                self.say(role, true, "RenderCRD", message);
                return Ok(Offer::Unusable);
            }
        };
        let doing = format!("cannot apply rendered {} CustomResourceDefinition", words.noun);
        let read = self.definitions.engine.session.read(&crd_target(&crd)).await;
        let live = self.done(read.map_err(WriteError::from), role, &doing)?;
        let mut live = live.map(|reply| object::from_value(reply.object));
        let uid = object::uid(&self.xrd).unwrap_or_default();
        if let Some(other) = live.as_ref().and_then(object::controller).filter(|owner| owner.uid != uid) {
            let message = format!(
                "{doing}: existing object is not controlled by UID {uid:?}, but by {} {:?}",
                other.kind, other.name
            );
            report.failed(role, words.establish, &message);
            self.say(role, true, words.establish, message);
            return Ok(Offer::Foreign);
        }
        if let Some(fold) = live.as_ref().and_then(|live| takeover::fold_updates(live, CRD_MANAGER, "")) {
            let folded = self.definitions.engine.writer.patch(&crd, &fold, CRD_MANAGER).await;
            live = Some(self.done(folded, role, &doing)?);
        }
        if let (Some(live), None) = (&live, self.memory.applied.get(&role))
            && let Some(found) = intent::Applied::found(&crd, live, CRD_MANAGER)
        {
            self.memory.applied.insert(role, found);
        }
        let current = match live {
            Some(live) if !intent::is_apply_owed(&crd, self.memory.applied.get(&role), Some(&live)) => live,
            live => match self.apply(&crd, live.as_ref(), role, &doing).await? {
                Ok(applied) => applied,
                Err(refused) => {
                    report.failed(role, words.establish, &refused);
                    self.say(role, true, words.establish, refused);
                    return Ok(Offer::Refused);
                }
            },
        };
        if report::is_established(&current) {
            return Ok(Offer::Served);
        }
        let message = format!("waiting for {} CustomResourceDefinition to be established", words.noun);
        self.say(role, false, words.establish, message);
        Ok(Offer::Coming)
    }

    /// Applies a CRD; what the API server makes of it, or why it refuses it.
    async fn apply(
        &mut self,
        crd: &Object,
        live: Option<&Object>,
        role: Role,
        doing: &str,
    ) -> Result<Result<Object, String>, Stopped> {
        let words = role.words();
        let applied = match self.definitions.engine.writer.apply(crd, CRD_MANAGER).await {
            Err(error) if error.is_invalid() => return Ok(Err(format!("{doing}: {}", error.text()))),
            applied => self.done(applied, role, doing)?,
        };
        self.memory.applied.insert(role, intent::Applied::new(crd, &applied));
        if object::resource_version(&applied) != live.and_then(object::resource_version) {
            let name = object::name(crd).unwrap_or_default();
            let message = format!("Applied {} CustomResourceDefinition: {name}", words.noun);
            self.say(role, false, words.establish, message);
        }
        Ok(Ok(applied))
    }

    /// Has the objects of one side watched by a controller that knows this very XRD.
    async fn watch(&mut self, definition: &Definition, role: Role, report: &mut Report) {
        let mut definition = definition.clone();
        definition.object = self.xrd.clone();
        let Some(objects) = role.objects(&definition).cloned() else { return };
        let kind = Kind::new(definition);
        let before = report::watched_generation(&self.xrd, role);
        let was_running = self.definitions.kinds.is_running(role, kind.name()).await;
        let started = self.definitions.kinds.start(role, kind).await;
        if started && was_running && before.is_some() && before != object::generation(&self.xrd) {
            let message = "XRD specification changed; restarting controller to apply updates";
            self.say(role, false, "RestartComposite", message);
        }
        report.watching(role, &objects);
    }
}

/// The CRD without fields of schemas that a CRD does not know. The reference's types drop them; an apply would be refused.
fn known(crd: Object) -> Result<Object, String> {
    let read: CustomResourceDefinition =
        serde_json::from_value(Value::Object(crd)).map_err(|error| error.to_string())?;
    serde_json::to_value(read).map(object::from_value).map_err(|error| error.to_string())
}
