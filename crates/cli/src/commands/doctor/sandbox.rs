//! Checks what a sandbox needs, and those that there are.

use sandbox::{CONTROL_PLANE, Environment, SandboxState};

use super::{Finding, Status};

pub(super) fn check() -> Vec<Finding> {
    match Environment::from_process() {
        Err(error) => vec![Finding::new("folders", Status::Broken, error.to_string())],
        Ok(environment) => vec![control_plane(&environment), sandboxes(&environment)],
    }
}

fn control_plane(environment: &Environment) -> Finding {
    const SUBJECT: &str = "control plane";
    if let Some(assets) = &environment.assets {
        return Finding::new(SUBJECT, Status::Good, format!("from KUBEBUILDER_ASSETS, {}", assets.display()));
    }
    if let Some(folder) = sandbox::installed(environment) {
        return Finding::new(SUBJECT, Status::Good, format!("installed in {}", folder.display()));
    }
    if let Some(folder) = environment.releases.iter().find(|folder| folder.exists()) {
        let found = format!("{} is not complete, or of another release", folder.display());
        return Finding::new(SUBJECT, Status::Odd, found)
            .advise("Unpack the archive plimsoll-control-plane of the same release there.");
    }
    match CONTROL_PLANE.cached(&environment.cache) {
        Some(folder) => Finding::new(SUBJECT, Status::Good, format!("built in {}", folder.display())),
        None => Finding::new(SUBJECT, Status::Absent, "not built yet")
            .advise("`plimsoll sandbox up --detach` builds it in four to six minutes."),
    }
}

fn sandboxes(environment: &Environment) -> Finding {
    const SUBJECT: &str = "sandboxes";
    match sandbox::list(environment) {
        Err(error) => Finding::new(SUBJECT, Status::Broken, error.to_string()),
        Ok(all) if all.is_empty() => Finding::new(SUBJECT, Status::Good, "none"),
        Ok(all) => {
            let shown: Vec<String> =
                all.iter().map(|status| format!("{} {}", status.name, status.state.as_str())).collect();
            let healthy =
                all.iter().all(|status| matches!(status.state, SandboxState::Ready | SandboxState::Starting));
            let finding =
                Finding::new(SUBJECT, if healthy { Status::Good } else { Status::Odd }, shown.join(", "));
            if healthy { finding } else { finding.advise("`plimsoll sandbox down --name NAME` cleans up.") }
        }
    }
}
