//! Who we are to Oracle Cloud: where a key or token comes from, and when it has to be read again.
//!
//! Files are looked at before every call and read again when they changed, so that a rotated key or a refreshed
//! token needs no restart. Nothing here is ever shown: secrets are in `secrecy`, errors name files and fields.

mod load;
mod source;
mod token;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;

use crate::sign::Signer;
pub use load::AuthError;
use load::{Loaded, load};
use source::Source;
pub use source::{Environment, process_environment};

/// Credentials, current at every use. Clones share what was read.
#[derive(Clone)]
pub struct Credentials(Arc<Inner>);

struct Inner {
    source: Source,
    loaded: Mutex<Option<Loaded>>,
}

impl Credentials {
    fn new(source: Source) -> Self {
        Self(Arc::new(Inner { source, loaded: Mutex::new(None) }))
    }

    /// The signer to use now, read anew when a file it rests on has changed.
    pub(crate) fn signer(&self, now: Timestamp) -> Result<Arc<Signer>, AuthError> {
        self.with(now, |loaded| loaded.signer.clone())
    }

    /// The region they name, if they name one.
    pub fn region(&self, now: Timestamp) -> Result<Option<String>, AuthError> {
        self.with(now, |loaded| loaded.region.clone())
    }

    /// A few files of a few kilobytes are read, rarely, and looked at otherwise; that is no reason to leave the thread.
    fn with<T>(&self, now: Timestamp, take: impl Fn(&Loaded) -> T) -> Result<T, AuthError> {
        let mut current = self.0.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = current.as_ref().filter(|loaded| loaded.is_current()) {
            loaded.check_expiry(now)?;
            return Ok(take(loaded));
        }
        // What was read before is of no use from here on, also when reading fails.
        let loaded = current.insert(load(&self.0.source)?);
        loaded.check_expiry(now)?;
        Ok(take(loaded))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({})", self.0.source)
    }
}

#[cfg(test)]
mod tests;
