//! Names that the server makes up: of its tenant, of resources, of requests.

use aws_lc_rs::digest;

/// The region that the server says to be.
pub const REGION: &str = "us-phoenix-1";
/// The compartment that the server offers; any other name works as well.
pub const COMPARTMENT: &str = "ocid1.compartment.oc1..plimsollsandbox";
pub(crate) const TENANCY: &str = "ocid1.tenancy.oc1..plimsollsandbox";
pub(crate) const USER: &str = "ocid1.user.oc1..plimsolldeveloper";
/// The pool of streams that were created in a compartment.
pub(crate) const DEFAULT_POOL: &str = "ocid1.streampool.oc1.phx.plimsolldefault";

/// A source of names; with the same seed, the same names in the same order.
#[derive(Debug)]
pub(crate) struct Names {
    seed: u64,
    count: u64,
}

impl Names {
    pub(crate) fn new(seed: u64) -> Self {
        Self { seed, count: 0 }
    }

    /// An identifier of a resource or work request: `ocid1.queue.oc1.phx.…`.
    pub(crate) fn ocid(&mut self, kind: &str) -> String {
        format!("ocid1.{kind}.oc1.phx.{}", &self.hex()[..40])
    }

    /// The id of a request: three groups joined by slashes, the first being the client's own if it sent one.
    pub(crate) fn request_id(&mut self, client: Option<&str>) -> String {
        let (first, rest) = (self.hex().to_uppercase(), self.hex().to_uppercase());
        format!("{}/{}/{}", client.unwrap_or(&first[..32]), &rest[..32], &rest[32..])
    }

    /// The version of a resource.
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
