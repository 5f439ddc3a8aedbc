//! The part of DER that is needed to read encrypted keys and the subject of a certificate.
//!
//! No parser of X.509 or PKCS #8 is among our dependencies; this is less code than a new one would add.

pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;
pub(crate) const OCTETS: u8 = 0x04;
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const OBJECT_ID: u8 = 0x06;
/// The tag of a certificate's optional version.
pub(crate) const EXPLICIT_0: u8 = 0xa0;

/// The rest of a DER text.
pub(crate) struct Der<'a>(pub(crate) &'a [u8]);

impl<'a> Der<'a> {
    /// The content of the next value if it has this tag; otherwise nothing is consumed.
    pub(crate) fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        if *self.0.first()? == tag { self.any() } else { None }
    }

    /// The content of the next value, whatever its tag.
    pub(crate) fn any(&mut self) -> Option<&'a [u8]> {
        let (_, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (len, rest) = if first < 0x80 {
            (usize::from(first), rest)
        } else {
            let (len, rest) =
                rest.split_at_checked(usize::from(first & 0x7f)).filter(|(len, _)| len.len() <= 4)?;
            (len.iter().fold(0, |number, byte| number * 256 + usize::from(*byte)), rest)
        };
        let (content, rest) = rest.split_at_checked(len)?;
        self.0 = rest;
        Some(content)
    }
}
