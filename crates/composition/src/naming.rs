//! Names that never change: of composed resources, field managers, labels and annotations.

use manifest::GroupVersionKind;
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// The field manager for what the engine owns in an XR.
pub const COMPOSITE_MANAGER: &str = "apiextensions.crossplane.io/composite";
/// The field manager for what a claim owns in its XR.
pub const CLAIM_MANAGER: &str = "apiextensions.crossplane.io/claim";
/// What the field manager of composed resources begins with.
pub const COMPOSED_MANAGER_PREFIX: &str = "apiextensions.crossplane.io/composed";

/// The label that says which XR tree an object belongs to; its value prefixes generated names.
pub const LABEL_COMPOSITE: &str = "crossplane.io/composite";
/// The label with the name of the claim an object is composed for.
pub const LABEL_CLAIM_NAME: &str = "crossplane.io/claim-name";
/// The label with the namespace of the claim an object is composed for.
pub const LABEL_CLAIM_NAMESPACE: &str = "crossplane.io/claim-namespace";
/// The annotation with the stable name of a composed resource in its composition.
pub const ANNOTATION_RESOURCE_NAME: &str = "crossplane.io/composition-resource-name";
/// The annotation with the name of the thing outside Kubernetes.
pub const ANNOTATION_EXTERNAL_NAME: &str = "crossplane.io/external-name";

/// Names are used as label values, which end at 63 characters.
const MAX_NAME: usize = 63;
const HASH: usize = 12;
/// Characters the API server takes for generated names: no vowels, and nothing that reads like another.
const SUFFIX_ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX: usize = 5;

/// The name of a composed resource: `prefix`, one hyphen and twelve digits that depend on owner and key alone.
///
/// It does not depend on what exists, so a crash between choosing and storing a name cannot lead to a second child.
pub fn child_name(prefix: &str, owner_uid: &str, key: &str) -> String {
    let suffix = &hex(&Sha256::digest(format!("{owner_uid}{key}")))[..HASH];
    let mut prefix = prefix.to_owned();
    if !prefix.is_empty() && !prefix.ends_with('-') {
        prefix.push('-');
    }
    if prefix.len() + HASH > MAX_NAME {
        // Cutting in the middle of a character is impossible in a valid name, and must not panic in another.
        cut(&mut prefix, MAX_NAME - HASH);
        if !prefix.ends_with('-') {
            cut(&mut prefix, MAX_NAME - HASH - 1);
            prefix.push('-');
        }
    }
    prefix + suffix
}

/// A name for the XR of a claim, as the API server would generate it: `prefix` cut to fit and five characters drawn
/// from `random`. The caller confirms by a live read that it is free, and tries again otherwise.
pub fn generated_name(prefix: &str, random: u64) -> String {
    let mut name = prefix.to_owned();
    cut(&mut name, MAX_NAME - SUFFIX);
    let mut rest = random;
    let base = SUFFIX_ALPHABET.len() as u64;
    for _ in 0..SUFFIX {
        let digit = usize::try_from(rest % base).expect("a remainder below 27 fits");
        name.push(char::from(SUFFIX_ALPHABET[digit]));
        rest /= base;
    }
    name
}

/// The uid of an XR that exists in a file only: the same for the same XR, so that its children are named the same each
/// time it is rendered. It is a UUID of version 5 in the nil namespace.
pub fn rendered_uid(gvk: &GroupVersionKind, namespace: &str, name: &str) -> String {
    let (group, version, kind) = (gvk.group(), gvk.version(), gvk.kind());
    let text = format!("{group}/{version}, Kind={kind}\0{namespace}\0{name}");
    let mut digest = Sha1::new().chain_update([0; 16]).chain_update(text).finalize();
    digest[6] = digest[6] & 0x0f | 0x50;
    digest[8] = digest[8] & 0x3f | 0x80;
    let digits = hex(&digest[..16]);
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// The field manager of the composed resources of one XR.
///
/// It is one per XR so that two XRs that compose the same object conflict instead of taking turns. The namespace is not
/// part of it: the name is the one Crossplane has left in `managedFields`.
pub fn composed_manager(xr_name: &str, xr_type: &GroupVersionKind) -> String {
    let digest = Sha256::digest(format!("{xr_name}{}", xr_type.group_kind()));
    format!("{COMPOSED_MANAGER_PREFIX}/{}", hex(&digest))
}

/// Whether the API server would take `name` for an object of this type.
///
/// Almost every kind wants an RFC 1123 subdomain; RBAC kinds allow colons as well.
pub fn is_valid_name(name: &str, gvk: &GroupVersionKind) -> bool {
    let rbac = gvk.group() == "rbac.authorization.k8s.io"
        && matches!(gvk.kind(), "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding");
    let name = if rbac { name.replace(':', "") } else { name.to_owned() };
    let label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = label.as_bytes();
        bytes.first().is_some_and(|byte| inner(*byte))
            && bytes.last().is_some_and(|byte| inner(*byte))
            && bytes.iter().all(|byte| inner(*byte) || *byte == b'-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

/// The first `digits` hexadecimal digits of the SHA-256 of `parts`, which are kept apart.
pub(crate) fn short_hash(parts: &[&str], digits: usize) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let mut text = hex(&hash.finalize());
    text.truncate(digits);
    text
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a String does not fail");
        text
    })
}

fn cut(text: &mut String, length: usize) {
    if text.len() > length {
        let end = (0..=length).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
    }
}

#[cfg(test)]
mod tests;
