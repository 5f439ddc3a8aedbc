//! From bytes to text: UTF-8, or UTF-16 as some Windows programs write it.

use diag::{Diagnostic, Source, Span};

use crate::codes;

/// The text in `bytes`, or what is wrong with them.
///
/// A byte order mark tells UTF-16 from UTF-8, as YAML has it; without one the text is UTF-8.
pub fn decode(name: &str, bytes: &[u8]) -> Result<Source, Box<Diagnostic>> {
    let decoded = match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        _ => str::from_utf8(bytes).map(str::to_owned).map_err(|error| error.valid_up_to()),
    };
    decoded.map(|text| Source::new(name, text)).map_err(|at| Box::new(not_text(name, bytes, at)))
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, usize> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(bytes.len());
    let mut read = 0;
    for character in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
        let character = character.map_err(|_| read)?;
        text.push(character);
        read += 2 * character.len_utf16();
    }
    if rest.is_empty() { Ok(text) } else { Err(read) }
}

fn not_text(name: &str, bytes: &[u8], at: usize) -> Diagnostic {
    let valid = String::from_utf8_lossy(&bytes[..at.min(bytes.len())]).into_owned();
    // What follows is no text, so there is nothing to show after the place.
    let end = valid.len();
    let source = Source::new(name, valid);
    Diagnostic::error(codes::NOT_TEXT, format!("{name} is not text"))
        .at(&source, Span::new(end, end), "from here on it is not UTF-8")
        .detail(format!(
            "The byte 0x{:02x} at position {at} is not part of any UTF-8 character.",
            bytes.get(at).copied().unwrap_or_default()
        ))
        .hint("Check that the right file was given, and save it as UTF-8.")
}
