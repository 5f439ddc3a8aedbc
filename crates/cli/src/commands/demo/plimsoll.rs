//! Applies and plans the demo with plimsoll itself if Terraform is not installed.

use std::sync::OnceLock;

use cluster::{Session, Write};
use diag::Diagnostic;
use futures::future::try_join_all;
use manifest::ObjectRef;
use ownership::{Baseline, Desired, FieldManager, Observed, Prior, Verbosity};
use plan::Preview;
use serde_json::Value;

use super::events::wait_for;
use super::{CLAIM, COMPOSITION, DEFINITION, FRONT, examples, untrue};
use crate::support::exit::Failure;

/// The field manager of the demo.
const US: &str = "plimsoll";

/// The objects of the demo, and the Deployment as the API server returned it.
pub(super) struct Plimsoll {
    objects: Vec<(ObjectRef, Value)>,
    front: OnceLock<Value>,
}

impl Plimsoll {
    pub(super) fn new(compartment: &str) -> Result<Self, Failure> {
        let claim = CLAIM.replace("${compartment}", compartment);
        let mut all = Vec::new();
        for (name, text) in [
            ("definition.yaml", DEFINITION),
            ("composition.yaml", COMPOSITION),
            ("claim.yaml", &claim),
            ("front.yaml", FRONT),
        ] {
            all.extend(examples::objects(name, text)?);
        }
        Ok(Self { objects: all, front: OnceLock::new() })
    }

    pub(super) async fn apply(&self, session: &Session) -> Result<String, Failure> {
        let applied = try_join_all(self.objects.iter().map(|(target, body)| async move {
            session.apply_when_possible(target, body, Write::by(US).force()).await
        }))
        .await
        .map_err(|error| error.diagnostic("Apply"))?;
        for ((target, _), reply) in self.objects.iter().zip(applied) {
            if target.kind() == "Deployment" {
                // It is applied once.
                let _ = self.front.set(reply.object);
            }
        }
        wait_for(session, self.target("App"), "field=status.endpoint").await?;
        wait_for(session, self.target("Deployment"), "rollout").await?;
        Ok(format!(
            "{} objects applied; the endpoint exists and the Deployment is rolled out",
            self.objects.len()
        ))
    }

    pub(super) async fn value(&self, session: &Session) -> Result<(String, Value), Failure> {
        let value = wait_for(session, self.target("App"), "field=status.endpoint").await?;
        let value = value.ok_or_else(|| untrue("the wait returned no value"))?;
        Ok((value["endpoint"].as_str().unwrap_or_default().to_owned(), value))
    }

    /// The warnings before the Deployment is applied again.
    pub(super) async fn drift(&self, session: &Session) -> Result<Vec<String>, Failure> {
        let (target, body) = self.find("Deployment");
        let live = session.read(target).await.map_err(|error| error.diagnostic("Read"))?;
        let live = live.ok_or_else(|| untrue(format!("{target} does not exist")))?;
        let planned = session.apply(target, body, Write::by(US).force().dry_run()).await;
        let planned = planned.map_err(|error| error.diagnostic("Plan"))?;
        let answer = self.front.get().ok_or_else(|| untrue("nothing was applied"))?;
        let observe = |object: Value| Observed::new(object).map_err(|error| untrue(error.to_string()));
        let manager = FieldManager::new(US);
        let desired = Desired::new(&manager, body);
        let baseline = Baseline::record(&observe(answer.clone())?, &desired);
        let prior = Prior::Applied { written: body, baseline: &baseline };
        let preview = Preview::new(&desired, prior, Some(&observe(live.object)?), &observe(planned.object)?);
        let warnings = preview.warnings(&target.to_string(), Verbosity::Full, None);
        let shown = |warning: &Diagnostic| format!("Warning: {}\n\n{}", warning.summary, warning.detail);
        Ok(warnings.iter().map(shown).collect())
    }

    fn target(&self, kind: &str) -> &ObjectRef {
        &self.find(kind).0
    }

    fn find(&self, kind: &str) -> &(ObjectRef, Value) {
        let found = self.objects.iter().find(|(target, _)| target.kind() == kind);
        found.expect("a kind of the examples")
    }
}
