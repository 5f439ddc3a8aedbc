//! `plimsoll create`: creates objects, also those whose names the API server generates.

use std::cell::RefCell;

use cluster::{Session, Write};
use diag::Diagnostic;
use manifest::ObjectRef;
use serde_json::{Value, json};

use crate::args::create::Create;
use crate::args::plan::DryRun;
use crate::codes;
use crate::support::batch::resolve::{self, ResolvedObject};
use crate::support::concurrency::until;
use crate::support::connect::Cluster;
use crate::support::exit::{Exit, Failure, Outcome};
use crate::support::files;
use crate::support::in_flight::InFlight;
use crate::support::object_json;
use crate::support::owner_tree::reference_of;
use crate::support::printer::{BAD, GOOD, PENDING, Printer, object_name};
use crate::support::process::{INTERRUPTED, interrupt, until_interrupted};
use crate::support::refusal;
use crate::support::report::finding;

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
        let results = {
            let (printer, unwritten) = (RefCell::new(&mut *printer), RefCell::new(None));
            let created = objects.iter().map(|object| {
                let work = in_flight.track(&object.target, create(session, object, &objects, args));
                let (in_flight, printer, unwritten) = (&in_flight, &printer, &unwritten);
                async move {
                    let created = work.await;
                    let shown = in_flight.beside(|| printer.borrow_mut().progress_line(created.line()));
                    // A closed terminal is not a reason to stop requests.
                    if let Err(error) = shown {
                        unwritten.borrow_mut().get_or_insert(error);
                    }
                    created
                }
            });
            let results = until(interrupt(), created).await;
            in_flight.finish();
            if let Some(error) = unwritten.into_inner() {
                return Err(Failure::from(error));
            }
            results
        };
        let data: Vec<Value> = results.iter().map(Created::to_json).collect();
        let names = results.iter().filter(|result| result.is_good());
        // People have seen each of them.
        printer.outcome(&data, names.map(|result| object_name(&result.target)), |_| Ok(()))?;
        let failures = results.iter().filter_map(|result| match &result.fate {
            Fate::Failed(why) => Some(why),
            _ => None,
        });
        failures.for_each(|why| printer.diagnostic(why));
        let left = objects.len() - results.len();
        if left > 0 {
            printer.diagnostic(&interrupted(left));
            return Ok(Exit::Passed(INTERRUPTED));
        }
        Ok(if results.iter().all(Created::is_good) { Exit::Success } else { Exit::Failure })
    })
}

fn interrupted(left: usize) -> Diagnostic {
    let objects = if left == 1 { "1 object was" } else { &format!("{left} objects were") };
    Diagnostic::error(codes::INTERRUPTED, format!("interrupted: {objects} not created"))
        .detail("Requests already sent may still take effect.")
        .hint("See which of them exist before you create the rest.")
}

/// Creates an object, once the kind or the namespace that the same files create is there.
async fn create(
    session: &Session,
    object: &ResolvedObject,
    all: &[ResolvedObject],
    args: &Create,
) -> Created {
    let write = Write::by(&args.field_manager);
    let is_dry_run = args.dry_run == DryRun::Server;
    let write = if is_dry_run { write.dry_run() } else { write };
    let attempt = || session.create(&object.target, &object.body, write);
    let mut reply = attempt().await;
    if let Err(error) = &reply
        && error.dependency().is_some_and(|it| resolve::may_bring(all, &it, object))
    {
        if is_dry_run {
            return Created { target: object.target.clone(), fate: Fate::Later };
        }
        reply = session.when_possible(&object.target, attempt).await;
    }
    match reply {
        Ok(reply) => {
            let target = reference_of(&reply.object).unwrap_or_else(|| object.target.clone());
            Created { target, fate: if is_dry_run { Fate::Possible } else { Fate::Created } }
        }
        Err(error) => {
            let why = refusal::of_object(&error, "Create", object, None);
            Created { target: object.target.clone(), fate: Fate::Failed(Box::new(why)) }
        }
    }
}

/// What came of one object.
struct Created {
    /// With the name it got.
    target: ObjectRef,
    fate: Fate,
}

enum Fate {
    Created,
    /// A dry run: it could be created.
    Possible,
    /// A dry run: what it needs is in the same files, so that the API server cannot say.
    Later,
    Failed(Box<Diagnostic>),
}

impl Created {
    const fn is_good(&self) -> bool {
        !matches!(self.fate, Fate::Failed(_))
    }

    fn line(&self) -> String {
        let target = &self.target;
        match self.fate {
            Fate::Created => format!("{GOOD}+ {target}{GOOD:#}"),
            Fate::Possible => format!("{GOOD}+ {target} would be created{GOOD:#}"),
            Fate::Later => format!("{PENDING}? {target} would be created after what it needs{PENDING:#}"),
            Fate::Failed(_) => format!("{BAD}! {target} was not created{BAD:#}"),
        }
    }

    fn to_json(&self) -> Value {
        let mut fields = json!({ "created": matches!(self.fate, Fate::Created) });
        match &self.fate {
            Fate::Created => {}
            Fate::Possible => fields["dryRun"] = "possible".into(),
            Fate::Later => fields["dryRun"] = "later".into(),
            Fate::Failed(why) => fields["finding"] = finding(why),
        }
        object_json(&self.target, fields)
    }
}
