//! Everything a client needs to know about one cluster, resolved from settings, files and variables.

use std::fmt;
use std::path::{Path, PathBuf};

use http::Uri;
use hyper_util::client::proxy::matcher::Intercept;
use kube::config::{AuthInfo, Cluster, Config};
use secrecy::{ExposeSecret as _, SecretString};

use super::credentials::Credentials;
use super::exec::{Plugin, cluster_info};
use super::pem::{Identity, certificates, pem, problem};
use super::{ConnectError, Environment, kubeconfig, oidc, proxy};
use crate::{Connection, Impersonate, Secret};

/// One cluster, and our credentials for it.
#[derive(Debug)]
pub(crate) struct Endpoint {
    /// The URL, the default namespace, and how to verify the server's certificate. The rest is not used.
    pub(crate) config: Config,
    pub(crate) proxy: Option<Intercept>,
    pub(crate) identity: Option<Identity>,
    pub(crate) credentials: Credentials,
    pub(crate) impersonate: Impersonate,
}

/// The server, and the proxy if there is one: `https://k8s.example.com:6443 through http://proxy:3128`. A URL may
/// contain a password, so only its scheme, host and port are shown.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut write = |before: &str, url: &Uri| {
            let (scheme, host) = (url.scheme_str().unwrap_or("https"), url.host().unwrap_or_default());
            write!(f, "{before}{scheme}://{host}")?;
            url.port().map_or(Ok(()), |port| write!(f, ":{port}"))
        };
        write("", &self.config.cluster_url)?;
        self.proxy.as_ref().map_or(Ok(()), |proxy| write(" through ", proxy.uri()))
    }
}

/// Reads everything `connection` refers to.
pub(crate) fn resolve(connection: &Connection, environment: &Environment) -> Result<Endpoint, ConnectError> {
    connection.validate().map_err(ConnectError::Settings)?;
    let context = connection.context.as_deref();
    let mut endpoint = if let Some(config) = kubeconfig::of(connection, environment)? {
        of_kubeconfig(&kubeconfig::select_context(config, context)?, connection, environment)?
    } else if !connection.config_paths.is_empty() {
        return Err(ConnectError::NoContexts);
    } else if connection.from_environment {
        if environment.service_host.is_none() {
            return Err(ConnectError::NothingConfigured { looked_at: environment.kubeconfig_paths() });
        }
        of_pod(environment)?
    } else if connection.in_cluster {
        of_pod(environment)?
    } else {
        inline(connection, environment)?
    };
    override_with(connection, &mut endpoint)?;
    Ok(endpoint)
}

fn inline(connection: &Connection, environment: &Environment) -> Result<Endpoint, ConnectError> {
    let server = server_url(connection.host.as_deref().unwrap_or_default(), "host")?;
    let proxy = proxy::choose(&server, connection.proxy_url.as_ref(), environment)?;
    Ok(Endpoint { proxy, ..anonymous(Config::new(server)) })
}

fn of_kubeconfig(
    selected: &kubeconfig::SelectedContext,
    connection: &Connection,
    environment: &Environment,
) -> Result<Endpoint, ConnectError> {
    let (cluster, user) = (&selected.cluster, &selected.user);
    let server = server_url(cluster.server.as_deref().unwrap_or_default(), "server of the kubeconfig")?;
    let its_proxy = cluster.proxy_url.as_deref().filter(|url| !url.is_empty()).map(Secret::from);
    let proxy = proxy::choose(&server, connection.proxy_url.as_ref().or(its_proxy.as_ref()), environment)?;
    let roots_pem = data_or_file(
        cluster.certificate_authority_data.as_deref(),
        cluster.certificate_authority.as_deref(),
        "certificate-authority",
    )?;
    let mut config = Config::new(server);
    config.root_cert =
        roots_pem.as_ref().map(|pem| certificates(pem, "certificate-authority")).transpose()?;
    if cluster.certificate_authority_data.as_deref().is_none_or(str::is_empty) {
        // Kept, because the certificates may change while we run.
        let file = cluster.certificate_authority.as_ref().filter(|path| !path.is_empty());
        config.root_cert_file = file.map(PathBuf::from);
    }
    config.accept_invalid_certs = cluster.insecure_skip_tls_verify.unwrap_or(false);
    config.tls_server_name = cluster.tls_server_name.clone().filter(|name| !name.is_empty());
    if let Some(namespace) = &selected.namespace {
        config.default_namespace.clone_from(namespace);
    }
    Ok(Endpoint {
        proxy,
        identity: identity_of(user)?,
        credentials: credentials_of(user, cluster, roots_pem.as_ref())?,
        impersonate: impersonation_of(user),
        config,
    })
}

fn of_pod(environment: &Environment) -> Result<Endpoint, ConnectError> {
    let (Some(host), Some(port)) = (&environment.service_host, &environment.service_port) else {
        return Err(ConnectError::NotInCluster);
    };
    // URLs put IPv6 addresses in brackets.
    let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    let server = server_url(&format!("https://{host}:{port}"), "KUBERNETES_SERVICE_HOST")?;
    let file = |name: &str| environment.service_account.join(name);
    let roots = read_file(&file("ca.crt"), "the certificates of the service account")?;
    let namespace = std::fs::read_to_string(file("namespace")).unwrap_or_default();
    let token = file("token");
    read_file(&token, "the token of the service account")?;
    let mut config = Config::new(server);
    config.root_cert = Some(certificates(&roots, "ca.crt of the service account")?);
    // Kept, because the certificates may change while we run.
    config.root_cert_file = Some(file("ca.crt"));
    if !namespace.trim().is_empty() {
        namespace.trim().clone_into(&mut config.default_namespace);
    }
    let credentials = Credentials::TokenFile { path: token, fallback: None };
    Ok(Endpoint { credentials, ..anonymous(config) })
}

/// Without credentials.
pub(crate) fn anonymous(config: Config) -> Endpoint {
    Endpoint {
        config,
        proxy: None,
        identity: None,
        credentials: Credentials::Anonymous,
        impersonate: Impersonate::default(),
    }
}

/// Settings beside a kubeconfig override it, as kubectl's flags do; an inline connection has nothing else.
fn override_with(connection: &Connection, endpoint: &mut Endpoint) -> Result<(), ConnectError> {
    if let Some(text) = &connection.cluster_ca_certificate {
        let name = "cluster_ca_certificate";
        endpoint.config.root_cert = Some(certificates(&pem(text.expose(), name)?, name)?);
        endpoint.config.root_cert_file = None;
    }
    endpoint.config.accept_invalid_certs |= connection.insecure;
    if let Some(name) = &connection.tls_server_name {
        endpoint.config.tls_server_name = Some(name.clone());
    }
    if let Some(impersonate) = &connection.impersonate {
        endpoint.impersonate = impersonate.clone();
    }
    if let (Some(certificate), Some(key)) = (&connection.client_certificate, &connection.client_key) {
        let names = ["client_certificate", "client_key"];
        let (certificate, key) = (pem(certificate.expose(), names[0])?, pem(key.expose(), names[1])?);
        endpoint.identity = Some(Identity::new(certificate, key, names)?);
    }
    if let Some(token) = &connection.token {
        endpoint.credentials = Credentials::Token { token: token.clone(), expires: None };
    } else if let Some(exec) = &connection.exec {
        let plugin = Box::new(Plugin::inline(exec)?);
        let is_inline = connection.host.is_some();
        endpoint.credentials =
            if is_inline { Credentials::Exec(plugin) } else { Credentials::OverridingExec(plugin) };
    }
    Ok(())
}

fn credentials_of(
    user: &AuthInfo,
    cluster: &Cluster,
    roots: Option<&Secret>,
) -> Result<Credentials, ConnectError> {
    let token = filled(user.token.as_ref());
    if let Some(file) = user.token_file.as_deref().filter(|path| !path.is_empty()) {
        let path = PathBuf::from(file);
        if token.is_none() {
            read_file(&path, "the token file")?;
        }
        return Ok(Credentials::TokenFile { path, fallback: token });
    }
    if let Some(token) = token {
        return Ok(Credentials::Token { token, expires: None });
    }
    if let (Some(user), Some(password)) = (&user.username, filled(user.password.as_ref())) {
        return Ok(Credentials::Basic { user: user.clone(), password });
    }
    if let Some(exec) = &user.exec {
        let cluster = exec.provide_cluster_info.then(|| cluster_info(cluster, roots.map(Secret::expose)));
        return Ok(Credentials::Exec(Box::new(Plugin::of_kubeconfig(exec, cluster)?)));
    }
    match &user.auth_provider {
        None => Ok(Credentials::Anonymous),
        // The only in-tree provider that still exists.
        Some(provider) if provider.name == "oidc" => oidc::credentials(&provider.config),
        Some(provider) => Err(ConnectError::AuthProvider(provider.name.clone())),
    }
}

fn identity_of(user: &AuthInfo) -> Result<Option<Identity>, ConnectError> {
    let names = ["client-certificate", "client-key"];
    let certificate =
        data_or_file(user.client_certificate_data.as_deref(), user.client_certificate.as_deref(), names[0])?;
    let key = data_or_file(
        user.client_key_data.as_ref().map(SecretString::expose_secret),
        user.client_key.as_deref(),
        names[1],
    )?;
    match (certificate, key) {
        (None, None) => Ok(None),
        (Some(certificate), Some(key)) => Identity::new(certificate, key, names).map(Some),
        (Some(_), None) => Err(problem(names[1], "must be set with client-certificate")),
        (None, Some(_)) => Err(problem(names[0], "must be set with client-key")),
    }
}

fn impersonation_of(user: &AuthInfo) -> Impersonate {
    Impersonate {
        user: user.impersonate.clone().filter(|name| !name.is_empty()),
        uid: user.impersonate_uid.clone().filter(|uid| !uid.is_empty()),
        groups: user.impersonate_groups.clone().unwrap_or_default(),
        extra: user.impersonate_user_extra.clone().unwrap_or_default().into_iter().collect(),
    }
}

/// The PEM that a kubeconfig embeds as base64 or names as a file; embedded data wins.
fn data_or_file(
    data: Option<&str>,
    file: Option<&str>,
    name: &'static str,
) -> Result<Option<Secret>, ConnectError> {
    if let Some(data) = data.filter(|data| !data.is_empty()) {
        return pem(data, &format!("{name}-data")).map(Some);
    }
    let Some(path) = file.filter(|path| !path.is_empty()) else { return Ok(None) };
    read_file(Path::new(path), name).map(Some)
}

fn read_file(path: &Path, what: &'static str) -> Result<Secret, ConnectError> {
    std::fs::read_to_string(path).map(Secret::from).map_err(|source| ConnectError::ReadFile {
        what,
        path: path.to_owned(),
        source,
    })
}

fn filled(secret: Option<&SecretString>) -> Option<Secret> {
    secret.filter(|text| !text.expose_secret().is_empty()).cloned().map(Secret::from)
}

fn server_url(text: &str, what: &'static str) -> Result<Uri, ConnectError> {
    let invalid = || ConnectError::InvalidUrl { what, example: "https://kubernetes.example.com:6443" };
    let uri: Uri = text.trim().parse().map_err(|_| invalid())?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none_or(str::is_empty) {
        return Err(invalid());
    }
    // The parser accepts ports above 65535.
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let after_host = authority.rsplit_once(']').map_or(authority, |(_, after)| after);
    if after_host.contains(':') && uri.port_u16().is_none() {
        return Err(ConnectError::InvalidPort { what });
    }
    Ok(uri)
}

#[cfg(test)]
mod tests;
