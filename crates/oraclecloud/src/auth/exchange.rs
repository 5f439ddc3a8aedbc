//! Tokens for a key of our own, from whoever vouches for the place we run in: renewed before they run out, and asked
//! for once however many calls wait for one.

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
use instance::Instance;
use workload::Workload;

/// How long after a failure nobody asks again; what waits meanwhile is told of that failure.
const PAUSE: SignedDuration = SignedDuration::from_secs(5);
/// A token of this age may have been withdrawn; a younger one is refused for another reason.
const OLD: SignedDuration = SignedDuration::from_secs(60);

/// What an exchange is made with.
pub(crate) struct Means<'a> {
    pub(crate) connections: &'a Connections,
    pub(crate) endpoints: &'a Endpoints,
    pub(crate) region: &'a Region,
}

/// A way to get tokens, and the one in use.
pub(super) struct Exchange {
    issuer: Issuer,
    state: Mutex<State>,
}

enum Issuer {
    Instance(Instance),
    Workload(Workload),
}

#[derive(Default)]
struct State {
    session: Option<Session>,
    failure: Option<(Timestamp, Arc<ExchangeError>)>,
}

/// What is to be done for whoever needs a signer.
enum Due {
    /// Take this one.
    Use(Arc<Signer>),
    /// Tell of this failure, which is too recent to try again.
    Fail(Arc<ExchangeError>),
    /// Get another token; while that fails, the old one may still be good.
    Exchange { still_good: Option<Arc<Signer>> },
}

impl State {
    fn due(&self, now: Timestamp) -> Due {
        let good = self.session.as_ref().filter(|session| now < session.expires);
        if let Some(session) = good.filter(|session| now < session.renew) {
            return Due::Use(session.signer.clone());
        }
        let still_good = good.map(|session| session.signer.clone());
        match (&self.failure, still_good) {
            (Some((at, error)), still_good) if now.duration_since(*at).abs() < PAUSE => {
                still_good.map_or_else(|| Due::Fail(error.clone()), Due::Use)
            }
            (_, still_good) => Due::Exchange { still_good },
        }
    }

    /// A service does not know the token: another one is due, unless this one is brand new.
    fn refused(&mut self, now: Timestamp) {
        if let Some(session) = self.session.as_mut().filter(|it| now.duration_since(it.since) > OLD) {
            session.renew = now;
        }
    }
}

struct Session {
    signer: Arc<Signer>,
    since: Timestamp,
    renew: Timestamp,
    expires: Timestamp,
}

impl Exchange {
    /// The identity of the instance that we run on. When it is `implied`, nobody asked for it by name.
    pub(super) fn of_instance(environment: Environment<'_>, implied: bool) -> Self {
        Self::new(Issuer::Instance(Instance::new(environment, implied)))
    }

    /// The identity of the pod that we run in, on a cluster of OKE.
    pub(super) fn of_workload(environment: Environment<'_>) -> Result<Self, super::AuthError> {
        Workload::new(environment).map(|workload| Self::new(Issuer::Workload(workload)))
    }

    fn new(issuer: Issuer) -> Self {
        Self { issuer, state: Mutex::default() }
    }

    /// The region that is known without asking anybody.
    pub(super) fn region(&self) -> Option<String> {
        match &self.issuer {
            Issuer::Instance(_) => None,
            Issuer::Workload(workload) => workload.region.clone(),
        }
    }

    /// Whether nobody asked for it by name.
    pub(super) const fn is_implied(&self) -> bool {
        matches!(&self.issuer, Issuer::Instance(instance) if instance.implied)
    }

    /// Whether there is somebody to ask for the region.
    pub(super) const fn can_find_region(&self) -> bool {
        matches!(self.issuer, Issuer::Instance(_))
    }

    /// The region that whoever vouches for us says that we are in.
    pub(super) async fn find_region(
        &self,
        connections: &Connections,
    ) -> Option<Result<String, ExchangeError>> {
        match &self.issuer {
            Issuer::Instance(instance) => Some(instance.region(connections).await),
            Issuer::Workload(_) => None,
        }
    }

    /// The signer to use now. A token that still holds is used while a new one cannot be had.
    pub(super) async fn signer(
        &self,
        now: Timestamp,
        means: &Means<'_>,
    ) -> Result<Arc<Signer>, Arc<ExchangeError>> {
        let mut state = self.state.lock().await;
        let still_good = match state.due(now) {
            Due::Use(signer) => return Ok(signer),
            Due::Fail(error) => return Err(error),
            Due::Exchange { still_good } => still_good,
        };
        match self.exchange(now, means).await {
            Ok(session) => {
                let signer = session.signer.clone();
                tracing::info!(principal = %self, expires = %session.expires, "a token was issued to us");
                *state = State { session: Some(session), failure: None };
                Ok(signer)
            }
            Err(error) => {
                if still_good.is_some() {
                    tracing::warn!(principal = %self, %error, "the token is not renewed yet; the old one is used");
                }
                let error = Arc::new(error);
                state.failure = Some((now, error.clone()));
                still_good.ok_or(error)
            }
        }
    }

    /// A service does not know the token.
    pub(super) fn refused(&self, now: Timestamp) {
        // Whoever holds the lock is getting another one already.
        if let Ok(mut state) = self.state.try_lock() {
            state.refused(now);
        }
    }

    /// A key of our own and a token for it.
    async fn exchange(&self, now: Timestamp, means: &Means<'_>) -> Result<Session, ExchangeError> {
        // Making a key takes a while, and others have work to do on this thread.
        let key = tokio::task::spawn_blocking(GeneratedKey::generate)
            .await
            .expect("making a key does not panic")
            .map_err(ExchangeError::SessionKey)?;
        let token = match &self.issuer {
            Issuer::Instance(instance) => instance.token(&key, now, means).await?,
            Issuer::Workload(workload) => workload.token(&key).await?,
        };
        let at = self.issuer.place(means);
        self.session(&key, &token, now).map_err(|problem| ExchangeError::Token { at, problem })
    }

    fn session(
        &self,
        key: &GeneratedKey,
        token: &SecretString,
        now: Timestamp,
    ) -> Result<Session, &'static str> {
        let token = token.expose_secret().trim();
        let expires = token::expiry(token).ok_or("has a token that does not say when it expires")?;
        let lifetime = expires.duration_since(now);
        if lifetime <= SignedDuration::ZERO {
            return Err("has a token that has expired already; set this machine's clock if it is wrong");
        }
        let before = self.issuer.renewal_before_expiry(lifetime);
        let key =
            PrivateKey::from_pem(&key.private_pem, None).map_err(|_| "is for a key that cannot be used")?;
        let key_id = super::load::token_key_id(token).map_err(|_| "has a token that cannot be sent")?;
        let signer = Arc::new(Signer::new(key_id, key));
        Ok(Session { signer, since: now, renew: expires - before, expires })
    }
}

impl Issuer {
    /// How long before its end a token is replaced.
    fn renewal_before_expiry(&self, lifetime: SignedDuration) -> SignedDuration {
        match self {
            Self::Instance(_) => SignedDuration::from_mins(5).min(lifetime / 2),
            Self::Workload(_) => lifetime / 2,
        }
    }

    /// Where tokens come from, for messages.
    fn place(&self, means: &Means<'_>) -> String {
        match self {
            Self::Instance(_) => means.endpoints.federation(means.region).to_string(),
            Self::Workload(workload) => workload.address(),
        }
    }
}

/// Says what sort of identity it is, and nothing of it.
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

    /// A token that is issued at 1000, due for renewal at 1900 and good until 2200.
    fn state(failed: Option<i64>) -> State {
        let signer = Arc::new(Signer::new("ST$x".to_owned(), testing::key()));
        let session = Session { signer, since: at(1000), renew: at(1900), expires: at(2200) };
        State {
            session: Some(session),
            failure: failed.map(|second| (at(second), Arc::new(ExchangeError::NoTenancy))),
        }
    }

    fn word(due: &Due) -> &'static str {
        match due {
            Due::Use(_) => "use",
            Due::Fail(_) => "fail",
            Due::Exchange { still_good: Some(_) } => "renew",
            Due::Exchange { still_good: None } => "get",
        }
    }

    #[test]
    fn a_token_is_renewed_before_it_runs_out_and_used_as_long_as_it_is_good() {
        assert_eq!(word(&State::default().due(at(0))), "get");
        for (failed, now, expected) in [
            (None, 1000, "use"),
            (None, 1899, "use"),
            (None, 1900, "renew"),
            (None, 2200, "get"),
            (Some(1900), 1904, "use"),
            (Some(1900), 1905, "renew"),
            (Some(2200), 2204, "fail"),
            (Some(2200), 2205, "get"),
            // A clock that was set back does not make the failure last.
            (Some(9999), 2300, "get"),
        ] {
            assert_eq!(word(&state(failed).due(at(now))), expected, "failed at {failed:?}, now {now}");
        }
    }

    #[test]
    fn a_token_that_is_refused_is_replaced_unless_it_is_brand_new() {
        let mut state = state(None);
        state.refused(at(1060));
        assert_eq!(word(&state.due(at(1060))), "use");
        state.refused(at(1061));
        assert_eq!(word(&state.due(at(1061))), "renew");
    }

    #[test]
    fn how_early_a_token_is_renewed_depends_on_who_issued_it() {
        let host = |name: &str| (name == "KUBERNETES_SERVICE_HOST").then(|| "10.96.0.1".to_owned());
        let (instance, workload) =
            (Exchange::of_instance(&host, false), Exchange::of_workload(&host).unwrap());
        let check = |exchange: &Exchange, lifetime: i64, expected: i64| {
            let before = exchange.issuer.renewal_before_expiry(SignedDuration::from_mins(lifetime));
            assert_eq!(before, SignedDuration::from_mins(expected), "{exchange} {lifetime}");
        };
        check(&instance, 20, 5);
        check(&instance, 4, 2);
        check(&workload, 60, 30);
    }
}
