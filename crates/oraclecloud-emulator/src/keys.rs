//! Trusted keys, and the key and configuration files for clients.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use oraclecloud::key::{GeneratedKey, KeyError, PublicKey};
use secrecy::{ExposeSecret as _, SecretString};

use crate::ids::{REGION, TENANCY, USER};

const KEY_FILE: &str = "oci_api_key.pem";
const PUBLIC_KEY_FILE: &str = "oci_api_key_public.pem";
const CONFIG_FILE: &str = "config";

/// The folder with keys: every public key in it is trusted, even one that is added later.
pub(crate) struct Keys {
    folder: PathBuf,
    known: Vec<PublicKey>,
    sessions: Vec<Session>,
}

/// A client that signs with its own key and a token issued here.
struct Session {
    token: SecretString,
    key: PublicKey,
    expires: Timestamp,
}

impl Keys {
    /// Creates a key and a configuration file in the folder unless they exist, and reads the public keys in it.
    pub(crate) fn open(folder: &Path) -> Result<Self, KeysError> {
        fs::create_dir_all(folder).map_err(at(folder))?;
        let folder = folder.canonicalize().map_err(at(folder))?;
        let (private, public, config) =
            (folder.join(KEY_FILE), folder.join(PUBLIC_KEY_FILE), folder.join(CONFIG_FILE));
        if !private.exists() || !public.exists() {
            let key = GeneratedKey::generate()?;
            write_private(&private, key.private_pem.expose_secret())?;
            fs::write(&public, &key.public_pem).map_err(at(&public))?;
        }
        let text = fs::read_to_string(&public).map_err(at(&public))?;
        let fingerprint = PublicKey::from_pem(&text)
            .ok_or_else(|| KeysError::NoPublicKey { path: public.clone() })?
            .fingerprint();
        let profile = format!(
            "[DEFAULT]\nuser={USER}\ntenancy={TENANCY}\nregion={REGION}\nfingerprint={fingerprint}\nkey_file={}\n",
            private.display()
        );
        // An up-to-date file is left alone because it may be in use.
        if fs::read_to_string(&config).is_ok_and(|text| text == profile) {
            tracing::debug!(path = %config.display(), "the configuration file is up to date");
        } else {
            write_private(&config, &profile)?;
        }
        let known = read(&folder);
        Ok(Self { folder, known, sessions: Vec::new() })
    }

    pub(crate) fn config_file(&self) -> PathBuf {
        self.folder.join(CONFIG_FILE)
    }

    /// The key with this fingerprint; reads the folder again if it is unknown.
    pub(crate) fn by_fingerprint(&mut self, fingerprint: &str) -> Option<&PublicKey> {
        let position = |keys: &[PublicKey]| keys.iter().position(|key| key.fingerprint() == fingerprint);
        if position(&self.known).is_none() {
            self.known = read(&self.folder);
        }
        position(&self.known).map(|index| &self.known[index])
    }

    /// The key of a token that has not expired.
    pub(crate) fn by_token(&self, token: &str, now: Timestamp) -> Option<&PublicKey> {
        let session = self.sessions.iter().find(|session| session.token.expose_secret() == token)?;
        (session.expires > now).then_some(&session.key)
    }

    /// Opens a session: a key, a token and a configuration file with the profile `SESSION`. Opening it again replaces
    /// the files, like a refresh.
    pub(crate) fn open_session(&mut self, expires: Timestamp) -> Result<PathBuf, KeysError> {
        let key = GeneratedKey::generate()?;
        let public = PublicKey::from_pem(&key.public_pem).expect("a generated key is valid");
        let token = self.issue(public, expires);
        let (private, token_file, config) = (
            self.folder.join("session_key.pem"),
            self.folder.join("session_token"),
            self.folder.join("session_config"),
        );
        let profile = format!(
            "[SESSION]\nregion={REGION}\nkey_file={}\nsecurity_token_file={}\n",
            private.display(),
            token_file.display()
        );
        for (path, text) in
            [(&private, key.private_pem.expose_secret()), (&token_file, token.as_str()), (&config, &profile)]
        {
            write_private(path, text)?;
        }
        Ok(config)
    }

    /// Issues a token for a client that signs with this key.
    pub(crate) fn issue(&mut self, key: PublicKey, expires: Timestamp) -> String {
        let claims = format!(r#"{{"sub":"{USER}","tenant":"{TENANCY}","exp":{}}}"#, expires.as_second());
        let encode = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
        let token =
            format!("{}.{}.{}", encode(r#"{"alg":"none"}"#), encode(&claims), encode(&key.fingerprint()));
        self.sessions.push(Session { token: token.clone().into(), key, expires });
        token
    }

    pub(crate) fn revoke_tokens(&mut self) {
        self.sessions.clear();
    }
}

/// The public keys in a folder; other files are ignored.
fn read(folder: &Path) -> Vec<PublicKey> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let pem = files.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "pem"));
    pem.filter_map(|path| PublicKey::from_pem(&fs::read_to_string(path).ok()?)).collect()
}

/// Writes a file that only its owner can read, where the system supports that.
fn write_private(path: &Path, text: &str) -> Result<(), KeysError> {
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.create(true).truncate(true).write(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(at(path))
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> KeysError {
    let path = path.to_owned();
    move |source| KeysError::File { path, source }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum KeysError {
    #[error("cannot use {}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("{} is not a public key in PEM", path.display())]
    NoPublicKey { path: PathBuf },
    #[error(transparent)]
    Key(#[from] KeyError),
}
