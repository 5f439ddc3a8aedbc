//! Refreshes an object.

use cluster::Error;
use diag::Diagnostic;
use manifest::{ObjectRef, secret};
use ownership::{Desired, Observed};
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::private::Private;
use tfplugin::provider::{ReadRequest, ReadResponse};
use tfplugin::value::Object;

use super::decide::{former_baseline, projection_failed};
use super::{NO_CLIENT, annotations, attributes, import, manager, wait_for};
use crate::clusters::Cluster;
use crate::context::Context;
use crate::private::{BASELINE, BODY_MISSING, IMPORTED, Keys as _, MASK_KEY, PENDING_PROJECTION, STALE_READ};
use crate::projection::Maps;
use crate::{cluster_identity, codes, identity, refresh, write_only};

pub(super) async fn read(context: &Context, request: ReadRequest) -> ReadResponse {
    let cluster = match refresh::cluster(context, &request.state, NO_CLIENT) {
        Ok(cluster) => cluster,
        Err(diagnostics) => return refresh::unchanged(request, diagnostics),
    };
    let Some(target) = attributes::target(&request.state) else { return request.unchanged() };
    let live = match cluster.read(&target).await {
        Ok(Some(reply)) => reply,
        Ok(None) => return refresh::absent(request, &cluster, &target.to_string()).await,
        Err(error) if error.is_kind_absent() => {
            return refresh::absent(request, &cluster, &target.to_string()).await;
        }
        Err(error) => return unread(request, &error),
    };
    let diagnostics: Diagnostics = live.diagnostics(&target).into();
    let mut refresh = Refresh { state: request.state, private: request.private, diagnostics };
    if let Err(error) = refresh.check_owner(&cluster, &target, &live.object).await {
        refresh.diagnostics.add(*error);
    } else {
        cluster.cache(&target, &live.object);
        refresh.update(&target, live.object);
    }
    ReadResponse {
        state: Some(refresh.state),
        private: refresh.private,
        identity: Some(identity::of(&target)),
        diagnostics: refresh.diagnostics,
    }
}

fn unread(request: ReadRequest, error: &Error) -> ReadResponse {
    let diagnostic = refresh::prior_state_used(error).unwrap_or_else(|| error.diagnostic("Read"));
    let stale = !diagnostic.is_error();
    let mut response = refresh::unchanged(request, diagnostic);
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
        let found = annotations::id_of(live);
        if self.private.flag(IMPORTED) || found == id {
            return Ok(());
        }
        if cluster_identity::differs(&self.private, cluster).await {
            return Err(Box::new(cluster_identity::in_another_cluster(&target.to_string())));
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
        if self.private.flag(IMPORTED) && annotations::id_of(&live) == self.state.text("id") {
            self.private.set_flag(IMPORTED, false);
        }
        // A state of version 0.1 keeps its masks until the next apply, and has a baseline to compare them with.
        if secret::is_secret(&live) && !self.private.has(MASK_KEY) && !self.private.has(BASELINE) {
            self.private.renew_mask_key();
        }
        // The projection in the state is from the last apply and is about to be replaced.
        if !self.private.has(BASELINE)
            && let Some(baseline) = former_baseline(&self.state, &self.private)
        {
            self.private.adopt_baseline(&baseline);
        }
        wait_for::refresh(&mut self.state, &mut self.private, &live);
        let body = write_only::stored_body(attributes::body(&self.state), &self.private);
        let Some(body) = body else { return };
        let marks = write_only::stored(&self.private);
        let (manager, ignored) = (manager(), attributes::ignored(&self.state));
        match Observed::new(live).and_then(|live| write_only::hidden(live, marks.as_ref())) {
            Ok(live) => {
                let desired = Desired::new(&manager, &body.value).ignoring(&ignored);
                let mut maps = Maps::of(&live, &desired, &self.private.mask_key());
                if let Some(marks) = &marks {
                    write_only::show(&mut maps.values, marks, &live, &desired);
                }
                self.private.set_flag(PENDING_PROJECTION, false);
                if annotations::id_of(live.object()).is_none() && !self.private.flag(IMPORTED) {
                    self.diagnostics.add(annotations_missing(target));
                    // A difference makes the next apply restore the annotations.
                    maps.values.clear();
                }
                maps.set_on(&mut self.state);
            }
            Err(_) if self.private.flag(PENDING_PROJECTION) => {
                Maps::default().set_on(&mut self.state);
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

fn annotations_missing(target: &ObjectRef) -> Diagnostic {
    Diagnostic::warning(codes::ANNOTATIONS_MISSING, "Resource Annotations Missing - Will Restore")
        .detail(format!(
            "The annotations that tie {target} to its resource were removed. The next apply restores them."
        ))
        .object(target.to_string())
        .hint("If it happens again, find out what removes them.")
}
