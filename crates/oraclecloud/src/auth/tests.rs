use std::collections::BTreeMap;
use std::error::Error as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::Request;
use secrecy::{ExposeSecret as _, SecretString};
use tempfile::TempDir;

use super::*;
use crate::key::{GeneratedKey, testing};
use crate::sign::Authorization;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn nothing(_: &str) -> Option<String> {
    None
}

/// Writes a file with a modification time that differs from its last one, even within the same tick.
fn write(path: &Path, text: &str) {
    let before =
        fs::metadata(path).and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    fs::write(path, text).unwrap();
    fs::File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(before + Duration::from_secs(1))
        .unwrap();
}

fn token(expires: i64, marker: &str) -> String {
    let claims = BASE64_URL_SAFE_NO_PAD.encode(format!(r#"{{"exp":{expires},"sub":"{marker}"}}"#));
    format!("e30.{claims}.c2ln")
}

/// The signer of configured credentials.
fn signer(credentials: &Credentials, now: Timestamp) -> Result<Arc<Signer>, AuthError> {
    match &*credentials.0 {
        Provider::Configured { source, loaded } => {
            with_loaded(source, loaded, now, |loaded| loaded.signer.clone())
        }
        Provider::Exchanged(_) => panic!("{credentials:?} is not configured"),
    }
}

/// The key id of a signed request.
fn key_id(credentials: &Credentials, now: Timestamp) -> Result<String, AuthError> {
    let mut request = Request::get("http://localhost/").body(()).unwrap();
    signer(credentials, now)?.sign(&mut request, b"", now);
    let authorization = Authorization::parse(request.headers()["authorization"].to_str().unwrap()).unwrap();
    Ok(authorization.key_id.expose_secret().to_owned())
}

/// The message of an error with its cause.
fn message(error: &AuthError) -> String {
    error.source().map_or(error.to_string(), |source| format!("{error}: {source}"))
}

fn user_profile(folder: &Path, fingerprint: &str) -> String {
    format!(
        "[DEFAULT]\ntenancy=t\nuser=u\nfingerprint={fingerprint}\nkey_file={}/key.pem\nregion=phx\n",
        folder.display()
    )
}

#[test]
fn a_profile_with_an_api_key_signs_as_that_user() {
    let folder = TempDir::new().unwrap();
    write(&folder.path().join("key.pem"), testing::PEM);
    write(&folder.path().join("config"), &user_profile(folder.path(), testing::FINGERPRINT));
    let credentials = Credentials::from_config_file(folder.path().join("config"), None, &nothing);
    assert_eq!(key_id(&credentials, NOW).unwrap(), format!("t/u/{}", testing::FINGERPRINT));
    assert_eq!(credentials.region(NOW).unwrap().as_deref(), Some("phx"));
}

#[test]
fn a_key_file_below_the_home_folder_is_found() {
    let folder = TempDir::new().unwrap();
    write(&folder.path().join("key.pem"), testing::PEM);
    let config = user_profile(Path::new("~"), testing::FINGERPRINT);
    write(&folder.path().join("config"), &config);
    let home = folder.path().display().to_string();
    let environment = move |name: &str| (name == "HOME").then(|| home.clone());
    let credentials = Credentials::from_config_file(folder.path().join("config"), None, &environment);
    assert!(key_id(&credentials, NOW).is_ok());
}

#[test]
fn a_rotated_key_is_used_without_a_restart() {
    let folder = TempDir::new().unwrap();
    let (key, config) = (folder.path().join("key.pem"), folder.path().join("config"));
    write(&key, testing::PEM);
    write(&config, &user_profile(folder.path(), testing::FINGERPRINT));
    let credentials = Credentials::from_config_file(&config, None, &nothing);
    assert!(key_id(&credentials, NOW).unwrap().ends_with(testing::FINGERPRINT));

    let next = GeneratedKey::generate().unwrap();
    write(&key, next.private_pem.expose_secret());
    let halfway = key_id(&credentials, NOW).unwrap_err();
    assert!(matches!(halfway, AuthError::Fingerprint { .. }), "{halfway}");
    write(&config, &user_profile(folder.path(), &next.fingerprint));
    assert!(key_id(&credentials, NOW).unwrap().ends_with(&next.fingerprint));
}

#[test]
fn an_expired_token_is_an_error_until_the_file_is_refreshed() {
    let folder = TempDir::new().unwrap();
    write(&folder.path().join("key.pem"), testing::PEM);
    write(&folder.path().join("token"), &format!("{}\n", token(100, "first")));
    let config = format!(
        "[SESSION]\nkey_file={0}/key.pem\nsecurity_token_file={0}/token\nregion=phx\n",
        folder.path().display()
    );
    write(&folder.path().join("config"), &config);
    let credentials = Credentials::from_config_file(folder.path().join("config"), Some("SESSION"), &nothing);
    let at = |second| Timestamp::from_second(second).unwrap();
    assert_eq!(key_id(&credentials, at(99)).unwrap(), format!("ST${}", token(100, "first")));
    assert_eq!(
        key_id(&credentials, at(100)).unwrap_err().to_string(),
        "the security token expired at 1970-01-01T00:01:40Z; refresh it with `oci session refresh`"
    );
    write(&folder.path().join("token"), &token(900, "second"));
    assert_eq!(key_id(&credentials, at(100)).unwrap(), format!("ST${}", token(900, "second")));
}

#[test]
fn a_resource_principal_takes_values_and_paths() {
    let folder = TempDir::new().unwrap();
    let key = folder.path().join("key.pem");
    write(&key, testing::PEM);
    let variables = |rpst: &str, pem: &str| {
        BTreeMap::from([
            ("OCI_RESOURCE_PRINCIPAL_VERSION", "2.2".to_owned()),
            ("OCI_RESOURCE_PRINCIPAL_RPST", rpst.to_owned()),
            ("OCI_RESOURCE_PRINCIPAL_PRIVATE_PEM", pem.to_owned()),
            ("OCI_RESOURCE_PRINCIPAL_REGION", "us-phoenix-1".to_owned()),
        ])
    };
    write(&folder.path().join("rpst"), &token(100, "file"));
    let rpst = folder.path().join("rpst").display().to_string();
    for (variables, expected) in [
        (variables(&token(100, "value"), testing::PEM), token(100, "value")),
        (variables(&rpst, &key.display().to_string()), token(100, "file")),
    ] {
        let environment = |name: &str| variables.get(name).cloned();
        for credentials in [
            Credentials::from_resource_principal(&environment).unwrap(),
            Credentials::discover(&environment).unwrap(),
        ] {
            assert_eq!(key_id(&credentials, NOW).unwrap(), format!("ST${expected}"));
            assert_eq!(credentials.region(NOW).unwrap().as_deref(), Some("us-phoenix-1"));
        }
    }
    let old = |name: &str| (name == "OCI_RESOURCE_PRINCIPAL_VERSION").then(|| "1.1".to_owned());
    assert_eq!(
        Credentials::discover(&old).unwrap_err().to_string(),
        "`resource principal of version 1.1` is not a supported authentication type; use user_principal, \
         security_token, resource_principal, instance_principal or oke_workload_identity"
    );
}

fn secret(entries: &[(&str, &str)]) -> BTreeMap<String, SecretString> {
    entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect()
}

#[test]
fn the_entries_of_a_secret_are_credentials() {
    let user = [
        ("tenancy", "t\n"),
        ("user", "u"),
        ("fingerprint", testing::FINGERPRINT),
        ("privatekey", testing::PEM),
        ("region", "phx"),
    ];
    let credentials = Credentials::from_secret(&secret(&user)).unwrap();
    assert_eq!(key_id(&credentials, NOW).unwrap(), format!("t/u/{}", testing::FINGERPRINT));

    let encrypted = [
        ("auth_type", "security_token"),
        ("security_token", &token(9, "x")),
        ("privatekey", include_str!("../../testdata/encrypted.pem")),
        ("passphrase", "correct\n"),
    ];
    let credentials = Credentials::from_secret(&secret(&encrypted)).unwrap();
    assert_eq!(key_id(&credentials, NOW).unwrap(), format!("ST${}", token(9, "x")));

    for missing in ["tenancy", "user", "fingerprint", "privatekey"] {
        let mut entries = secret(&user);
        entries.remove(missing);
        let error = Credentials::from_secret(&entries).unwrap_err();
        assert_eq!(error.to_string(), format!("the Secret has no {missing}"));
    }
}

#[test]
fn a_secret_cannot_use_the_identity_of_the_operator() {
    for kind in ["instance_principal", "oke_workload_identity", "resource_principal"] {
        let entries = secret(&[("auth_type", kind), ("privatekey", testing::PEM)]);
        let error = Credentials::from_secret(&entries).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("a Secret cannot authenticate as `{kind}`; use user_principal or security_token")
        );
    }
}

#[test]
fn the_environment_selects_the_credentials() {
    let check = |variables: &[(&str, &str)], expected: Result<&str, &str>| {
        let environment = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let found = Credentials::discover(&environment).map(|found| format!("{found:?}"));
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(found.map_err(|error| error.to_string()), expected, "{variables:?}");
    };
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join(".oci")).unwrap();
    let home = folder.path().to_str().unwrap();
    let config = folder.path().join(".oci/config").display().to_string();
    check(&[("AUTH_TYPE", "instance_principal")], Ok("Credentials(the instance)"));
    check(&[("AUTH_TYPE", " instance_principal "), ("PRIVATEKEY", "x")], Ok("Credentials(the instance)"));
    check(&[("USEINSTANCEPRINCIPAL", "true")], Ok("Credentials(the instance)"));
    check(&[("USEINSTANCEPRINCIPAL", "true"), ("PRIVATEKEY", "x")], Err("the environment has no tenancy"));
    check(
        &[("AUTH_TYPE", "oke_workload_identity"), ("KUBERNETES_SERVICE_HOST", "10.96.0.1")],
        Ok("Credentials(the workload)"),
    );
    check(&[("AUTH_TYPE", "oke_workload_identity")], Err("the environment has no KUBERNETES_SERVICE_HOST"));
    check(&[("HOME", home)], Ok("Credentials(the instance)"));
    write(Path::new(&config), "");
    check(&[("HOME", home)], Ok(&format!("Credentials(profile DEFAULT of {config})")));
    check(&[("OCI_CONFIG_FILE_PATH", "/no/file")], Ok("Credentials(profile DEFAULT of /no/file)"));
    check(
        &[("AUTH_TYPE", "instance_principal_delegation_token")],
        Err(
            "`instance_principal_delegation_token` is not a supported authentication type; use user_principal, \
             security_token, resource_principal, instance_principal or oke_workload_identity",
        ),
    );
}

#[test]
fn credentials_in_the_environment_ignore_a_login_name() {
    let check = |user: &str, expected: Result<&str, &str>| {
        let environment = |name: &str| match name {
            "USER" => Some(user.to_owned()),
            "TENANCY" => Some("t".to_owned()),
            "FINGERPRINT" => Some(testing::FINGERPRINT.to_owned()),
            "PRIVATEKEY" => Some(testing::PEM.to_owned()),
            _ => None,
        };
        let found = Credentials::discover(&environment).map(|found| key_id(&found, NOW).unwrap());
        let expected = expected.map(|user| format!("t/{user}/{}", testing::FINGERPRINT));
        assert_eq!(found.map_err(|error| error.to_string()), expected.map_err(str::to_owned));
    };
    check("ocid1.user.oc1..me", Ok("ocid1.user.oc1..me"));
    check("root", Err("the environment has no user"));
}

#[test]
fn an_error_names_its_place() {
    let folder = TempDir::new().unwrap();
    let config = folder.path().join("config");
    let at = folder.path().display();
    let check = |text: Option<&str>, expected: String| {
        if let Some(text) = text {
            write(&config, text);
        }
        let credentials = Credentials::from_config_file(&config, None, &nothing);
        assert_eq!(message(&signer(&credentials, NOW).unwrap_err()), expected);
    };
    check(None, format!("cannot read {at}/config: No such file or directory (os error 2)"));
    check(
        Some("[A]\n"),
        format!("invalid configuration file {at}/config: no profile `DEFAULT`; the file has A"),
    );
    check(Some("[DEFAULT]\n"), format!("profile DEFAULT of {at}/config has no key_file"));
    let profile = user_profile(folder.path(), "aa:bb");
    check(Some(&profile), format!("cannot read {at}/key.pem: No such file or directory (os error 2)"));
    write(&folder.path().join("key.pem"), "not a key");
    check(
        Some(&profile),
        format!("{at}/key.pem is not a usable key: it contains no PEM block of a private key"),
    );
    write(&folder.path().join("key.pem"), testing::PEM);
    check(
        Some(&profile),
        format!("{at}/key.pem has the fingerprint {}, but aa:bb is configured", testing::FINGERPRINT),
    );
    let profile = user_profile(folder.path(), testing::FINGERPRINT).replace("user=u", "user=u u");
    check(Some(&profile), "tenancy, user, fingerprint or token contains invalid characters".to_owned());
}

#[test]
fn no_secret_is_in_the_debug_output() {
    let entries = secret(&[
        ("auth_type", "security_token"),
        ("security_token", "very.secret.token"),
        ("privatekey", testing::PEM),
        ("passphrase", "open sesame"),
    ]);
    let credentials = Credentials::from_secret(&entries).unwrap();
    signer(&credentials, NOW).unwrap();
    insta::assert_debug_snapshot!(credentials, @"Credentials(a token)");
}
