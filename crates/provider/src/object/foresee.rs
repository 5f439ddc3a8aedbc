//! Asking the cluster what an apply would do: a look at the object, and a dry run where something may have moved.

use cluster::{Class, Error, ErrorKind, Write};
use diag::{Diagnostic, Severity};
use fields::FieldSet;
use manifest::ObjectRef;
use serde_json::Value as Json;
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::value::Object;

use super::decide::{Answer, Outlook, projection_failed};
use super::stamp::{self, Stamp};
use super::{MANAGER, already, attributes, release, settled};
use crate::body::Body;
use crate::clusters::Cluster;
use crate::context::{self, Context, Reach};
use crate::private::{IMPORTED, Keys as _, STALE_READ};
use crate::situation::Situation;
use crate::whereabouts::{self, Moved};
use crate::{codes, report};

pub(super) async fn foresee(context: &Context, situation: &Situation) -> Result<Outlook, Diagnostics> {
    let blank = |target| Outlook::Blank { target, diagnostics: Diagnostics::new() };
    let Some(text) = situation.planned.text("yaml_body").filter(|text| !text.is_empty()) else {
        return Ok(blank(None));
    };
    let body =
        Body::parse(text).map_err(|problems| Diagnostics::from(problems).or_at(&Path::of("yaml_body")))?;
    if let Some(warning) = situation.prior.as_ref().and_then(|prior| another_object(prior, &body)) {
        return Ok(Outlook::Replace { paths: vec![Path::of("yaml_body")], warning: Box::new(warning) });
    }
    let own = situation.planned.get("cluster");
    let cluster = match context.reach(own) {
        Ok(Reach::Ready(cluster)) => cluster,
        Ok(Reach::NotYet) => return Ok(blank(None)),
        Ok(Reach::Nowhere) => return Err(Diagnostics::from(context::nowhere()).or_at(&Path::of("cluster"))),
        Err(error) => return Err(Diagnostics::from(error.diagnostic()).or_at(&Path::of("cluster"))),
    };
    let target = match cluster.session().resource(&body.gvk).await {
        Ok(resource) => body.target(resource.namespaced),
        Err(error) => return unanswered(&error, None),
    };
    let mut diagnostics = Diagnostics::new();
    if !situation.is_create() {
        match whereabouts::moved(context, situation, &cluster).await {
            Moved::No => {}
            Moved::Yes => {
                let warning = Box::new(whereabouts::replaced(
                    "The object will be deleted in the old cluster, with the connection in the state, and created in the new \
                     one.",
                ));
                return Ok(Outlook::Replace { paths: vec![Path::of("cluster")], warning });
            }
            Moved::Unproven => diagnostics.add(whereabouts::unproven("The object")),
        }
        cluster.mark_ours(&target);
    }
    // What is ignored is not shown, so as long as that is open, so is what is shown.
    if !situation.planned.get("ignore_fields").is_wholly_known() {
        return Ok(Outlook::Blank { target: Some(target), diagnostics });
    }
    let preview = Preview { situation, cluster: &cluster, body, target, diagnostics };
    preview.run().await
}

/// Everything that is known before the object itself is looked at.
struct Preview<'a> {
    situation: &'a Situation,
    cluster: &'a Cluster,
    body: Body,
    target: ObjectRef,
    diagnostics: Diagnostics,
}

impl Preview<'_> {
    async fn run(mut self) -> Result<Outlook, Diagnostics> {
        let Some(prior) = &self.situation.prior else { return self.of_create().await };
        let live = match self.cluster.look(&self.target).await {
            Ok(live) => live,
            Err(error) => return unanswered(&error, Some(self.target)),
        };
        if let Some(live) = &live {
            if self.is_settled(live) {
                return Ok(Outlook::Settled { target: self.target, diagnostics: self.diagnostics });
            }
            // The apply that may follow needs it again.
            self.cluster.remember(&self.target, live);
        }
        let ignored = attributes::ignored(&self.situation.planned);
        let mut sent = release::sent(&self.body.value, &ignored, live.as_ref());
        let mut released = FieldSet::new();
        if let Some(live) = &live {
            released = release::to_release(live, &self.body.value, &ignored)
                .map_err(|error| projection_failed(&self.target, &error))?;
            sent = release::with_live(&sent, live, &released);
            if let (Some(id), Some(created_at)) = (prior.text("id"), stamp::created_at_of(live)) {
                sent = Stamp { id: id.to_owned(), created_at: created_at.to_owned() }.put_on(&sent);
            }
        }
        match self.dry_run(&sent).await {
            Ok(planned) => {
                let Self { body, target, diagnostics, .. } = self;
                Ok(Outlook::Answer(Box::new(Answer {
                    target,
                    body,
                    ignored,
                    live,
                    planned,
                    released,
                    diagnostics,
                })))
            }
            Err(error) => match live.and_then(|live| error.immutable_fields(&sent, &live)) {
                Some(fields) => Ok(immutable(&self.target, &fields, &error)),
                None => unanswered(&error, Some(self.target)),
            },
        }
    }

    /// A create sends everything, also what is ignored later on.
    async fn of_create(mut self) -> Result<Outlook, Diagnostics> {
        let sent = self.body.value.clone();
        let write = Write::by(MANAGER).force().dry_run();
        match self.cluster.session().apply(&self.target, &sent, write).await {
            Ok(reply) if reply.created() => {
                self.cluster.mark_absent(&self.target);
                self.diagnostics.add(reply.diagnostics(&self.target));
                Ok(self.created(reply.object))
            }
            Ok(reply) => Ok(self.in_the_way(Some(reply.object)).await),
            // Only an object that exists has fields that cannot be changed.
            Err(error) if error.class() == Class::Immutable => Ok(self.in_the_way(None).await),
            Err(error) => unanswered(&error, Some(self.target)),
        }
    }

    /// What a create gives, of which `planned` is the object.
    fn created(self, planned: Json) -> Outlook {
        Outlook::Answer(Box::new(Answer {
            target: self.target,
            body: self.body,
            ignored: attributes::ignored(&self.situation.planned),
            live: None,
            planned,
            released: FieldSet::new(),
            diagnostics: self.diagnostics,
        }))
    }

    /// The object exists. If it was this state's own, it is about to be replaced; otherwise the apply will say that it is
    /// there. Until then `planned` is as good as what a create would give: when somebody has created the object since the
    /// first plan, Terraform would take less than that for a fault of the provider's.
    async fn in_the_way(mut self, planned: Option<Json>) -> Outlook {
        // What an earlier plan in this process saw is over.
        self.cluster.take_absent(&self.target);
        let replaced = self.cluster.was_ours(&self.target);
        if !replaced && let Ok(Some(live)) = self.cluster.session().read(&self.target).await {
            let error = already::found(&self.target, &live.object, &self.situation.planned);
            self.diagnostics.add(Diagnostic { severity: Severity::Warning, ..error });
        }
        match planned.filter(|_| !replaced) {
            Some(planned) => self.created(planned),
            None => Outlook::Blank { target: Some(self.target), diagnostics: self.diagnostics },
        }
    }

    /// What the server would answer to an apply.
    async fn dry_run(&mut self, sent: &Json) -> Result<Json, Error> {
        let write = Write::by(MANAGER).force().dry_run();
        let reply = self.cluster.session().apply(&self.target, sent, write).await?;
        self.diagnostics.add(reply.diagnostics(&self.target));
        Ok(reply.object)
    }

    fn is_settled(&self, live: &Json) -> bool {
        let private = &self.situation.private;
        let Some(before) = private.settled() else { return false };
        let ignore = attributes::ignore_list(&self.situation.planned);
        !private.flag(STALE_READ)
            && !private.flag(IMPORTED)
            && settled::hash(&self.body.value, &ignore, live).is_ok_and(|now| now == before)
    }
}

/// What an answer that is none means for a plan (decisions, seed 003, 5).
fn unanswered(error: &Error, target: Option<ObjectRef>) -> Result<Outlook, Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    match error.kind() {
        // They may come with the same apply.
        ErrorKind::NamespaceMissing { .. } => {}
        ErrorKind::KindMissing(missing) if plan::may_still_come(&missing.gvk) => {}
        ErrorKind::Unreachable(_) => return Err(error.diagnostic("Plan").into()),
        _ if error.is_server_trouble() => diagnostics.add(report::no_preview(error.diagnostic("Plan"))),
        _ => return Err(error.diagnostic("Plan").into()),
    }
    Ok(Outlook::Blank { target, diagnostics })
}

/// The warning that the body names another object than the state has. A namespace that is written out, and another
/// version of the same kind, name the same one.
fn another_object(prior: &Object, body: &Body) -> Option<Diagnostic> {
    let before = attributes::target(prior)?;
    // The same kind has the same scope.
    let now = body.target(before.namespace.is_some());
    let same_kind = before.group() == now.group() && before.kind() == now.kind();
    let namespace =
        |target: &ObjectRef| target.namespace.as_ref().map_or_else(String::new, ToString::to_string);
    let fields = [
        ("kind", before.kind().to_owned(), now.kind().to_owned()),
        (
            "apiVersion",
            before.api_version().to_string(),
            if same_kind { before.api_version().to_string() } else { now.api_version().to_string() },
        ),
        ("metadata.name", before.name.clone(), now.name.clone()),
        ("metadata.namespace", namespace(&before), namespace(&now)),
    ];
    let changed: Vec<String> = fields
        .iter()
        .filter(|(_, before, now)| before != now)
        .map(|(field, before, now)| format!("  {field}: {before:?} → {now:?}"))
        .collect();
    if changed.is_empty() {
        return None;
    }
    let identity = |target: &ObjectRef| match &target.namespace {
        Some(namespace) => format!("{} {namespace}/{}", target.gvk, target.name),
        None => format!("{} {}", target.gvk, target.name),
    };
    let detail = format!(
        "The body names another object:\n{}\n\nOld: {}\nNew: {}\n\nThe old object will be deleted and the new one created.",
        changed.join("\n"),
        identity(&before),
        identity(&now)
    );
    let title = "Resource Identity Changed - Replacement Required";
    Some(Diagnostic::warning(codes::IDENTITY_CHANGED, title).detail(detail))
}

fn immutable(target: &ObjectRef, fields: &[String], error: &Error) -> Outlook {
    let title = "Immutable Field Changed - Replacement Required";
    let warning = Diagnostic::warning(codes::IMMUTABLE_CHANGED, title)
        .detail(format!(
            "{target} will be deleted and created anew, because these fields cannot be changed: {}.\n\n{}",
            fields.join(", "),
            error.diagnostic("Plan").detail
        ))
        .object(target.to_string())
        .hint("Revert the change to keep the object.");
    // Where somebody else has made another object of it, the body is as it was; the projection is not.
    let paths = vec![Path::of("yaml_body"), Path::of("managed_state_projection")];
    Outlook::Replace { paths, warning: Box::new(warning) }
}

#[cfg(test)]
mod tests;
