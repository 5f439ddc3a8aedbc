//! Who writes, and what becomes of the fields that other managers hold.

use std::borrow::Cow;

use cluster::{Class, Error, FieldConflict, Reply, Session, Write};
use diag::Diagnostic;
use fields::{FieldPath, IgnoreFields, PathElement, Schema};
use manifest::ObjectRef;
use ownership::{Desired, FieldManager, Handover, Observed};
use serde_json::Value;

use crate::args::Format;
use crate::args::plan::{LeaveArgs, WriterArgs};
use crate::codes;
use crate::support::exit::Failure;

/// How often fields are taken again from managers that keep changing the object.
const ATTEMPTS: usize = 5;

/// The arguments about managers, understood.
pub(crate) struct Writer {
    pub(crate) manager: FieldManager,
    /// Whether all fields are taken from other managers.
    force: bool,
    /// The fields to take from other managers.
    take: IgnoreFields,
    /// The managers to take all their fields from.
    take_from: Vec<FieldManager>,
    /// The fields to leave to other managers.
    ignore: IgnoreFields,
    /// The managers to leave all their fields to.
    leave_to: Vec<FieldManager>,
    /// What is left to others, as the user named it.
    pub(crate) left_names: Vec<String>,
    /// Whether reports have whole objects.
    pub(crate) keeps_whole: bool,
}

impl Writer {
    pub(crate) fn new(args: &WriterArgs) -> Result<Self, Failure> {
        let writer = Self::by(&args.field_manager, &args.leave)?;
        let take = patterns(&args.take, "--take")?;
        Ok(Self { force: args.force_conflicts, take, take_from: managers(&args.take_from), ..writer })
    }

    /// A writer that respects other managers.
    pub(crate) fn by(manager: &str, leave: &LeaveArgs) -> Result<Self, Failure> {
        if leave.leave_to.iter().any(|other| other == manager) {
            let title = format!("--leave-to {manager} names the manager that applies");
            return Err(Diagnostic::error(codes::OPTION_UNUSABLE, title)
                .hint("Name another manager; `plimsoll owners` shows who holds which field.")
                .into());
        }
        Ok(Self {
            manager: FieldManager::new(manager),
            force: false,
            take: IgnoreFields::default(),
            take_from: Vec::new(),
            ignore: patterns(&leave.ignore, "--ignore")?,
            leave_to: managers(&leave.leave_to),
            left_names: [&leave.ignore[..], &leave.leave_to].concat(),
            keeps_whole: false,
        })
    }

    /// The same for this output format.
    pub(crate) fn for_format(self, format: Format) -> Self {
        Self { keeps_whole: format == Format::Diff, ..self }
    }

    /// The same, taking all fields from other managers.
    pub(crate) fn forced(self) -> Self {
        Self { force: true, ..self }
    }

    pub(crate) fn write(&self) -> Write<'_> {
        let write = Write::by(self.manager.as_str());
        if self.force { write.force() } else { write }
    }

    /// The fields of a live object that are left to other managers, if there are any.
    pub(crate) fn left(&self, live: Option<&Observed>) -> Option<IgnoreFields> {
        let live = live?;
        let held = self.leave_to.iter().flat_map(|manager| live.held_by(manager).leaves().paths());
        let held = held.filter_map(|path| IgnoreFields::naming(&path.notation().to_string()).ok());
        let left = held.fold(self.ignore.clone(), IgnoreFields::and);
        (!left.is_empty()).then_some(left)
    }

    pub(crate) fn desired<'a>(&'a self, body: &'a Value, left: Option<&'a IgnoreFields>) -> Desired<'a> {
        let desired = Desired::new(&self.manager, body);
        match left {
            Some(left) => desired.ignoring(left),
            None => desired,
        }
    }

    /// What is sent for an object.
    pub(crate) fn body<'a>(&self, body: &'a Value, live: Option<&Observed>) -> Cow<'a, Value> {
        match self.left(live) {
            Some(left) => Cow::Owned(plan::body_to_send(&self.desired(body, Some(&left)), live)),
            None => Cow::Borrowed(body),
        }
    }

    /// What is sent for a dry run, which cannot give up fields before.
    pub(crate) fn body_for_dry_run<'a>(&self, body: &'a Value, live: Option<&Observed>) -> Cow<'a, Value> {
        match (self.left(live), live) {
            (Some(left), Some(live)) => {
                let desired = self.desired(body, Some(&left));
                let released = plan::to_release(&desired, live.managed(), live.schema());
                Cow::Owned(plan::body_for_dry_run(&desired, live, &released))
            }
            _ => Cow::Borrowed(body),
        }
    }

    /// Gives up holding what is left to others: an apply without it would delete what only we hold.
    pub(crate) async fn release(
        &self,
        session: &Session,
        target: &ObjectRef,
        body: &Value,
        live: Option<&Observed>,
    ) -> Result<(), Error> {
        let (Some(left), Some(live)) = (self.left(live), live) else { return Ok(()) };
        let edit = |live: &Observed| {
            let released = plan::to_release(&self.desired(body, Some(&left)), live.managed(), live.schema());
            Handover::of(live).release(&self.manager, &released).patch()
        };
        let again = |live: Value| edit(&Observed::new(live).ok()?);
        let write = Write::by(self.manager.as_str());
        session.edit_managed_fields(target, write, edit(live), again).await.map(drop)
    }

    /// Whether an apply over `live` is a single request.
    pub(crate) fn needs_one_write(&self, live: &Observed) -> bool {
        !self.takes_some() && self.left(Some(live)).is_none()
    }

    /// Applies `body` only to the object as it is in `live`, as far as `body` is about it.
    pub(crate) async fn apply_to(
        &self,
        session: &Session,
        target: &ObjectRef,
        body: &Value,
        live: &Observed,
    ) -> Result<Reply, Error> {
        let planned = plan::snapshot(body, &self.manager, live);
        let mut version = live.object()["metadata"]["resourceVersion"].clone();
        let mut attempt = 1;
        loop {
            let mut body = body.clone();
            body["metadata"]["resourceVersion"] = version;
            let error = match session.apply(target, &body, self.write()).await {
                Err(error) if error.class() == Class::Outdated && attempt < ATTEMPTS => error,
                reply => return reply,
            };
            attempt += 1;
            // Its status may have changed, which does not matter.
            let Some(found) = session.read(target).await? else { return Err(error) };
            version = found.object["metadata"]["resourceVersion"].clone();
            body["metadata"].as_object_mut().and_then(|metadata| metadata.remove("resourceVersion"));
            let now = Observed::new(found.object);
            if !now.is_ok_and(|now| plan::snapshot(&body, &self.manager, &now) == planned) {
                return Err(error);
            }
        }
    }

    /// Whether some fields are to be taken, but not all.
    fn takes_some(&self) -> bool {
        !self.take.is_empty() || !self.take_from.is_empty()
    }

    /// Whether a conflict is over a field of `body` that is to be taken.
    pub(crate) fn takes(&self, conflict: &FieldConflict, body: &Value, live: Option<&Observed>) -> bool {
        if self.take_from.iter().any(|manager| manager.as_str() == conflict.manager) {
            return true;
        }
        if self.take.is_empty() {
            return false;
        }
        let built_in = Schema::of(body);
        let schema = live.map_or(&built_in, Observed::schema);
        let taken = self.take.on(body, schema);
        let written = fields::written(body, schema).paths();
        written.iter().any(|path| as_server_prints(path) == conflict.field && taken.contains(path))
    }

    /// Applies `body`, and takes the fields that are to be taken, but no others: the API server can only force all of
    /// them. So a forced apply is for the version of the object whose conflicts are known.
    pub(crate) async fn apply(
        &self,
        session: &Session,
        target: &ObjectRef,
        body: &Value,
        live: Option<&Observed>,
    ) -> Result<Reply, Error> {
        let settle = |error: Error| error.overlooking(|conflict| self.takes(conflict, body, live));
        let is_conflict = |error: &Error| error.class() == Class::FieldManagerConflict;
        let mut conflict = match session.apply(target, body, self.write()).await {
            Err(error) if is_conflict(&error) && self.takes_some() => error,
            reply => return reply,
        };
        for _ in 0..ATTEMPTS {
            if let Some(left) = settle(conflict.clone()) {
                return Err(left);
            }
            let Some(found) = session.read(target).await? else { break };
            let mut body = body.clone();
            body["metadata"]["resourceVersion"] = found.object["metadata"]["resourceVersion"].clone();
            match session.apply(target, &body, self.write()).await {
                Err(error) if is_conflict(&error) => match settle(error.clone()) {
                    Some(left) => return Err(left),
                    None => conflict = error,
                },
                Err(error) if error.class() == Class::Outdated => continue,
                reply => return reply,
            }
            match session.apply(target, &body, self.write().force()).await {
                Err(error) if error.class() == Class::Outdated => {}
                reply => return reply,
            }
        }
        Err(conflict)
    }
}

fn managers(names: &[String]) -> Vec<FieldManager> {
    names.iter().map(|name| FieldManager::new(name.as_str())).collect()
}

/// The patterns of an option.
fn patterns(texts: &[String], option: &str) -> Result<IgnoreFields, Failure> {
    texts.iter().try_fold(IgnoreFields::default(), |patterns, text| {
        let pattern = IgnoreFields::naming(text).map_err(|error| {
            Diagnostic::error(codes::OPTION_UNUSABLE, format!("{option} {text} is not a path to fields"))
                .detail(format!("Cause: {error}."))
                .hint("Write a path such as spec.replicas, spec.containers[name=\"web\"].image or metadata.annotations[*].")
        })?;
        Ok(patterns.and(pattern))
    })
}

/// A path as the API server prints it in a conflict: names with dots are not quoted.
fn as_server_prints(path: &FieldPath) -> String {
    let mut text = String::new();
    for element in path.elements() {
        match element {
            PathElement::Field(name) => {
                text.push_str(if text.is_empty() { "" } else { "." });
                text.push_str(name);
            }
            item => {
                let item: FieldPath = [item.clone()].into_iter().collect();
                text.push_str(&item.notation().to_string());
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn writer(take: &[&str], ignore: &[&str], leave_to: &[&str]) -> Writer {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let args = WriterArgs {
            field_manager: "us".to_owned(),
            force_conflicts: false,
            take: texts(take),
            take_from: texts(&["gone"]),
            leave: LeaveArgs { ignore: texts(ignore), leave_to: texts(leave_to) },
        };
        Writer::new(&args).unwrap_or_else(|_| panic!("the patterns are valid"))
    }

    fn body() -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": "web", "labels": { "a.b/c": "d" } },
            "spec": { "replicas": 3, "template": { "spec": { "containers": [{ "name": "web", "image": "w:1" }] } } },
        })
    }

    #[test]
    fn a_conflict_is_matched_as_the_server_prints_it() {
        let check = |take: &str, field: &str, expected: bool| {
            let conflict = FieldConflict { field: field.to_owned(), manager: "them".to_owned() };
            assert_eq!(writer(&[take], &[], &[]).takes(&conflict, &body(), None), expected, "{take} {field}");
        };
        let image = r#"spec.template.spec.containers[name="web"].image"#;
        check("spec.replicas", "spec.replicas", true);
        check("spec.replicas", image, false);
        check(image, image, true);
        check("spec.template.spec.containers[*].image", image, true);
        check("spec", image, true);
        let of_the_gone = FieldConflict { field: image.to_owned(), manager: "gone".to_owned() };
        assert!(writer(&[], &[], &[]).takes(&of_the_gone, &body(), None));
        check(r#"metadata.labels["a.b/c"]"#, "metadata.labels.a.b/c", true);
    }

    #[test]
    fn fields_are_left_to_others_by_pattern_and_by_manager() {
        let mut object = body();
        object["metadata"]["managedFields"] = json!([{
            "manager": "hpa", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
            "subresource": "scale", "fieldsV1": { "f:spec": { "f:replicas": {} } },
        }]);
        let live = Observed::new(object).unwrap();
        let check = |writer: &Writer, replicas: bool, labels: bool| {
            let body = body();
            let sent = writer.body(&body, Some(&live));
            assert_eq!(sent["spec"].get("replicas").is_some(), replicas);
            assert_eq!(sent["metadata"].get("labels").is_some(), labels);
        };
        check(&writer(&[], &[], &[]), true, true);
        check(&writer(&[], &["spec.replicas"], &[]), false, true);
        check(&writer(&[], &["metadata.labels[*]"], &[]), true, false);
        check(&writer(&[], &[], &["hpa"]), false, true);
        check(&writer(&[], &[], &["other"]), true, true);
        // A new object is created as it was written.
        assert_eq!(*writer(&[], &["spec.replicas"], &[]).body(&body(), None), body());
    }
}
