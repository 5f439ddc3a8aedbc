//! The sources of credentials: a configuration file, the entries of a Secret, or the environment.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use secrecy::{ExposeSecret as _, SecretString};

use super::exchange::Exchange;
use super::{AuthError, Credentials};
use crate::config_file::DEFAULT_PROFILE;

/// Reads environment variables; a closure in tests.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

pub fn process_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Where a configuration file is mounted for operators.
const SYSTEM_CONFIG: &str = "/etc/oci/config";

pub(super) enum Source {
    /// A profile of a configuration file, which is itself read again when it changes.
    ConfigFile {
        path: PathBuf,
        profile: String,
        home: Option<PathBuf>,
    },
    Given {
        principal: Principal,
        region: Option<String>,
    },
}

pub(super) enum Principal {
    /// A user's API key.
    User { tenancy: String, user: String, fingerprint: String, key: Material, pass_phrase: Option<Material> },
    /// A token, with the key that it is bound to.
    Token { token: Material, key: Material, pass_phrase: Option<Material> },
}

/// A secret, or the file that contains it.
pub(super) enum Material {
    Inline(SecretString),
    File(PathBuf),
}

impl Credentials {
    pub fn from_config_file(
        path: impl Into<PathBuf>,
        profile: Option<&str>,
        environment: Environment<'_>,
    ) -> Self {
        Self::configured(Source::ConfigFile {
            path: path.into(),
            profile: profile.unwrap_or(DEFAULT_PROFILE).to_owned(),
            home: environment("HOME").map(PathBuf::from),
        })
    }

    /// The entries of a Secret `ocicredentials`, with keys in lower case: `auth_type`, `tenancy`, `user`,
    /// `fingerprint`, `privatekey`, `passphrase`, `region`; for a security token also `security_token`.
    ///
    /// Paths are not among them: write access to Secrets in a namespace must not make the operator read its own files.
    pub fn from_secret(entries: &BTreeMap<String, SecretString>) -> Result<Self, AuthError> {
        Self::from_entries(entries, "the Secret")
    }

    fn from_entries(entries: &BTreeMap<String, SecretString>, place: &str) -> Result<Self, AuthError> {
        let text = |name: &'static str| {
            entries
                .get(name)
                .map(|value| value.expose_secret().trim().to_owned())
                .filter(|value| !value.is_empty())
        };
        let required =
            |name: &'static str| text(name).ok_or(AuthError::Missing { what: name, place: place.to_owned() });
        let key = Material::Inline(required("privatekey")?.into());
        let pass_phrase = text("passphrase").map(|value| Material::Inline(value.into()));
        let principal = match text("auth_type").as_deref() {
            None | Some("user_principal") => Principal::User {
                tenancy: required("tenancy")?,
                user: required("user")?,
                fingerprint: required("fingerprint")?,
                key,
                pass_phrase,
            },
            Some("security_token") => Principal::Token {
                token: Material::Inline(required("security_token")?.into()),
                key,
                pass_phrase,
            },
            Some(other) => return Err(AuthError::SecretType(other.to_owned())),
        };
        Ok(Self::configured(Source::Given { principal, region: text("region") }))
    }

    /// A resource principal of version 2.2, from the variables `OCI_RESOURCE_PRINCIPAL_*`.
    pub fn from_resource_principal(environment: Environment<'_>) -> Result<Self, AuthError> {
        let read = |name: &'static str| required(environment, name);
        // A path names a file, which is replaced before the token in it expires.
        let material = |value: String| {
            if value.starts_with('/') { Material::File(value.into()) } else { Material::Inline(value.into()) }
        };
        let version = read("OCI_RESOURCE_PRINCIPAL_VERSION")?;
        if version != "2.2" {
            return Err(AuthError::Unsupported(format!("resource principal of version {version}")));
        }
        let principal = Principal::Token {
            token: material(read("OCI_RESOURCE_PRINCIPAL_RPST")?),
            key: material(read("OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM")?),
            pass_phrase: read("OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM_PASSPHRASE").ok().map(material),
        };
        Ok(Self::configured(Source::Given {
            principal,
            region: Some(read("OCI_RESOURCE_PRINCIPAL_REGION")?),
        }))
    }

    /// The identity of the instance that the program runs on. `OCI_METADATA_BASE_URL` overrides the address of its
    /// metadata service.
    pub fn from_instance(environment: Environment<'_>) -> Self {
        Self::exchanged(Exchange::of_instance(environment, false))
    }

    /// The identity of the pod that the program runs in, on an enhanced OKE cluster. `OCI_RESOURCE_PRINCIPAL_REGION`
    /// names the region; `OCI_KUBERNETES_SERVICE_ACCOUNT_CERT_PATH` and `OCI_KUBERNETES_SERVICE_ACCOUNT_TOKEN_PATH`
    /// override where Kubernetes mounts the service account.
    pub fn from_workload(environment: Environment<'_>) -> Result<Self, AuthError> {
        Exchange::of_workload(environment).map(Self::exchanged)
    }

    /// The credentials of the environment. The first of these that is set wins: `AUTH_TYPE`; a resource principal; the
    /// entries of a Secret as variables in upper case, if `PRIVATEKEY` is among them (as OSOK is deployed); the instance,
    /// if `USEINSTANCEPRINCIPAL` is `true`; the configuration file at `OCI_CONFIG_FILE_PATH`, `~/.oci/config` or
    /// `/etc/oci/config` with the profile `OCI_CONFIG_PROFILE`; and as the last resort the instance.
    pub fn discover(environment: Environment<'_>) -> Result<Self, AuthError> {
        match environment("AUTH_TYPE").as_deref().map(str::trim) {
            Some("resource_principal") => return Self::from_resource_principal(environment),
            Some("instance_principal") => return Ok(Self::from_instance(environment)),
            Some("oke_workload_identity") => return Self::from_workload(environment),
            Some("" | "user_principal" | "security_token") | None => {}
            Some(other) => return Err(AuthError::Unsupported(other.to_owned())),
        }
        if environment("OCI_RESOURCE_PRINCIPAL_VERSION").is_some() {
            return Self::from_resource_principal(environment);
        }
        if environment("PRIVATEKEY").is_some_and(|key| !key.trim().is_empty()) {
            return Self::from_entries(&variables(environment), "the environment");
        }
        if environment("USEINSTANCEPRINCIPAL").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(Self::from_instance(environment));
        }
        let at_home = || environment("HOME").map(|home| PathBuf::from(home).join(".oci/config"));
        let places = || at_home().into_iter().chain([SYSTEM_CONFIG.into()]);
        let named = environment("OCI_CONFIG_FILE_PATH").filter(|path| !path.trim().is_empty());
        let Some(path) = named.map(PathBuf::from).or_else(|| places().find(|path| path.is_file())) else {
            return Ok(Self::exchanged(Exchange::of_instance(environment, true)));
        };
        Ok(Self::from_config_file(path, environment("OCI_CONFIG_PROFILE").as_deref(), environment))
    }
}

/// The value of an environment variable that must not be missing or blank.
pub(super) fn required(environment: Environment<'_>, name: &'static str) -> Result<String, AuthError> {
    environment(name)
        .map(|value| value.trim().to_owned())
        .filter(|value| !value.is_empty())
        .ok_or_else(|| AuthError::Missing { what: name, place: "the environment".to_owned() })
}

/// The entries of a Secret, from environment variables with the same names in upper case.
fn variables(environment: Environment<'_>) -> BTreeMap<String, SecretString> {
    ["auth_type", "tenancy", "user", "fingerprint", "privatekey", "passphrase", "security_token", "region"]
        .into_iter()
        .filter_map(|name| Some((name, environment(&name.to_ascii_uppercase())?)))
        // `USER` is usually the login name.
        .filter(|(name, value)| *name != "user" || value.starts_with("ocid1.user."))
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect()
}

/// The place, never a value.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConfigFile { path, profile, .. } => write!(f, "profile {profile} of {}", path.display()),
            Self::Given { principal: Principal::User { user, .. }, .. } => write!(f, "user {user}"),
            Self::Given { principal: Principal::Token { .. }, .. } => f.write_str("a token"),
        }
    }
}
