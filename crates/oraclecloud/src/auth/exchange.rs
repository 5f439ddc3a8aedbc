//! Tokens for a session key, issued to the instance or pod we run in: renewed before they expire, and requested once
//! however many calls wait for one.

mod error;
mod instance;
mod workload;

use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::Mutex;

use super::source::Environment;
use super::token;
use crate::connections::Connections;
use crate::endpoint::Endpoints;
use crate::key::{GeneratedKey, PrivateKey};
use crate::region::Region;
use crate::sign::Signer;
pub use error::ExchangeError;
pub(super) use instance::Instance;
use workload::Workload;

/// After a failure the issuer is not asked again for this long; callers get the same failure.
const FAILURE_BACKOFF: SignedDuration = SignedDuration::from_secs(5);
/// A token older than this may have been revoked; a younger one is refused for another reason.
const REVOCABLE_AGE: SignedDuration = SignedDuration::from_secs(60);

/// What an exchange needs of the client.
pub(crate) struct Context<'a> {
    pub(crate) connections: &'a Connections,
    pub(crate) endpoints: &'a Endpoints,
    pub(crate) region: &'a Region,
}

/// A way to get tokens, and the one in use.
pub(super) struct Exchange {
    issuer: Issuer,
    cache: Mutex<TokenCache>,
}

enum Issuer {
    Instance(Instance),
    Workload(Workload),
}

#[derive(Default)]
struct TokenCache {
    session: Option<Session>,
    failure: Option<(Timestamp, Arc<ExchangeError>)>,
}

struct Session {
    signer: Arc<Signer>,
    issued: Timestamp,
    renew: Timestamp,
    expires: Timestamp,
}

/// What the cache has for a caller.
enum Cached {
    Valid(Arc<Signer>),
    /// The last request failed too recently to try again.
    Failed(Arc<ExchangeError>),
    /// A new token is due; while it cannot be issued, the old one may still be valid.
    Due {
        still_valid: Option<Arc<Signer>>,
    },
}

impl TokenCache {
    fn get(&self, now: Timestamp) -> Cached {
        let valid = self.session.as_ref().filter(|session| now < session.expires);
        if let Some(session) = valid.filter(|session| now < session.renew) {
            return Cached::Valid(session.signer.clone());
        }
        let still_valid = valid.map(|session| session.signer.clone());
        match &self.failure {
            Some((at, error)) if now.duration_since(*at).abs() < FAILURE_BACKOFF => {
                still_valid.map_or_else(|| Cached::Failed(error.clone()), Cached::Valid)
            }
            _ => Cached::Due { still_valid },
        }
    }

    /// A service refused the token: a new one is due, unless this one is brand new.
    fn on_unauthenticated(&mut self, now: Timestamp) {
        if let Some(session) =
            self.session.as_mut().filter(|session| now.duration_since(session.issued) > REVOCABLE_AGE)
        {
            session.renew = now;
        }
    }
}

impl Exchange {
    /// The identity of the instance we run on; as a last resort if it was not asked for by name.
    pub(super) fn of_instance(environment: Environment<'_>, last_resort: bool) -> Self {
        Self::new(Issuer::Instance(Instance::new(environment, last_resort)))
    }

    /// The identity of the pod we run in, on an OKE cluster.
    pub(super) fn of_workload(environment: Environment<'_>) -> Result<Self, super::AuthError> {
        Workload::new(environment).map(|workload| Self::new(Issuer::Workload(workload)))
    }

    fn new(issuer: Issuer) -> Self {
        Self { issuer, cache: Mutex::default() }
    }

    /// The region that the environment names.
    pub(super) fn region(&self) -> Option<String> {
        match &self.issuer {
            Issuer::Instance(_) => None,
            Issuer::Workload(workload) => workload.region.clone(),
        }
    }

    pub(super) const fn instance(&self) -> Option<&Instance> {
        match &self.issuer {
            Issuer::Instance(instance) => Some(instance),
            Issuer::Workload(_) => None,
        }
    }

    /// The signer to use now. A token that is still valid is used while a new one cannot be issued.
    pub(super) async fn signer(
        &self,
        now: Timestamp,
        context: &Context<'_>,
    ) -> Result<Arc<Signer>, Arc<ExchangeError>> {
        let mut cache = self.cache.lock().await;
        let still_valid = match cache.get(now) {
            Cached::Valid(signer) => return Ok(signer),
            Cached::Failed(error) => return Err(error),
            Cached::Due { still_valid } => still_valid,
        };
        match self.exchange(now, context).await {
            Ok(session) => {
                let signer = session.signer.clone();
                tracing::info!(principal = %self, expires = %session.expires, "received a new token");
                *cache = TokenCache { session: Some(session), failure: None };
                Ok(signer)
            }
            Err(error) => {
                if still_valid.is_some() {
                    tracing::warn!(principal = %self, %error, "cannot renew the token yet; using the old one");
                }
                let error = Arc::new(error);
                cache.failure = Some((now, error.clone()));
                still_valid.ok_or(error)
            }
        }
    }

    pub(super) fn on_unauthenticated(&self, now: Timestamp) {
        // If the lock is held, a new token is being requested already.
        if let Ok(mut cache) = self.cache.try_lock() {
            cache.on_unauthenticated(now);
        }
    }

    /// Generates a session key and gets a token for it.
    async fn exchange(&self, now: Timestamp, context: &Context<'_>) -> Result<Session, ExchangeError> {
        // Generating a key takes long enough to block other tasks on this thread.
        let key = tokio::task::spawn_blocking(GeneratedKey::generate)
            .await
            .expect("generating a key does not panic")
            .map_err(ExchangeError::SessionKey)?;
        let token = match &self.issuer {
            Issuer::Instance(instance) => instance.token(&key, now, context).await?,
            Issuer::Workload(workload) => workload.token(&key).await?,
        };
        let at = match &self.issuer {
            Issuer::Instance(_) => context.endpoints.federation(context.region).to_string(),
            Issuer::Workload(workload) => workload.address(),
        };
        self.session(&key, &token, now).map_err(|problem| ExchangeError::Token { at, problem })
    }

    fn session(
        &self,
        key: &GeneratedKey,
        token: &SecretString,
        now: Timestamp,
    ) -> Result<Session, &'static str> {
        let token = token.expose_secret().trim();
        let expires = token::expiry(token).ok_or("the token has no expiry")?;
        let lifetime = expires.duration_since(now);
        if lifetime <= SignedDuration::ZERO {
            return Err("the token has expired already; check this machine's clock");
        }
        let key = PrivateKey::from_pem(&key.private_pem, None).map_err(|_| "the session key is unusable")?;
        let key_id = super::load::token_key_id(token).map_err(|_| "the token has invalid characters")?;
        let signer = Arc::new(Signer::new(key_id, key));
        let renew = expires - self.issuer.renew_before_expiry(lifetime);
        Ok(Session { signer, issued: now, renew, expires })
    }
}

impl Issuer {
    fn renew_before_expiry(&self, lifetime: SignedDuration) -> SignedDuration {
        match self {
            Self::Instance(_) => SignedDuration::from_mins(5).min(lifetime / 2),
            Self::Workload(_) => lifetime / 2,
        }
    }
}

/// The sort of identity, and nothing secret about it.
impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.issuer {
            Issuer::Instance(_) => "the instance",
            Issuer::Workload(_) => "the workload",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::testing;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// A token that is issued at 1000, due for renewal at 1900 and valid until 2200.
    fn cache(failed: Option<i64>) -> TokenCache {
        let signer = Arc::new(Signer::new("ST$x".to_owned(), testing::key()));
        let session = Session { signer, issued: at(1000), renew: at(1900), expires: at(2200) };
        TokenCache {
            session: Some(session),
            failure: failed.map(|second| (at(second), Arc::new(ExchangeError::NoTenancy))),
        }
    }

    fn name(cached: &Cached) -> &'static str {
        match cached {
            Cached::Valid(_) => "valid",
            Cached::Failed(_) => "failed",
            Cached::Due { still_valid: Some(_) } => "renew",
            Cached::Due { still_valid: None } => "request",
        }
    }

    #[test]
    fn a_token_is_renewed_before_it_expires_and_used_while_it_is_valid() {
        assert_eq!(name(&TokenCache::default().get(at(0))), "request");
        for (failed, now, expected) in [
            (None, 1000, "valid"),
            (None, 1899, "valid"),
            (None, 1900, "renew"),
            (None, 2200, "request"),
            (Some(1900), 1904, "valid"),
            (Some(1900), 1905, "renew"),
            (Some(2200), 2204, "failed"),
            (Some(2200), 2205, "request"),
            // A clock that was set back does not prolong the failure.
            (Some(9999), 2300, "request"),
        ] {
            assert_eq!(name(&cache(failed).get(at(now))), expected, "failed at {failed:?}, now {now}");
        }
    }

    #[test]
    fn a_refused_token_is_replaced_unless_it_is_brand_new() {
        let mut cache = cache(None);
        cache.on_unauthenticated(at(1060));
        assert_eq!(name(&cache.get(at(1060))), "valid");
        cache.on_unauthenticated(at(1061));
        assert_eq!(name(&cache.get(at(1061))), "renew");
    }

    #[test]
    fn the_issuer_determines_how_early_a_token_is_renewed() {
        let host = |name: &str| (name == "KUBERNETES_SERVICE_HOST").then(|| "10.96.0.1".to_owned());
        let (instance, workload) =
            (Exchange::of_instance(&host, false), Exchange::of_workload(&host).unwrap());
        let check = |exchange: &Exchange, lifetime: i64, expected: i64| {
            let before = exchange.issuer.renew_before_expiry(SignedDuration::from_mins(lifetime));
            assert_eq!(before, SignedDuration::from_mins(expected), "{exchange} {lifetime}");
        };
        check(&instance, 20, 5);
        check(&instance, 4, 2);
        check(&workload, 60, 30);
    }
}
