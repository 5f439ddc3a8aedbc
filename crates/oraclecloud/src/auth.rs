//! Credentials for Oracle Cloud: where a key or token comes from, and when it is read again.
//!
//! Files are checked before every call and read again when they changed, so a rotated key or a refreshed token needs no
//! restart. A token issued to the instance or pod is renewed before it expires. Secrets are never shown: they are in
//! `secrecy`, and errors name files and fields only.

mod certificate;
mod exchange;
mod load;
mod source;
mod token;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use secrecy::ExposeSecret as _;

use crate::connections::Connections;
use crate::sign::Signer;
pub(crate) use exchange::Context;
pub use exchange::ExchangeError;
use exchange::{Exchange, Instance};
pub use load::AuthError;
use load::{Loaded, load};
use source::Source;
pub use source::{Environment, process_environment};

/// Any bytes name a tenancy or none.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz_certificate(der: &[u8]) {
    drop(certificate::tenancy(der));
}

/// Credentials, current at every use. Clones share what was read.
#[derive(Clone)]
pub struct Credentials(Arc<Provider>);

enum Provider {
    /// A key or token that was configured.
    Configured { source: Source, loaded: Mutex<Option<Loaded>> },
    /// Tokens for the identity of the instance or pod.
    Exchanged(Exchange),
}

impl Credentials {
    fn configured(source: Source) -> Self {
        Self(Arc::new(Provider::Configured { source, loaded: Mutex::new(None) }))
    }

    fn exchanged(exchange: Exchange) -> Self {
        Self(Arc::new(Provider::Exchanged(exchange)))
    }

    /// The signer to use now.
    pub(crate) async fn signer(
        &self,
        now: Timestamp,
        context: &Context<'_>,
    ) -> Result<Arc<Signer>, AuthError> {
        match &*self.0 {
            Provider::Configured { source, loaded } => {
                with_loaded(source, loaded, now, |loaded| loaded.signer.clone())
            }
            Provider::Exchanged(exchange) => Ok(exchange.signer(now, context).await?),
        }
    }

    /// The tenancy that a signer signs for, if its key id says.
    pub(crate) fn tenancy(signer: &Signer) -> Option<String> {
        token::tenancy(signer.key_id().expose_secret())
    }

    /// The region that they name, if any.
    pub fn region(&self, now: Timestamp) -> Result<Option<String>, AuthError> {
        match &*self.0 {
            Provider::Configured { source, loaded } => {
                with_loaded(source, loaded, now, |loaded| loaded.region.clone())
            }
            Provider::Exchanged(exchange) => Ok(exchange.region()),
        }
    }

    /// The instance whose identity is used.
    fn instance(&self) -> Option<&Instance> {
        match &*self.0 {
            Provider::Configured { .. } => None,
            Provider::Exchanged(exchange) => exchange.instance(),
        }
    }

    /// The region that the metadata service of the instance reports; empty if there is no instance.
    pub(crate) async fn find_region(&self, connections: &Connections) -> Result<String, AuthError> {
        match self.instance() {
            Some(instance) => instance.region(connections).await.map_err(|error| Arc::new(error).into()),
            None => Ok(String::new()),
        }
    }

    /// Whether the region can be looked up when it is needed.
    pub(crate) fn can_find_region(&self) -> bool {
        self.instance().is_some()
    }

    /// Whether nothing is configured, so that the instance's identity is used. Credentials may be configured later.
    pub fn is_last_resort(&self) -> bool {
        self.instance().is_some_and(|instance| instance.last_resort)
    }

    /// A service responded that the request is not authenticated.
    pub(crate) fn on_unauthenticated(&self, now: Timestamp) {
        if let Provider::Exchanged(exchange) = &*self.0 {
            exchange.on_unauthenticated(now);
        }
    }
}

/// Passes what is loaded to `take`, and loads it first if a file has changed. Checking a few small files is not a reason to
/// leave the thread.
fn with_loaded<T>(
    source: &Source,
    loaded: &Mutex<Option<Loaded>>,
    now: Timestamp,
    take: impl Fn(&Loaded) -> T,
) -> Result<T, AuthError> {
    let mut cached = loaded.lock().unwrap_or_else(PoisonError::into_inner);
    // What was loaded from older files is dropped, even when loading fails.
    let current = match cached.take().filter(Loaded::is_current) {
        Some(current) => current,
        None => load(source)?,
    };
    let loaded = cached.insert(current);
    loaded.check_expiry(now)?;
    Ok(take(loaded))
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Provider::Configured { source, .. } => write!(f, "Credentials({source})"),
            Provider::Exchanged(exchange) => write!(f, "Credentials({exchange})"),
        }
    }
}

#[cfg(test)]
mod tests;
