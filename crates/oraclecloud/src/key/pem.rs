//! PEM blocks, parsed leniently: OCI's console appends a line of its own to the keys it generates.
//!
//! rustls' parser skips encrypted keys, and it leaves copies of a key in memory; this one wipes what it reads.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use secrecy::zeroize::Zeroizing;

pub(crate) struct Block<'a> {
    /// For example `RSA PRIVATE KEY`.
    pub(crate) label: &'a str,
    /// Whether it has headers, as in OpenSSL's legacy encryption.
    pub(crate) has_headers: bool,
    /// Wiped when dropped, because it may be a key.
    pub(crate) der: Zeroizing<Vec<u8>>,
}

impl<'a> Block<'a> {
    /// The first block whose label has this ending.
    pub(crate) fn find(text: &'a str, label_end: &str) -> Option<Self> {
        let mut lines = text.lines().map(str::trim);
        let label = lines.by_ref().find_map(|line| {
            let label = line.strip_prefix("-----BEGIN ")?.strip_suffix("-----")?;
            label.ends_with(label_end).then_some(label)
        })?;
        let end = format!("-----END {label}-----");
        let mut base64 = Zeroizing::new(String::new());
        let mut has_headers = false;
        for line in lines {
            if line == end {
                let der = Zeroizing::new(BASE64_STANDARD.decode(base64.as_bytes()).unwrap_or_default());
                return Some(Self { label, has_headers, der });
            }
            if line.contains(':') {
                has_headers = true;
            } else {
                base64.push_str(line);
            }
        }
        None
    }
}

pub(crate) fn encode(label: &str, der: &[u8]) -> String {
    let base64 = Zeroizing::new(BASE64_STANDARD.encode(der));
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in base64.as_bytes().chunks(64) {
        text.push_str(std::str::from_utf8(line).expect("Base64 is ASCII"));
        text.push('\n');
    }
    text + &format!("-----END {label}-----\n")
}
