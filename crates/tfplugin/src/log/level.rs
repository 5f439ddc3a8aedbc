//! The log level, from Terraform's environment variables.

use tracing_subscriber::filter::{LevelFilter, Targets};

/// Crates that are limited to warnings, because they log every frame.
const TRANSPORT: &[&str] = &["h2", "hyper", "hyper_util", "tonic", "tower", "rustls"];

pub(super) fn filter(address: &str, environment: impl Fn(&str) -> Option<String>) -> Targets {
    let level = level(address, environment);
    let quiet = level.min(LevelFilter::WARN);
    TRANSPORT
        .iter()
        .fold(Targets::new().with_default(level), |targets, name| targets.with_target(*name, quiet))
}

/// `TF_LOG_PROVIDER_<NAME>` takes precedence over `TF_LOG_PROVIDER`, and that over `TF_LOG`; without any, nothing is logged.
fn level(address: &str, environment: impl Fn(&str) -> Option<String>) -> LevelFilter {
    let name = address.rsplit('/').next().unwrap_or_default().to_uppercase().replace('-', "_");
    let variables = [format!("TF_LOG_PROVIDER_{name}"), "TF_LOG_PROVIDER".to_owned(), "TF_LOG".to_owned()];
    let set = variables.iter().find_map(|name| environment(name).filter(|value| !value.is_empty()));
    match set.unwrap_or_default().to_uppercase().as_str() {
        "" | "OFF" => LevelFilter::OFF,
        "ERROR" => LevelFilter::ERROR,
        "WARN" => LevelFilter::WARN,
        "INFO" => LevelFilter::INFO,
        "DEBUG" => LevelFilter::DEBUG,
        // Like Terraform, which treats `JSON` and unknown levels as trace.
        _ => LevelFilter::TRACE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_variable_wins() {
        let check = |variables: &[(&str, &str)], expected: LevelFilter| {
            let found = level("registry.terraform.io/acme/my-cloud", |name| {
                variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            });
            assert_eq!(found, expected, "{variables:?}");
        };
        check(&[], LevelFilter::OFF);
        check(&[("TF_LOG", "info")], LevelFilter::INFO);
        check(&[("TF_LOG", "JSON")], LevelFilter::TRACE);
        check(&[("TF_LOG", "TRACE"), ("TF_LOG_PROVIDER", "WARN")], LevelFilter::WARN);
        check(&[("TF_LOG_PROVIDER", "WARN"), ("TF_LOG_PROVIDER_MY_CLOUD", "OFF")], LevelFilter::OFF);
        check(&[("TF_LOG", "ERROR"), ("TF_LOG_PROVIDER", "")], LevelFilter::ERROR);
    }
}
