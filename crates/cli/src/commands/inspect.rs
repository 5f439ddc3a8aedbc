//! `plimsoll inspect`: one reconcile of an XR, step by step.

mod view;

use cluster::Class;
use diag::Diagnostic;
use manifest::{GroupVersionKind, Namespace, ObjectRef};
use operator::composition::recording::Recording;
use operator::composition::requests::{InspectQuestion, Operation};
use serde_json::{Value, json};

use crate::args::cluster::TypeName;
use crate::args::inspect::Inspect;
use crate::codes;
use crate::support::ask::{Ask, OpenRequests};
use crate::support::connect::{Cluster, missing};
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::printer::{Printer, object_name};
use crate::support::process::until_interrupted_then;

/// The version of `-o json`. Additions do not change it.
const SCHEMA: &str = "plimsoll.dev/recording/v1";

const ADVICE: &str = "Start the operator (`plimsoll install`, or `plimsoll operator`); `plimsoll render` runs functions without one.";

pub(super) fn run(args: &Inspect, printer: &mut Printer) -> Outcome {
    let open = OpenRequests::default();
    let work = async {
        let cluster = Cluster::connect(&args.cluster)?;
        let target = cluster.target(&type_name(&args.object)?).await?;
        let xr = composite(&cluster, target).await?;
        let spinner = printer.spinner();
        spinner.set_message(format!("waiting for the operator to reconcile {xr}"));
        // A request is written where the XR is: who may change the XR may probably write there.
        let namespace = xr.namespace.clone().unwrap_or_else(|| cluster.namespace.clone());
        let ask = Ask::new(&cluster, args.timeout, &open, ADVICE).await?.in_namespace(namespace);
        let question = InspectQuestion { xr: (&xr).into() };
        let recording: Recording = ask.answer(Operation::Inspect, &question).await?;
        spinner.finish_and_clear();
        let mut data = json!(recording);
        data["schema"] = SCHEMA.into();
        data["object"] = json!(question.xr);
        printer
            .output(&data, [object_name(&xr)], |printer| view::show(printer, &xr, &recording, args.full))?;
        if let Some(note) = view::trimmed(&recording) {
            printer.message(note);
        }
        Ok(if recording.failure.is_none() { Exit::Success } else { Exit::Failure })
    };
    until_interrupted_then(work, open.delete())
}

fn type_name(words: &[String]) -> Result<TypeName, Failure> {
    let unclear = |why: &str| {
        Diagnostic::error(codes::OBJECTS_UNCLEAR, why)
            .hint("Name one XR or claim, as in `xdatabase/orders` or `xdatabase orders`.")
    };
    match words {
        [one] => one.parse().map_err(|why: String| unclear(&why).into()),
        [kind, name] if !kind.contains('/') && !name.contains('/') => {
            Ok(TypeName { kind: kind.clone(), name: name.clone() })
        }
        _ => Err(unclear("TYPE/NAME and TYPE NAME cannot be mixed").into()),
    }
}

/// The XR itself, or the one that a claim is bound to.
async fn composite(cluster: &Cluster, target: ObjectRef) -> Result<ObjectRef, Failure> {
    let no_composite = |why: &str| {
        Diagnostic::error(codes::NO_COMPOSITE, format!("{target} is not an XR")).detail(why).hint(
            "Name an XR, or a claim that is bound to one; `plimsoll tree` shows what an object belongs to.",
        )
    };
    // Kubernetes' own kinds are defined by no XRD.
    if !target.group().contains('.') || target.group().ends_with(".k8s.io") {
        return Err(no_composite("No functions run for objects of this kind.").into());
    }
    let object = match cluster.session.read(&target).await {
        Ok(Some(found)) => found.object,
        Ok(None) => return Err(missing(&target).into()),
        // The user of a claim may know the XR by name only; the operator says what is allowed.
        Err(error) if error.class() == Class::InsufficientPermissions => return Ok(target),
        Err(error) => return Err(error.diagnostic("Inspect").into()),
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let reference = &object["spec"]["resourceRef"];
    if reference.is_object() && object["spec"].get("claimRef").is_none() {
        let kind = text(&reference["apiVersion"]).parse().ok();
        let kind = kind.and_then(|version| GroupVersionKind::new(version, &text(&reference["kind"])).ok());
        let name = text(&reference["name"]);
        return match kind.filter(|_| !name.is_empty()) {
            Some(kind) => {
                let namespace = reference["namespace"].as_str().and_then(Namespace::new);
                Ok(ObjectRef::new(kind, namespace, name))
            }
            None => Err(no_composite("It is a claim that is not bound to an XR yet.").into()),
        };
    }
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_object_is_named_as_for_kubectl() {
        let check = |words: &[&str], expected: Option<(&str, &str)>| {
            let words: Vec<String> = words.iter().map(|&word| word.into()).collect();
            let found = type_name(&words).ok();
            let parts = found.as_ref().map(|name| (name.kind.as_str(), name.name.as_str()));
            assert_eq!(parts, expected, "{words:?}");
        };
        check(&["xapp/web"], Some(("xapp", "web")));
        check(&["xapp", "web"], Some(("xapp", "web")));
        check(&["xapp"], None);
        check(&["xapp/web", "api"], None);
    }
}
