//! What holds for any bytes an API server could send: property tests and cargo-fuzz both drive it.

use crate::watch::lines::Lines;

/// A watch response has the same lines however it is cut. The first byte chooses the length of the pieces.
pub fn watch_lines(bytes: &[u8]) {
    let Some((&length, bytes)) = bytes.split_first() else { return };
    let whole = read([bytes]);
    assert_eq!(read(bytes.chunks(usize::from(length).max(1))), whole);
    let cuts = bytes.split(|byte| *byte == b'\n').count();
    assert!(whole.len() <= cuts, "{} lines of {cuts}", whole.len());
}

/// The kind and object of every line, up to the first error.
fn read<'b>(pieces: impl IntoIterator<Item = &'b [u8]>) -> Vec<Result<String, String>> {
    let (mut lines, mut found) = (Lines::up_to(64), Vec::new());
    for piece in pieces {
        lines.extend(piece);
        loop {
            match lines.next() {
                Ok(Some(line)) => found.push(Ok(format!("{} {}", line.kind, line.object))),
                Ok(None) => break,
                Err(error) => {
                    found.push(Err(format!("{error:?}")));
                    return found;
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bytes, and texts that are nearly lines.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop::sample::select(vec![
            "\n",
            "\r\n",
            " ",
            "{\"type\":\"ADDED\",\"object\":{}}\n",
            "{\"type\":\"ERROR\",\"object\":null}\n",
            "{\"type\":",
            "x",
        ]);
        let lines = prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat().into_bytes());
        let first = any::<u8>();
        prop_oneof![any::<Vec<u8>>(), (first, lines).prop_map(|(first, lines)| [vec![first], lines].concat())]
    }

    proptest! {
        #[test]
        fn any_bytes_have_the_same_lines_however_they_are_cut(bytes in bytes()) {
            watch_lines(&bytes);
        }
    }
}
