//! What is applied: 500 objects as applications have them, in a namespace of their own.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, time};

/// How many objects there are.
pub(crate) const OBJECTS: usize = 500;

/// The objects of one contestant.
pub(crate) struct Subject {
    pub(crate) namespace: String,
    pub(crate) file: PathBuf,
}

impl Subject {
    pub(crate) fn new(name: &str, folder: &Path) -> Outcome<Self> {
        let namespace = format!("bench-{name}-{}", std::process::id());
        time(kubectl(&["create", "namespace", &namespace]))?;
        let file = folder.join(format!("{name}.yaml"));
        fs::write(&file, objects(&namespace)?)?;
        Ok(Self { namespace, file })
    }

    pub(crate) fn remove(&self) -> Outcome<()> {
        time(kubectl(&["delete", "namespace", &self.namespace, "--wait=false"])).map(drop)
    }
}

fn kubectl(arguments: &[&str]) -> Command {
    let mut command = Command::new("kubectl");
    command.args(arguments);
    command
}

/// Settings and Deployments; the latter paused, so that only the API server works and no controller beside it.
fn objects(namespace: &str) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    for number in 0..OBJECTS {
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
