//! Identifiers: of the tenant, of resources, of requests.

use aws_lc_rs::digest;

/// The emulated region.
pub const REGION: &str = "us-phoenix-1";
/// A compartment to use; any other OCID works as well.
pub const COMPARTMENT: &str = "ocid1.compartment.oc1..plimsollsandbox";
pub(crate) const TENANCY: &str = "ocid1.tenancy.oc1..plimsollsandbox";
pub(crate) const USER: &str = "ocid1.user.oc1..plimsolldeveloper";

/// Generates identifiers, the same ones for the same seed.
#[derive(Debug)]
pub(crate) struct IdGenerator {
    seed: u64,
    count: u64,
}

impl IdGenerator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, count: 0 }
    }

    /// The OCID of a resource or work request: `ocid1.queue.oc1.phx.…`.
    pub(crate) fn ocid(&mut self, kind: &str) -> String {
        format!("ocid1.{kind}.oc1.phx.{}", &self.hex()[..40])
    }

    /// Three groups joined by slashes; the first is the client's own if it sent one.
    pub(crate) fn request_id(&mut self, client: Option<&str>) -> String {
        let (first, rest) = (self.hex().to_uppercase(), self.hex().to_uppercase());
        format!("{}/{}/{}", client.unwrap_or(&first[..32]), &rest[..32], &rest[32..])
    }

    pub(crate) fn etag(&mut self) -> String {
        self.hex()[..32].to_owned()
    }

    fn hex(&mut self) -> String {
        self.count += 1;
        let text = format!("{}/{}", self.seed, self.count);
        let digest = digest::digest(&digest::SHA256, text.as_bytes());
        digest.as_ref().iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
    }
}
