//! What Terraform was started for, from the command line of the process that started the provider.
//!
//! Two things that matter to a user are not in the protocol. A plain `terraform destroy` first makes an ordinary plan, to
//! refresh the state, and nothing says that it is never applied. And an apply repeats the plan of what was unknown, but
//! must not find a replacement then. Where the command line cannot be read, both are treated as ordinary plans.

/// The command, as far as it changes what a plan is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientCommand {
    destroys: bool,
    applies: bool,
    refreshes: bool,
}

impl ClientCommand {
    /// The command of the process that started this one.
    pub(crate) fn of_parent() -> Self {
        Self::parse(parent_arguments(), |name| std::env::var(name).ok())
    }

    /// Whether everything is destroyed: the plan of an update or a create only serves to refresh the state.
    pub(crate) fn destroys(self) -> bool {
        self.destroys
    }

    /// Whether the plan of a resource that this process has not read is repeated by an apply: a new plan reads it first.
    pub(crate) fn repeats_unread(self) -> bool {
        self.applies && self.refreshes
    }

    /// `arguments` are those of Terraform or OpenTofu, the program included.
    fn parse(
        arguments: impl IntoIterator<Item = String>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Self {
        // Before the command are global options only.
        let mut arguments = arguments.into_iter().skip(1).skip_while(|argument| argument.starts_with('-'));
        let Some(command) = arguments.next() else { return Self::default() };
        let more = ["TF_CLI_ARGS".to_owned(), format!("TF_CLI_ARGS_{command}")];
        let more: Vec<String> = more.iter().filter_map(|name| environment(name)).collect();
        let more = more.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned);
        // Terraform itself puts those of the environment first.
        let options: Vec<String> = more.chain(arguments).collect();
        let is_set = |name: &str| options.iter().rev().find_map(|option| flag(option, name));
        let (plans, applies) = (command == "plan", command == "apply");
        let destroys = command == "destroy" || ((plans || applies) && is_set("destroy") == Some(true));
        Self { destroys, applies, refreshes: is_set("refresh") != Some(false) }
    }
}

/// The value of the boolean flag `name`, if `option` sets it, as Go's flag package reads it.
fn flag(option: &str, name: &str) -> Option<bool> {
    let option = option.strip_prefix('-')?;
    let value = option.strip_prefix('-').unwrap_or(option).strip_prefix(name)?;
    match value.strip_prefix('=') {
        None => value.is_empty().then_some(true),
        Some(value) => Some(matches!(value, "1" | "t" | "T" | "true" | "TRUE" | "True")),
    }
}

#[cfg(unix)]
fn parent_arguments() -> Vec<String> {
    let parent = std::os::unix::process::parent_id().to_string();
    if let Ok(arguments) = std::fs::read(format!("/proc/{parent}/cmdline")) {
        let arguments = arguments.split(|byte| *byte == 0);
        return arguments.map(|argument| String::from_utf8_lossy(argument).into_owned()).collect();
    }
    // Systems without /proc have ps. It does not mark where arguments end, which only matters to a program in a folder
    // with a space in its name: its command is then not recognised.
    let shown = std::process::Command::new("ps").args(["-o", "args=", "-p", &parent]).output();
    let shown = shown.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    shown.split_whitespace().map(str::to_owned).collect()
}

#[cfg(not(unix))]
fn parent_arguments() -> Vec<String> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(command: &str, environment: &[(&str, &str)]) -> ClientCommand {
        let value = |name: &str| {
            let found = environment.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        ClientCommand::parse(command.split_whitespace().map(str::to_owned), value)
    }

    #[test]
    fn a_command_that_destroys_everything_is_recognised() {
        let check = |command: &str, expected: bool| {
            assert_eq!(parsed(command, &[]).destroys(), expected, "{command}");
        };
        check("terraform destroy -auto-approve", true);
        check("/usr/bin/tofu -chdir=live destroy", true);
        check("terraform apply -destroy -auto-approve", true);
        check("terraform plan --destroy=true -out destroy", true);
        check("terraform plan -out destroy", false);
        check("terraform apply -destroy=false", false);
        check("terraform apply -destroyed", false);
        check("terraform import a b", false);
        check("sh destroy.sh", false);
        check("terraform", false);
        check("", false);
        assert!(parsed("terraform plan", &[("TF_CLI_ARGS_plan", "-lock=false -destroy")]).destroys());
        assert!(!parsed("terraform plan -destroy=false", &[("TF_CLI_ARGS", "-destroy")]).destroys());
        assert!(!parsed("terraform plan", &[("TF_CLI_ARGS_apply", "-destroy")]).destroys());
    }

    #[test]
    fn an_apply_that_refreshes_repeats_the_plans_of_what_it_has_not_read() {
        let check = |command: &str, expected: bool| {
            assert_eq!(parsed(command, &[]).repeats_unread(), expected, "{command}");
        };
        check("terraform apply", true);
        check("terraform apply -auto-approve saved.plan", true);
        check("tofu -chdir=live apply -refresh=true", true);
        check("terraform apply -refresh=false", false);
        check("terraform plan -refresh=false", false);
        check("terraform plan", false);
        check("terraform test", false);
        assert!(!parsed("terraform apply", &[("TF_CLI_ARGS_apply", "-refresh=false")]).repeats_unread());
    }

    #[test]
    fn the_parent_of_a_test_is_no_client() {
        assert!(!parent_arguments().is_empty());
        assert!(!ClientCommand::of_parent().destroys());
    }
}
