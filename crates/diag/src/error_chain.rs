//! An error and its causes as one line, the same in every log and message.

use std::error::Error;

/// `error: cause: cause of the cause`. Wrappers often repeat what they wrap; a repeated text appears once.
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let next = cause.to_string();
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);

    impl fmt::Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|source| source as &(dyn Error + 'static))
        }
    }

    #[test]
    fn every_cause_appears_once() {
        let check = |texts: &[&'static str], expected: &str| {
            let error = texts.iter().rev().fold(None, |source, text| Some(Box::new(Layer(text, source))));
            assert_eq!(error_chain(&*error.unwrap()), expected);
        };
        check(&["cannot read a"], "cannot read a");
        check(&["cannot read a", "no such file"], "cannot read a: no such file");
        check(&["connect: refused", "refused", "os error 111"], "connect: refused: os error 111");
    }
}
