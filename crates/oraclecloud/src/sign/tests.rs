use base64::Engine as _;
use proptest::prelude::*;
use secrecy::ExposeSecret as _;

use super::*;
use crate::key::{PublicKey, testing};

/// The example in Oracle's document "Request Signatures".
const EXAMPLE_BODY: &str = r#"{
    "compartmentId": "ocid1.compartment.oc1..aaaaaaaam3we6vgnherjq5q2idnccdflvjsnog7mlr6rtdb25gilchfeyjxa",
    "instanceId": "ocid1.instance.oc1.phx.abuw4ljrlsfiqw6vzzxb43vyypt4pkodawglp3wqxjqofakrwvou52gb6s5a",
    "volumeId": "ocid1.volume.oc1.phx.abyhqljrgvttnlx73nmrwfaux7kcvzfs3s66izvxf2h4lgvyndsdsnoiwr5q"
}"#;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
}

#[test]
fn the_published_example_yields_the_published_string() {
    let hash = content_sha256(EXAMPLE_BODY.as_bytes());
    let length = EXAMPLE_BODY.len().to_string();
    let headers = headers(&[
        ("date", "Thu, 05 Jan 2014 21:31:40 GMT"),
        ("host", "iaas.us-phoenix-1.oraclecloud.com"),
        ("content-type", "application/json"),
        ("content-length", &length),
        ("x-content-sha256", &hash),
    ]);
    let uri = Uri::from_static("https://iaas.us-phoenix-1.oraclecloud.com/20160918/volumeAttachments");
    let names = [ALWAYS, WITH_BODY].concat();
    insta::assert_snapshot!(signing_string(&Method::POST, &uri, &headers, &names).unwrap(), @r"
    date: Thu, 05 Jan 2014 21:31:40 GMT
    (request-target): post /20160918/volumeAttachments
    host: iaas.us-phoenix-1.oraclecloud.com
    content-length: 316
    content-type: application/json
    x-content-sha256: V9Z20UJTvkvpJ50flBzKE32+6m2zJjweHpDMX/U4Uy0=
    ");
}

#[test]
fn escapes_in_a_query_are_signed_as_they_are_sent() {
    let headers =
        headers(&[("date", "Thu, 05 Jan 2014 21:31:40 GMT"), ("host", "iaas.us-phoenix-1.oraclecloud.com")]);
    let uri = Uri::from_static(
        "https://iaas.us-phoenix-1.oraclecloud.com/20160918/instances?displayName=TeamXInstances%3A%20all",
    );
    insta::assert_snapshot!(signing_string(&Method::GET, &uri, &headers, &ALWAYS).unwrap(), @r"
    date: Thu, 05 Jan 2014 21:31:40 GMT
    (request-target): get /20160918/instances?displayName=TeamXInstances%3A%20all
    host: iaas.us-phoenix-1.oraclecloud.com
    ");
}

#[test]
fn an_empty_body_has_the_published_hash() {
    assert_eq!(content_sha256(b""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}

#[test]
fn a_signed_request_is_complete_and_verifies() {
    let public = PublicKey::from_pem(&testing::public_pem()).unwrap();
    let signer = Signer::new("tenancy/user/fingerprint".to_owned(), testing::key());
    let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    for (method, body, signed) in [
        (Method::GET, "", 3),
        (Method::DELETE, "", 3),
        (Method::POST, "{}", 6),
        (Method::PUT, "{\"a\":1}", 6),
        (Method::POST, "", 6),
    ] {
        let uri = "http://127.0.0.1:8080/20210201/queues?limit=1&page=a%2Fb";
        let mut request = Request::builder().method(&method).uri(uri).body(()).unwrap();
        signer.sign(&mut request, body.as_bytes(), now);
        let headers = request.headers();
        assert_eq!(headers["date"], "Fri, 02 Jan 2026 03:04:05 GMT");
        assert_eq!(headers["host"], "127.0.0.1:8080");
        assert!(headers["authorization"].is_sensitive());
        let read = Authorization::parse(headers["authorization"].to_str().unwrap()).unwrap();
        assert_eq!(read.key_id.expose_secret(), "tenancy/user/fingerprint");
        assert_eq!(read.algorithm, "rsa-sha256");
        assert_eq!(read.headers.len(), signed, "{method}");
        assert_eq!(read.missing(&method), Vec::<&str>::new());
        let names: Vec<&str> = read.headers.iter().map(String::as_str).collect();
        let text = signing_string(&method, request.uri(), headers, &names).unwrap();
        assert!(public.verifies(text.as_bytes(), &read.signature), "{method}");
        assert!(!public.verifies(format!("{text} ").as_bytes(), &read.signature), "{method}");
    }
}

#[test]
fn missing_signed_headers_are_reported() {
    let check = |names: &str, method: Method, missing: &[&str]| {
        let text = format!(
            r#"Signature version="1",headers="{names}",keyId="k",algorithm="rsa-sha256",signature="AA==""#
        );
        assert_eq!(Authorization::parse(&text).unwrap().missing(&method), missing, "{names}");
    };
    check("date (request-target) host", Method::GET, &[]);
    check("x-date host (request-target)", Method::GET, &[]);
    check("date host", Method::GET, &["(request-target)"]);
    check("date (request-target) host", Method::POST, &WITH_BODY);
    check("Date (Request-Target) HOST", Method::DELETE, &[]);
}

#[test]
fn a_malformed_header_is_refused_with_a_reason() {
    let check = |text: &str, reason: &str| {
        let message = Authorization::parse(text).err().unwrap().to_string();
        assert_eq!(message, format!("the Authorization header cannot be read: {reason}"));
    };
    check("", "it has no parameters");
    check("Bearer abc", "its scheme is not Signature");
    check(r#"Signature keyId="k",algorithm="a""#, "it has no signature");
    check(r#"Signature algorithm="a",signature="AA==""#, "it has no keyId");
    check(r#"Signature keyId="k",signature="AA==""#, "it has no algorithm");
    check(r#"Signature version="2",keyId="k",algorithm="a",signature="AA==""#, "its version is not 1");
    check(r#"Signature keyId="k",algorithm="a",signature="?""#, "its signature is not Base64");
}

#[test]
fn the_debug_output_shows_neither_token_nor_key() {
    let signer = Signer::new("ST$very-secret-token".to_owned(), testing::key());
    let text = format!("{signer:?}");
    assert!(!text.contains("very-secret-token") && text.contains(testing::FINGERPRINT), "{text}");
    let mut request = Request::get("http://localhost/").body(()).unwrap();
    signer.sign(&mut request, b"", Timestamp::UNIX_EPOCH);
    assert!(!format!("{:?}", request.headers()).contains("very-secret-token"));
}

#[test]
fn a_date_with_a_wrong_weekday_is_parsed() {
    let expected: Timestamp = "2014-01-05T21:31:40Z".parse().unwrap();
    assert_eq!(parse_http_date("Thu, 05 Jan 2014 21:31:40 GMT"), Some(expected));
    assert_eq!(parse_http_date("yesterday"), None);
}

proptest! {
    #[test]
    fn parsing_never_panics(text in r#"(Signature )?[ -~]{0,40}(keyId="[ -~]{0,9}",?)?(signature="[A-Za-z=]{0,9}")?"#) {
        if let Ok(read) = Authorization::parse(&text) {
            prop_assert!(read.headers.len() <= text.len());
        }
    }

    #[test]
    fn a_date_round_trips(seconds in 0_i64..4_102_444_800) {
        let time = Timestamp::from_second(seconds).unwrap();
        prop_assert_eq!(parse_http_date(&http_date(time)), Some(time));
    }

    #[test]
    fn every_change_to_what_is_signed_changes_the_string(
        path in "/[a-zA-Z0-9/%._~-]{0,40}",
        other in "/[a-zA-Z0-9/%._~-]{0,40}",
        body in proptest::collection::vec(any::<u8>(), 0..64),
        changed in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        prop_assume!(path.parse::<Uri>().is_ok() && other.parse::<Uri>().is_ok());
        let text = |path: &str, body: &[u8]| {
            let headers = headers(&[("x-content-sha256", &content_sha256(body))]);
            signing_string(&Method::PUT, &path.parse().unwrap(), &headers, &[REQUEST_TARGET, "x-content-sha256"])
                .unwrap()
        };
        prop_assert_eq!(text(&path, &body) == text(&other, &changed), path == other && body == changed);
        let decoded = BASE64_STANDARD.decode(content_sha256(&body)).unwrap();
        prop_assert_eq!(decoded.len(), 32);
    }
}
