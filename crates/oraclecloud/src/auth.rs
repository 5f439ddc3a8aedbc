//! Who we are to Oracle Cloud: where a key or token comes from, and when it has to be read again.
//!
//! Files are looked at before every call and read again when they changed, so that a rotated key or a refreshed
//! token needs no restart; a token that is given to the place we run in is renewed before it runs out. Nothing here
//! is ever shown: secrets are in `secrecy`, errors name files and fields.

mod certificate;
mod exchange;
mod load;
mod source;
mod token;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;

use crate::connections::Connections;
use crate::sign::Signer;
use exchange::Exchange;
pub use exchange::ExchangeError;
pub(crate) use exchange::Means;
pub use load::AuthError;
use load::{Loaded, load};
use source::Source;
pub use source::{Environment, process_environment};

/// Credentials, current at every use. Clones share what was read.
#[derive(Clone)]
pub struct Credentials(Arc<Inner>);

enum Inner {
    /// What somebody wrote down.
    Read(Read),
    /// What the place we run in vouches for.
    Exchanged(Exchange),
}

struct Read {
    source: Source,
    loaded: Mutex<Option<Loaded>>,
}

impl Credentials {
    fn new(source: Source) -> Self {
        Self(Arc::new(Inner::Read(Read { source, loaded: Mutex::new(None) })))
    }

    fn exchanged(exchange: Exchange) -> Self {
        Self(Arc::new(Inner::Exchanged(exchange)))
    }

    /// The signer to use now: read anew when a file it rests on has changed, or with a token that is renewed.
    pub(crate) async fn signer(&self, now: Timestamp, means: &Means<'_>) -> Result<Arc<Signer>, AuthError> {
        match &*self.0 {
            Inner::Read(read) => read.with(now, |loaded| loaded.signer.clone()),
            Inner::Exchanged(exchange) => Ok(exchange.signer(now, means).await?),
        }
    }

    /// The region they name, if they name one without asking anybody.
    pub fn region(&self, now: Timestamp) -> Result<Option<String>, AuthError> {
        match &*self.0 {
            Inner::Read(read) => read.with(now, |loaded| loaded.region.clone()),
            Inner::Exchanged(exchange) => Ok(exchange.region()),
        }
    }

    /// The region that whoever vouches for us says that we are in; nothing when nobody could know.
    pub(crate) async fn find_region(&self, connections: &Connections) -> Option<Result<String, AuthError>> {
        match &*self.0 {
            Inner::Read(_) => None,
            Inner::Exchanged(exchange) => {
                let found = exchange.find_region(connections).await?;
                Some(found.map_err(|error| Arc::new(error).into()))
            }
        }
    }

    /// Whether the region can be found out when it is needed.
    pub(crate) fn can_find_region(&self) -> bool {
        matches!(&*self.0, Inner::Exchanged(exchange) if exchange.can_find_region())
    }

    /// Whether nobody said who we are, so that the place we run in is asked. Somebody may say so later.
    pub fn is_last_resort(&self) -> bool {
        matches!(&*self.0, Inner::Exchanged(exchange) if exchange.is_implied())
    }

    /// A service answered that it does not know us.
    pub(crate) fn refused(&self, now: Timestamp) {
        if let Inner::Exchanged(exchange) = &*self.0 {
            exchange.refused(now);
        }
    }
}

impl Read {
    /// A few files of a few kilobytes are read, rarely, and looked at otherwise; that is no reason to leave the thread.
    fn with<T>(&self, now: Timestamp, take: impl Fn(&Loaded) -> T) -> Result<T, AuthError> {
        let mut current = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = current.as_ref().filter(|loaded| loaded.is_current()) {
            loaded.check_expiry(now)?;
            return Ok(take(loaded));
        }
        // What was read before is of no use from here on, also when reading fails.
        let loaded = current.insert(load(&self.source)?);
        loaded.check_expiry(now)?;
        Ok(take(loaded))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Inner::Read(read) => write!(f, "Credentials({})", read.source),
            Inner::Exchanged(exchange) => write!(f, "Credentials({exchange})"),
        }
    }
}

#[cfg(test)]
mod tests;
