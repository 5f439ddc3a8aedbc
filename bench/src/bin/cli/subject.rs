//! What is applied: objects as applications have them, in a namespace of their own.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bench::Outcome;

use crate::cli::program::{Program, time};

/// The objects of one contestant.
pub(crate) struct Subject {
    pub(crate) namespace: String,
    pub(crate) file: PathBuf,
}

impl Subject {
    pub(crate) fn new(name: &str, folder: &Path, objects: usize) -> Outcome<Self> {
        let namespace = format!("bench-{name}-{}", std::process::id());
        time(Command::new("kubectl").args(["create", "namespace", &namespace]))?;
        let subject = Self { file: folder.join(format!("{name}.yaml")), namespace };
        subject.write(objects)?;
        Ok(subject)
    }

    /// Has its file contain this many objects.
    pub(crate) fn write(&self, objects: usize) -> Outcome<()> {
        Ok(fs::write(&self.file, yaml(&self.namespace, objects)?)?)
    }

    /// A command of `program` about its objects.
    pub(crate) fn command(&self, program: &Program, arguments: &[&str]) -> Command {
        let mut command = program.command();
        command.args(arguments).arg("-f").arg(&self.file);
        command
    }

    /// The same for an apply of a set, which deletes what is no longer in the file.
    pub(crate) fn pruning(&self, program: &Program, arguments: &[&str]) -> Command {
        let mut command = self.command(program, arguments);
        command.args(["--applyset=bench", "--prune", "--namespace", &self.namespace]);
        command.env("KUBECTL_APPLYSET", "true");
        command
    }

    pub(crate) fn remove(&self) -> Outcome<()> {
        time(Command::new("kubectl").args(["delete", "namespace", &self.namespace, "--wait=false"]))?;
        Ok(())
    }
}

/// Settings and Deployments; the latter paused, so that only the API server works and no controller beside it.
fn yaml(namespace: &str, objects: usize) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for number in 0..objects {
        if number % 5 == 0 {
            write!(
                text,
                "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app-{number}\n  namespace: {namespace}\n\
                 spec:\n  replicas: 0\n  paused: true\n  selector:\n    matchLabels: {{app: app-{number}}}\n  template:\n    \
                 metadata:\n      labels: {{app: app-{number}}}\n    spec:\n      containers:\n      - name: web\n        \
                 image: nginx:1.27\n        ports:\n        - containerPort: 8080\n        env:\n        - {{name: MODE, \
                 value: production}}\n"
            )?;
        } else {
            write!(
                text,
                "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings-{number}\n  namespace: {namespace}\n  \
                 labels: {{app: bench, number: \"{number}\"}}\ndata:\n  host: service-{number}.example.org\n  port: \"8080\"\n  \
                 mode: production\n  retries: \"3\"\n  text: |\n    a longer text\n    of two lines\n"
            )?;
        }
    }
    Ok(text)
}
