//! The ephemeral resource `k8sconnect_token`: a token of a ServiceAccount.
//!
//! A token cannot be extended, so it has to outlast the run; Terraform opens a new one at plan and at apply.

use std::sync::Arc;

use diag::Diagnostic;
use manifest::{GoDuration, ObjectRef};
use serde_json::{Value as Json, json};
use tfplugin::diagnostics::Diagnostics;
use tfplugin::path::Path;
use tfplugin::provider::{BoxFuture, EphemeralResource, OpenRequest, OpenResponse};
use tfplugin::schema::{Attribute, Schema};
use tfplugin::types::Type;
use tfplugin::value::{Object, Value};

use super::{deferred, respond};
use crate::context::Context;
use crate::reference::Reference;
use crate::{codes, connection};

pub(crate) struct Token(pub(crate) Arc<Context>);

impl EphemeralResource for Token {
    fn type_name(&self) -> &'static str {
        "k8sconnect_token"
    }

    fn schema(&self) -> Schema {
        Schema::new()
            .description(
                "Requests a token of a ServiceAccount whenever Terraform runs. Neither plan nor state contains it.",
            )
            .attribute(connection::data_attribute())
            .attribute(
                Attribute::required("name", Type::String).description("The name of the ServiceAccount."),
            )
            .attribute(
                Attribute::optional("namespace", Type::String)
                    .description("The namespace of the ServiceAccount. Default: `default`."),
            )
            .attribute(
                Attribute::optional("audiences", Type::list(Type::String))
                    .description("Who accepts the token. By default the API server itself."),
            )
            .attribute(
                Attribute::optional("lifetime", Type::String)
                    .description(
                        "How long the token is valid, such as `30m`; at least `10m`. Default: `1h`. A token cannot be extended, so \
                         it has to outlast the run. The API server may grant less.",
                    )
                    .validate(check_lifetime),
            )
            .attribute(Attribute::computed("token", Type::String).sensitive().description("The token."))
            .attribute(
                Attribute::computed("expires_at", Type::String)
                    .description("When it expires, in RFC 3339."),
            )
    }

    fn validate(&self, config: &Object) -> Diagnostics {
        connection::validate(config.get("cluster"))
    }

    fn open(&self, request: OpenRequest) -> BoxFuture<'_, OpenResponse> {
        Box::pin(async move {
            match deferred(&self.0, &request) {
                Some(deferred) => deferred,
                None => respond(open(&self.0, request.config).await),
            }
        })
    }
}

async fn open(context: &Context, config: Object) -> Result<(Object, Diagnostics), Diagnostics> {
    let cluster = context
        .known_cluster(config.get("cluster"), "Invalid connection")
        .map_err(|error| Diagnostics::from(*error).or_at(&Path::of("cluster")))?;
    let named = config.clone().with("api_version", "v1").with("kind", "ServiceAccount");
    let reference = Reference::parse(&named, "Invalid Kind")?;
    let account = reference.locate(cluster.session()).await;
    let account = account.map_err(|error| error.diagnostic("Request Token"))?;
    let asked = config.text("lifetime").and_then(seconds);
    let wanted = token_request(&config, asked);
    let reply = cluster.session().create_at(&account, "token", &wanted).await;
    let reply = reply.map_err(|error| error.diagnostic("Request Token"))?;
    granted(config, &account, asked, &reply.object)
}

/// What the API server has granted for a lifetime of `asked` seconds.
fn granted(
    config: Object,
    account: &ObjectRef,
    asked: Option<i64>,
    answer: &Json,
) -> Result<(Object, Diagnostics), Diagnostics> {
    let granted = answer["spec"]["expirationSeconds"].as_i64();
    let mut diagnostics = Diagnostics::new();
    if let (Some(asked), Some(granted)) = (asked, granted)
        && granted < asked
    {
        diagnostics.add_at(Path::of("lifetime"), shortened(account, asked, granted));
    }
    let text = |pointer: &str| answer.pointer(pointer).and_then(Json::as_str);
    let Some(token) = text("/status/token") else { return Err(no_token(account).into()) };
    let result = config.with("token", token).with("expires_at", text("/status/expirationTimestamp"));
    Ok((result, diagnostics))
}

fn token_request(config: &Object, lifetime: Option<i64>) -> Json {
    let mut request =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}});
    let audiences = config.get("audiences").as_elements().unwrap_or_default().iter();
    request["spec"]["audiences"] = audiences.filter_map(Value::as_str).collect();
    if let Some(seconds) = lifetime {
        request["spec"]["expirationSeconds"] = seconds.into();
    }
    request
}

fn seconds(text: &str) -> Option<i64> {
    let duration = text.parse::<GoDuration>().ok()?.to_std()?;
    i64::try_from(duration.as_secs()).ok()
}

fn check_lifetime(value: &Value, path: &Path) -> Diagnostics {
    match value.as_str().map(seconds) {
        Some(None) => Diagnostic::error(codes::INVALID_DURATION, "Invalid Duration")
            .detail(format!("{path} is not a duration."))
            .hint("Write it like \"30m\" or \"1h\".")
            .into(),
        _ => Diagnostics::new(),
    }
}

fn shortened(account: &ObjectRef, asked: i64, granted: i64) -> Diagnostic {
    Diagnostic::warning(codes::TOKEN_SHORTENED, "Token Lifetime Shortened")
        .detail(format!("The API server granted {granted} s instead of {asked} s."))
        .object(account.to_string())
        .hint("Make sure that the run ends before the token expires, or ask for less.")
}

fn no_token(account: &ObjectRef) -> Diagnostic {
    Diagnostic::error(codes::TOKEN_ABSENT, "No Token in the Response")
        .detail("The API server accepted the request and returned no token.")
        .object(account.to_string())
        .hint("Check whether a proxy between Terraform and the API server removes it.")
}

#[cfg(test)]
mod tests {
    use manifest::Namespace;

    use super::*;

    #[test]
    fn a_shorter_lifetime_is_a_warning_and_a_missing_token_an_error() {
        let account = ObjectRef::new("v1/ServiceAccount".parse().unwrap(), Namespace::new("shop"), "a");
        let answer = json!({
            "spec": {"expirationSeconds": 3600},
            "status": {"token": "t", "expirationTimestamp": "2026-01-02T03:04:05Z"},
        });
        let (opened, warnings) = granted(Object::new(), &account, Some(7200), &answer).unwrap();
        assert_eq!(
            (opened.text("token"), opened.text("expires_at")),
            (Some("t"), Some("2026-01-02T03:04:05Z"))
        );
        assert_eq!(warnings.iter().next().unwrap().1.summary, "Token Lifetime Shortened");
        assert!(granted(Object::new(), &account, Some(3600), &answer).unwrap().1.is_empty());
        assert!(granted(Object::new(), &account, None, &json!({})).unwrap_err().has_errors());
    }

    #[test]
    fn a_request_has_what_is_configured() {
        let config = Object::new().with("audiences", vec!["vault"]);
        let spec = |lifetime| token_request(&config, lifetime)["spec"].clone();
        assert_eq!(spec(None), json!({"audiences": ["vault"]}));
        assert_eq!(spec(seconds("30m")), json!({"audiences": ["vault"], "expirationSeconds": 1800}));
        assert_eq!(token_request(&Object::new(), None)["spec"], json!({"audiences": []}));
        assert!(check_lifetime(&"soon".into(), &Path::of("lifetime")).has_errors());
        assert!(check_lifetime(&"-5m".into(), &Path::of("lifetime")).has_errors());
    }
}
