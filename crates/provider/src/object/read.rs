//! Refreshes an object.

use cluster::{Error, ErrorKind};
use diag::Diagnostic;
use manifest::ObjectRef;
use ownership::{Desired, Observed};
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::private::Private;
use tfplugin::provider::{ReadRequest, ReadResponse};
use tfplugin::value::{Object, Value};

use super::decide::{former_baseline, projection_failed};
use super::{NO_CLIENT, attributes, import, manager, stamp, wait_for};
use crate::clusters::Cluster;
use crate::context::Context;
use crate::private::{BODY_MISSING, IMPORTED, Keys as _, PENDING_PROJECTION, STALE_READ};
use crate::projection::{self, Maps};
use crate::{codes, identity, reading, whereabouts};

pub(super) async fn read(context: &Context, request: ReadRequest) -> ReadResponse {
    let cluster = match reading::cluster(context, &request.state, NO_CLIENT) {
        Ok(cluster) => cluster,
        Err(diagnostics) => return reading::kept(request, diagnostics),
    };
    let Some(target) = attributes::target(&request.state) else { return request.unchanged() };
    let live = match cluster.read(&target).await {
        Ok(Some(reply)) => reply,
        Ok(None) => return absent(request, &cluster, &target).await,
        Err(error) if matches!(error.kind(), ErrorKind::KindMissing(_)) => {
            return absent(request, &cluster, &target).await;
        }
        Err(error) => return unread(request, &error),
    };
    let diagnostics: Diagnostics = live.diagnostics(&target).into();
    let mut refresh = Refresh { state: request.state, private: request.private, diagnostics };
    if let Err(error) = refresh.check_owner(&cluster, &target, &live.object).await {
        refresh.diagnostics.add(*error);
    } else {
        cluster.remember(&target, &live.object);
        refresh.update(&target, live.object);
    }
    ReadResponse {
        state: Some(refresh.state),
        private: refresh.private,
        identity: Some(identity::of(&target)),
        diagnostics: refresh.diagnostics,
    }
}

/// Handles an object that does not exist. That counts only in the cluster it was created in: a provider that points
/// elsewhere would otherwise plan to create everything again.
async fn absent(request: ReadRequest, cluster: &Cluster, target: &ObjectRef) -> ReadResponse {
    if whereabouts::is_elsewhere(&request.private, cluster).await {
        return reading::kept(request, whereabouts::elsewhere(&target.to_string()));
    }
    ReadResponse::default()
}

fn unread(request: ReadRequest, error: &Error) -> ReadResponse {
    let diagnostic = error.diagnostic("Read");
    let is_refusal = reading::is_refusal(error);
    let stale = is_refusal || !diagnostic.is_error();
    let diagnostic = if is_refusal { reading::prior_state_used(&diagnostic) } else { diagnostic };
    let mut response = reading::kept(request, diagnostic);
    if stale {
        response.private.set_flag(STALE_READ, true);
    }
    response
}

struct Refresh {
    state: Object,
    private: Private,
    diagnostics: Diagnostics,
}

impl Refresh {
    /// Whether the object belongs to this resource.
    async fn check_owner(
        &self,
        cluster: &Cluster,
        target: &ObjectRef,
        live: &Json,
    ) -> Result<(), Box<Diagnostic>> {
        let id = self.state.text("id");
        let found = stamp::id_of(live);
        if self.private.flag(IMPORTED) || found == id {
            return Ok(());
        }
        if whereabouts::is_elsewhere(&self.private, cluster).await {
            return Err(Box::new(whereabouts::elsewhere(&target.to_string())));
        }
        match found {
            None => Ok(()),
            Some(found) => Err(Box::new(conflict(target, id.unwrap_or_default(), found))),
        }
    }

    /// Updates the computed attributes from the object; configured ones stay.
    fn update(&mut self, target: &ObjectRef, live: Json) {
        self.private.set_flag(STALE_READ, false);
        if self.private.flag(BODY_MISSING) {
            self.state.set("yaml_body", import::yaml_of(&live));
            self.private.set_flag(BODY_MISSING, false);
        }
        if self.private.flag(IMPORTED) && stamp::id_of(&live) == self.state.text("id") {
            self.private.set_flag(IMPORTED, false);
        }
        // The projection in the state is from the last apply and is about to be replaced.
        if !self.private.has_baseline()
            && let Some(baseline) = former_baseline(&self.state, &self.private)
        {
            self.private.adopt_baseline(&baseline);
        }
        wait_for::refresh(&mut self.state, &mut self.private, &live);
        let Some(body) = attributes::body(&self.state) else { return };
        let (manager, ignored) = (manager(), attributes::ignored(&self.state));
        match Observed::new(live) {
            Ok(live) => {
                let mut maps = Maps::of(&live, &Desired::new(&manager, &body.value).ignoring(&ignored));
                self.private.set_flag(PENDING_PROJECTION, false);
                if stamp::id_of(live.object()).is_none() && !self.private.flag(IMPORTED) {
                    self.diagnostics.add(unstamped(target));
                    // A difference makes the next apply restore the annotations.
                    maps.values.clear();
                }
                self.state.set("managed_state_projection", projection::attribute(&maps.values));
                self.state.set("managed_fields", projection::attribute(&maps.managers));
            }
            Err(_) if self.private.flag(PENDING_PROJECTION) => {
                self.state.set("managed_state_projection", Value::Object(Object::new()));
                self.state.set("managed_fields", Value::Object(Object::new()));
            }
            Err(error) => self.diagnostics.add(projection_failed(target, &error)),
        }
    }
}

fn conflict(target: &ObjectRef, expected: &str, actual: &str) -> Diagnostic {
    Diagnostic::error(codes::OWNERSHIP_CONFLICT, "Resource Ownership Conflict")
        .detail(format!(
            "{target} belongs to another k8sconnect_object.\n\nExpected id: {expected}\nActual id: {actual}\n\nAnother state \
             created or imported it, or two resources name the same object."
        ))
        .object(target.to_string())
        .help(format!(
            "kubectl get {} {} -o jsonpath='{{.metadata.annotations}}'",
            target.kind().to_lowercase(),
            target.name
        ))
        .hint("Remove it from one of the two with `terraform state rm`.")
}

fn unstamped(target: &ObjectRef) -> Diagnostic {
    Diagnostic::warning(codes::ANNOTATIONS_MISSING, "Resource Annotations Missing - Will Restore")
        .detail(format!(
            "The annotations that tie {target} to its resource were removed. The next apply restores them."
        ))
        .object(target.to_string())
        .hint("If it happens again, find out what removes them.")
}
