//! `plimsoll create`: creates objects, also those whose names the API server generates.

use cluster::{Error, Reply, Session, Write};
use diag::Diagnostic;
use manifest::ObjectRef;
use serde_json::{Value, json};

use crate::args::create::Create;
use crate::support::batch::resolve::{self, ResolvedObject};
use crate::support::concurrency::all;
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Outcome};
use crate::support::files;
use crate::support::in_flight::InFlight;
use crate::support::object_json;
use crate::support::owner_tree::reference_of;
use crate::support::printer::{BAD, GOOD, Printer, object_name};
use crate::support::process::until_interrupted;
use crate::support::refusal;

pub(super) fn run(args: &Create, printer: &mut Printer) -> Outcome {
    until_interrupted(async {
        let loaded = files::load_new(&args.files).await?.bodies(args.strip);
        let cluster = Cluster::connect(&args.cluster)?;
        let (objects, problems) = resolve::resolve_all(&cluster, loaded, "Create").await?;
        // Half of the files may be worse than nothing, as for an apply.
        if let Some((first, others)) = problems.split_first() {
            for problem in others {
                printer.diagnostic(problem);
            }
            return Err(first.clone().into());
        }
        let in_flight = InFlight::new(printer.progress(objects.len(), "creating"));
        let session = &cluster.session;
        let created = objects.iter().map(|object| {
            in_flight.track(&object.target, async {
                let created = create(session, object, &objects, Write::by(&args.field_manager)).await;
                Created::of(object, created)
            })
        });
        let results = all(created).await;
        in_flight.finish();
        let data: Vec<Value> = results.iter().map(Created::to_json).collect();
        let names = results.iter().filter(|result| result.failure.is_none());
        printer.outcome(&data, names.map(|result| object_name(&result.target)), |printer| {
            results.iter().try_for_each(|result| printer.data(result.line()))
        })?;
        let failures: Vec<&Diagnostic> =
            results.iter().filter_map(|result| result.failure.as_ref()).collect();
        for failure in &failures {
            printer.diagnostic(failure);
        }
        Ok(if failures.is_empty() { Exit::Success } else { Exit::Failure })
    })
}

/// Creates an object, once the kind or the namespace that the same files create is there.
async fn create(
    session: &Session,
    object: &ResolvedObject,
    all: &[ResolvedObject],
    write: Write<'_>,
) -> Result<Reply, Error> {
    let attempt = || session.create(&object.target, &object.body, write);
    match attempt().await {
        Err(error) if error.dependency().is_some_and(|it| resolve::may_bring(all, &it, object)) => {
            session.when_possible(&object.target, attempt).await
        }
        created => created,
    }
}

/// What came of one object.
struct Created {
    /// With the name it got.
    target: ObjectRef,
    failure: Option<Diagnostic>,
}

impl Created {
    fn of(object: &ResolvedObject, created: Result<Reply, Error>) -> Self {
        match created {
            Ok(reply) => {
                let target = reference_of(&reply.object).unwrap_or_else(|| object.target.clone());
                Self { target, failure: None }
            }
            Err(error) => {
                let failure = refusal::of_object(&error, "Create", object, None);
                Self { target: object.target.clone(), failure: Some(failure) }
            }
        }
    }

    fn line(&self) -> String {
        match self.failure {
            None => format!("{GOOD}+ {}{GOOD:#}", self.target),
            Some(_) => format!("{BAD}! {} was not created{BAD:#}", self.target),
        }
    }

    fn to_json(&self) -> Value {
        object_json(&self.target, json!({ "created": self.failure.is_none() }))
    }
}
