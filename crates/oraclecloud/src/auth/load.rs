//! Loading credentials, and noticing when what was loaded is out of date.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};

use super::source::{Material, Principal, Source};
use super::{ExchangeError, token};
use crate::config_file::{self, ConfigFileError};
use crate::key::{KeyError, PrivateKey};
use crate::region::RegionError;
use crate::sign::Signer;

/// What was loaded, and from which files.
pub(super) struct Loaded {
    pub(super) signer: Arc<Signer>,
    pub(super) region: Option<String>,
    expires: Option<Timestamp>,
    files: Vec<(PathBuf, Option<Stamp>)>,
}

impl Loaded {
    /// Whether no file has changed since it was read.
    pub(super) fn is_current(&self) -> bool {
        self.files.iter().all(|(path, read)| stamp(path) == *read)
    }

    pub(super) fn check_expiry(&self, now: Timestamp) -> Result<(), AuthError> {
        match self.expires {
            Some(at) if at <= now => Err(AuthError::Expired { at }),
            _ => Ok(()),
        }
    }
}

/// What changes when a file is replaced or written to. The inode is not part of it: a mounted Secret replaces its
/// directory instead.
type Stamp = (SystemTime, u64);

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

pub(super) fn load(source: &Source) -> Result<Loaded, AuthError> {
    let mut reader = Reader { files: Vec::new() };
    let (signer, expires, region) = match source {
        Source::Given { principal, region } => {
            let (signer, expires) = reader.signer(principal)?;
            (signer, expires, region.clone())
        }
        Source::ConfigFile { path, profile, home } => {
            let text = reader.file(path)?;
            let values = config_file::profile(text.expose_secret(), profile)
                .map_err(|source| AuthError::ConfigFile { path: path.clone(), source })?;
            let place = format!("profile {profile} of {}", path.display());
            let (signer, expires) = reader.signer(&principal(&values, &place, home.as_deref())?)?;
            (signer, expires, values.get("region").cloned())
        }
    };
    Ok(Loaded { signer: Arc::new(signer), region, expires, files: reader.files })
}

fn principal(
    values: &BTreeMap<String, String>,
    place: &str,
    home: Option<&Path>,
) -> Result<Principal, AuthError> {
    let required = |what: &'static str| {
        values.get(what).cloned().ok_or_else(|| AuthError::Missing { what, place: place.to_owned() })
    };
    let file = |path: String| match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Material::File(home.join(rest)),
        _ => Material::File(path.into()),
    };
    if values.contains_key("delegation_token_file") {
        return Err(AuthError::Unsupported("delegation token".to_owned()));
    }
    if let Some(other) = values.get("authentication_type") {
        return Err(AuthError::ProfileType { kind: other.clone(), place: place.to_owned() });
    }
    let key = file(required("key_file")?);
    let pass_phrase = values
        .get("pass_phrase")
        .or_else(|| values.get("passphrase"))
        .map(|value| Material::Inline(value.clone().into()));
    Ok(match values.get("security_token_file") {
        Some(token) => Principal::Token { token: file(token.clone()), key, pass_phrase },
        None => Principal::User {
            tenancy: required("tenancy")?,
            user: required("user")?,
            fingerprint: required("fingerprint")?,
            key,
            pass_phrase,
        },
    })
}

struct Reader {
    files: Vec<(PathBuf, Option<Stamp>)>,
}

impl Reader {
    fn signer(&mut self, principal: &Principal) -> Result<(Signer, Option<Timestamp>), AuthError> {
        match principal {
            Principal::User { tenancy, user, fingerprint, key, pass_phrase } => {
                let (key, origin) = self.key(key, pass_phrase.as_ref())?;
                if !key.fingerprint().eq_ignore_ascii_case(fingerprint) {
                    return Err(AuthError::Fingerprint {
                        origin,
                        configured: fingerprint.clone(),
                        actual: key.fingerprint().to_owned(),
                    });
                }
                let key_id = format!("{tenancy}/{user}/{fingerprint}");
                Ok((Signer::new(header_safe(key_id)?, key), None))
            }
            Principal::Token { token, key, pass_phrase } => {
                let (token, _) = self.material(token)?;
                let token = token.expose_secret().trim();
                let expires = token::expiry(token);
                let (key, _) = self.key(key, pass_phrase.as_ref())?;
                Ok((Signer::new(token_key_id(token)?, key), expires))
            }
        }
    }

    fn key(
        &mut self,
        key: &Material,
        pass_phrase: Option<&Material>,
    ) -> Result<(PrivateKey, String), AuthError> {
        let (pem, origin) = self.material(key)?;
        let pass_phrase = pass_phrase.map(|material| self.material(material)).transpose()?;
        // A file ends with a line break; a pass phrase does not.
        let pass_phrase = pass_phrase
            .map(|(value, _)| SecretString::from(value.expose_secret().trim_end_matches(['\r', '\n'])));
        match PrivateKey::from_pem(&pem, pass_phrase.as_ref()) {
            Ok(key) => Ok((key, origin)),
            Err(source) => Err(AuthError::Key { origin, source }),
        }
    }

    /// The secret and its origin, for messages.
    fn material(&mut self, material: &Material) -> Result<(SecretString, String), AuthError> {
        match material {
            Material::Inline(secret) => Ok((secret.clone(), "the configured private key".to_owned())),
            Material::File(path) => Ok((self.file(path)?, path.display().to_string())),
        }
    }

    /// The stamp is taken before reading, so a change in between is noticed at the next check.
    fn file(&mut self, path: &Path) -> Result<SecretString, AuthError> {
        self.files.push((path.to_owned(), stamp(path)));
        std::fs::read_to_string(path)
            .map(SecretString::from)
            .map_err(|source| AuthError::Read { path: path.to_owned(), source })
    }
}

/// The key id of a request that is signed with the key of a token.
pub(super) fn token_key_id(token: &str) -> Result<String, AuthError> {
    header_safe(if token.starts_with("ST$") { token.to_owned() } else { format!("ST${token}") })
}

fn header_safe(key_id: String) -> Result<String, AuthError> {
    if is_header_safe(&key_id) { Ok(key_id) } else { Err(AuthError::KeyId) }
}

pub(super) fn is_header_safe(key_id: &str) -> bool {
    key_id.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b',')
}

/// Why there are no usable credentials. Errors name places, never values.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("invalid configuration file {}", path.display())]
    ConfigFile { path: PathBuf, source: ConfigFileError },
    #[error("{place} has no {what}")]
    Missing { what: &'static str, place: String },
    #[error("{origin} is not a usable key")]
    Key { origin: String, source: KeyError },
    /// The server would respond with 401 to everything.
    #[error("{origin} has the fingerprint {actual}, but {configured} is configured")]
    Fingerprint { origin: String, configured: String, actual: String },
    #[error("the security token expired at {at}; refresh it with `oci session refresh`")]
    Expired { at: Timestamp },
    #[error(
        "`{0}` is not a supported authentication type; use user_principal, security_token, resource_principal, \
         instance_principal or oke_workload_identity"
    )]
    Unsupported(String),
    /// A profile asks for an identity that no file can hold.
    #[error("{place} sets authentication_type={kind}; set the environment variable AUTH_TYPE instead")]
    ProfileType { kind: String, place: String },
    /// A Secret asks for the identity of the operator.
    #[error("a Secret cannot authenticate as `{0}`; use user_principal or security_token")]
    SecretType(String),
    #[error(transparent)]
    Exchange(#[from] Arc<ExchangeError>),
    #[error("the metadata service reports no usable region")]
    Region(#[from] RegionError),
    /// The key id cannot be put into a header.
    #[error("tenancy, user, fingerprint or token contains invalid characters")]
    KeyId,
}

impl AuthError {
    /// Whether a retry may help soon.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self, Self::Exchange(error) if error.is_transient())
    }
}
