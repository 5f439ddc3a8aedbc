//! Keys that the server trusts, and the files it prepares for clients.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use oraclecloud::key::{GeneratedKey, KeyError, PublicKey};
use secrecy::{ExposeSecret as _, SecretString};

use crate::identity::{REGION, TENANCY, USER};

/// The private key of the client that the configuration file is for.
const KEY_FILE: &str = "oci_api_key.pem";
const PUBLIC_KEY_FILE: &str = "oci_api_key_public.pem";
const CONFIG_FILE: &str = "config";

/// The folder with keys: every public key in it is trusted, also one that is put there later.
pub(crate) struct Keys {
    folder: PathBuf,
    known: Vec<PublicKey>,
    sessions: Vec<Session>,
}

/// Somebody who signs with a key of his own and a token of ours.
struct Session {
    token: SecretString,
    key: PublicKey,
    expires: Timestamp,
}

impl Keys {
    /// Makes a key and a configuration file in the folder, unless they are there, and reads the public keys in it.
    pub(crate) fn open(folder: &Path) -> Result<Self, KeysError> {
        let doing = |path: &Path| {
            let path = path.to_owned();
            move |source| KeysError::File { path, source }
        };
        fs::create_dir_all(folder).map_err(doing(folder))?;
        let folder = folder.canonicalize().map_err(doing(folder))?;
        let (private, public, config) =
            (folder.join(KEY_FILE), folder.join(PUBLIC_KEY_FILE), folder.join(CONFIG_FILE));
        if !private.exists() || !public.exists() {
            let key = GeneratedKey::generate()?;
            write_private(&private, key.private_pem.expose_secret()).map_err(doing(&private))?;
            fs::write(&public, &key.public_pem).map_err(doing(&public))?;
        }
        let text = fs::read_to_string(&public).map_err(doing(&public))?;
        let fingerprint = PublicKey::from_pem(&text)
            .ok_or_else(|| KeysError::NoPublicKey { path: public.clone() })?
            .fingerprint();
        let profile = format!(
            "[DEFAULT]\nuser={USER}\ntenancy={TENANCY}\nregion={REGION}\nfingerprint={fingerprint}\nkey_file={}\n",
            private.display()
        );
        // One that is as it should be stays untouched, for it may be in use.
        if fs::read_to_string(&config).is_ok_and(|text| text == profile) {
            tracing::debug!(path = %config.display(), "the configuration file is there already");
        } else {
            write_private(&config, &profile).map_err(doing(&config))?;
        }
        let known = read(&folder);
        Ok(Self { folder, known, sessions: Vec::new() })
    }

    /// The configuration file for clients.
    pub(crate) fn config_file(&self) -> PathBuf {
        self.folder.join(CONFIG_FILE)
    }

    /// The key with this fingerprint. One that is not known may have been added since.
    pub(crate) fn by_fingerprint(&mut self, fingerprint: &str) -> Option<&PublicKey> {
        let position = |keys: &[PublicKey]| keys.iter().position(|key| key.fingerprint() == fingerprint);
        if position(&self.known).is_none() {
            self.known = read(&self.folder);
        }
        position(&self.known).map(|index| &self.known[index])
    }

    /// The key that goes with a token, while the token is good.
    pub(crate) fn by_token(&self, token: &str, now: Timestamp) -> Option<&PublicKey> {
        let session = self.sessions.iter().find(|session| session.token.expose_secret() == token)?;
        (session.expires > now).then_some(&session.key)
    }

    /// Opens a session: a key, a token and a configuration file with the profile `SESSION`. Opened again, the files
    /// are replaced, as refreshing a session does.
    pub(crate) fn open_session(&mut self, expires: Timestamp) -> Result<PathBuf, KeysError> {
        let key = GeneratedKey::generate()?;
        let public = PublicKey::from_pem(&key.public_pem).expect("a key that was just made can be read");
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
            write_private(path, text).map_err(|source| KeysError::File { path: path.clone(), source })?;
        }
        Ok(config)
    }

    /// A token for somebody who signs with this key until then.
    pub(crate) fn issue(&mut self, key: PublicKey, expires: Timestamp) -> String {
        let claims = format!(r#"{{"sub":"{USER}","tenant":"{TENANCY}","exp":{}}}"#, expires.as_second());
        let encode = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
        let token =
            format!("{}.{}.{}", encode(r#"{"alg":"none"}"#), encode(&claims), encode(&key.fingerprint()));
        self.sessions.push(Session { token: token.clone().into(), key, expires });
        token
    }

    /// Forgets every session, as if its tokens had been withdrawn.
    pub(crate) fn withdraw_tokens(&mut self) {
        self.sessions.clear();
    }
}

/// The public keys in a folder; other files are none of our business.
fn read(folder: &Path) -> Vec<PublicKey> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let pem = files.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "pem"));
    pem.filter_map(|path| PublicKey::from_pem(&fs::read_to_string(path).ok()?)).collect()
}

/// Writes a file that only its owner may read, where the system knows such a thing.
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.create(true).truncate(true).write(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeysError {
    #[error("cannot use {}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("{} is no public key in PEM", path.display())]
    NoPublicKey { path: PathBuf },
    #[error(transparent)]
    Key(#[from] KeyError),
}
