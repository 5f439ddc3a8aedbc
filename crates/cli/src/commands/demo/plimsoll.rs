//! Applies and plans the demo with plimsoll itself if Terraform is not installed: by the commands that the demo prints.

use std::fs;
use std::path::{Path, PathBuf};

use cluster::Session;
use manifest::ObjectRef;
use sandbox::Layout;
use serde_json::Value;
use tokio::process::Command;

use super::events::wait_for;
use super::processes::Processes;
use super::{CLAIM, COMPOSITION, DEFINITION, FRONT, examples, untrue};
use crate::support::exit::Failure;

/// The folder of the manifests, as the printed commands name it.
const MANIFESTS: &str = "demo";

/// The objects of the demo as files, and the program that applies them.
pub(super) struct Plimsoll {
    program: PathBuf,
    /// Where the commands run.
    folder: PathBuf,
    kubeconfig: PathBuf,
    objects: Vec<(ObjectRef, Value)>,
}

impl Plimsoll {
    /// Writes the manifests.
    pub(super) fn set_up(processes: &Processes, layout: &Layout) -> Result<Self, Failure> {
        let folder = processes.folder.join("plimsoll");
        fs::create_dir_all(folder.join(MANIFESTS))?;
        let claim = CLAIM.replace("${compartment}", &processes.compartment);
        let mut objects = Vec::new();
        for (name, text) in [
            ("definition.yaml", DEFINITION),
            ("composition.yaml", COMPOSITION),
            ("claim.yaml", &claim),
            ("front.yaml", FRONT),
        ] {
            fs::write(folder.join(MANIFESTS).join(name), text)?;
            objects.extend(examples::objects(name, text)?);
        }
        let (program, kubeconfig) = (processes.program().to_owned(), layout.kubeconfig());
        Ok(Self { program, folder, kubeconfig, objects })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The arguments of `apply` or `plan`.
    pub(super) fn arguments(verb: &str) -> Vec<&str> {
        let mut arguments = vec![verb, "--filename", MANIFESTS];
        if verb == "plan" {
            arguments.push("--force-conflicts");
        }
        arguments
    }

    pub(super) async fn apply(&self, session: &Session) -> Result<String, Failure> {
        self.run("apply", &[0]).await?;
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

    /// What `plimsoll plan` prints.
    pub(super) async fn drift(&self) -> Result<String, Failure> {
        self.run("plan", &[2]).await
    }

    /// The data that a command prints, which has to end with one of these exit statuses.
    async fn run(&self, verb: &str, expected: &[i32]) -> Result<String, Failure> {
        let mut command = Command::new(&self.program);
        command
            .args(Self::arguments(verb))
            .current_dir(&self.folder)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("COLUMNS", "100")
            .env("NO_COLOR", "1")
            .kill_on_drop(true);
        let output = command.output().await?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.code().is_some_and(|code| expected.contains(&code)) {
            return Ok(text(&output.stdout));
        }
        let printed = format!("{}{}", text(&output.stdout), text(&output.stderr));
        Err(untrue(format!("`plimsoll {verb}` ended with {}:\n{printed}", output.status)))
    }

    fn target(&self, kind: &str) -> &ObjectRef {
        let found = self.objects.iter().find(|(target, _)| target.kind() == kind);
        &found.expect("a kind of the examples").0
    }
}
