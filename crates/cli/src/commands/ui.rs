//! `plimsoll ui`: what the commands show, in a browser, live.

mod object;
mod search;
mod timeline;

use std::time::Duration;

use diag::{Diagnostic, Source as Text};
use indicatif::ProgressBar;
use manifest::{Namespace, ObjectRef};
use serde_json::json;
use tokio::task::LocalSet;
use ui::{Answer, Options, Question, Server, Source, Target};

use crate::args::applyset::SetArgs;
use crate::args::cluster::TypeName;
use crate::args::plan::BodyArgs;
use crate::args::ui::Ui;
use crate::codes;
use crate::support::batch::writer::Writer;
use crate::support::batch::{Batch, Keep};
use crate::support::cloud_operation::in_cluster;
use crate::support::connect::Cluster;
use crate::support::definitions::Definitions;
use crate::support::exit::{Exit, Failure, Outcome, diagnose};
use crate::support::files;
use crate::support::printer::Printer;
use crate::support::process::{self, ShutdownSignals};

/// How long a page waits before it asks again for what it could not get.
const RETRY: Duration = Duration::from_secs(1);

pub(super) fn run(args: Ui, printer: &mut Printer) -> Outcome {
    let work = async {
        let mut signals = ShutdownSignals::listen()?;
        let cluster = Cluster::connect(&args.cluster)?;
        let context = args.cluster.kubeconfig.context.clone();
        let options = Options {
            listen: args.listen,
            hosts: args.host.clone(),
            cluster: context
                .or_else(|| cluster.session.server().map(ToString::to_string))
                .unwrap_or_default(),
            has_files: has_files(&args),
        };
        let server = Server::bind(options).await.map_err(|error| {
            diagnose(codes::SERVER_NOT_STARTED, &error).hint("Choose another address with --listen.")
        })?;
        printer.data(server.url())?;
        if !args.listen.ip().is_loopback() {
            printer.message(format_args!(
                "Other machines can reach {}. Every browser needs the token in the address; the connection is not encrypted.",
                args.listen
            ));
        }
        printer.message("Open the address in a browser; press Ctrl-C to stop.");
        tokio::select! {
            served = server.serve(Page { cluster, args }) => served.map_err(Failure::Output)?,
            () = signals.recv() => {}
        }
        Ok(Exit::Success)
    };
    process::runtime()?.block_on(LocalSet::new().run_until(work))
}

fn has_files(args: &Ui) -> bool {
    !args.files.filenames.is_empty() || args.files.kustomize.is_some()
}

/// Answers the questions of the page as the commands do.
struct Page {
    cluster: Cluster,
    args: Ui,
}

impl Source for Page {
    async fn follow(&self, question: &Question, publish: &dyn Fn(Answer)) {
        let mut definitions = Definitions::default();
        loop {
            let outcome = match question {
                Question::Search(text) => {
                    search::follow(&self.cluster, &mut definitions, text, publish).await
                }
                Question::Object(target) => object::follow(self, target, publish).await,
                Question::Operations => self.operations(&mut definitions, publish).await,
                Question::Plan(text) => return publish(self.plan(text.as_deref()).await.map_err(described)),
            };
            let Err(failure) = outcome else { continue };
            publish(Err(described(failure)));
            tokio::time::sleep(RETRY).await;
            // The kind may have been defined meanwhile.
            self.cluster.session.invalidate_discovery();
        }
    }
}

impl Page {
    /// Ends when there may be other kinds.
    async fn operations(
        &self,
        definitions: &mut Definitions,
        publish: &dyn Fn(Answer),
    ) -> Result<(), Failure> {
        let kinds = self.cluster.session.resources().await;
        let kinds = kinds.map_err(|error| error.diagnostic("Operations"))?;
        definitions.look_at(&kinds);
        let mut informer = in_cluster::list(&self.cluster, None).await?;
        loop {
            let operations = in_cluster::to_json(&in_cluster::found(&informer.summaries()));
            let (unreadable, trouble) = (informer.unreadable(), informer.trouble());
            publish(Ok(json!({ "operations": operations, "unreadable": unreadable, "trouble": trouble })));
            tokio::select! {
                () = informer.changed() => {}
                () = definitions.changed(&self.cluster, &kinds) => return Ok(()),
            }
        }
    }

    /// What an apply of the text, or of the files of the command line, would do.
    async fn plan(&self, text: Option<&str>) -> Result<serde_json::Value, Failure> {
        let files = || BodyArgs { files: self.args.files.clone(), strip: false, full: false };
        let loaded = match text {
            Some(text) => files::read_bodies(&Text::new("manifest", text)),
            None => files::load_bodies(&files()).await?,
        };
        let batch = Batch::resolve(loaded, &SetArgs::default(), &self.cluster, "Plan").await?;
        let writer = Writer::new(&self.args.writer)?;
        let batch = batch.read(&self.cluster.session, &writer, "Plan", Keep::Unsettled).await;
        let report = batch.preview(&self.cluster.session, &writer, ProgressBar::hidden()).await;
        Ok(report.to_json())
    }

    /// The object that a URL names.
    async fn locate(&self, target: &Target) -> Result<ObjectRef, Failure> {
        let typed = TypeName { kind: target.kind.clone(), name: target.name.clone() };
        let mut object = self.cluster.target(&typed).await?;
        if object.namespace.is_some()
            && let Some(namespace) = target.namespace.clone().and_then(Namespace::new)
        {
            object.namespace = Some(namespace);
        }
        Ok(object)
    }
}

fn described(failure: Failure) -> Box<Diagnostic> {
    match failure {
        // Its advice is about options of commands.
        Failure::Diagnostic(diagnostic) if diagnostic.code == codes::OBJECT_MISSING => {
            Box::new(Diagnostic::error(codes::OBJECT_MISSING, diagnostic.summary))
        }
        Failure::Diagnostic(diagnostic) => diagnostic,
        Failure::Output(error) => Box::new(diagnose(codes::ENVIRONMENT, &error)),
    }
}
