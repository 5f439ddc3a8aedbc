//! A colour and a letter for each manager, so that what it holds is seen at a glance.

/// How many managers have a colour of their own.
const COLOURS: usize = 8;

/// Managers in an order that decides their colours.
pub(super) struct Palette<'a>(Vec<&'a str>);

/// A manager with its colour.
#[derive(Clone, Copy)]
pub(super) struct Coloured<'a> {
    pub(super) name: &'a str,
    pub(super) colour: usize,
    pub(super) letter: char,
}

impl<'a> Palette<'a> {
    /// Each name counts once.
    pub(super) fn new(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut known: Vec<&str> = Vec::new();
        for name in names {
            if !known.contains(&name) {
                known.push(name);
            }
        }
        Self(known)
    }

    pub(super) fn of<'n>(&self, name: &'n str) -> Coloured<'n> {
        let place = self.0.iter().position(|known| *known == name).unwrap_or_default();
        let letter = char::from(b'A' + u8::try_from(place % 26).unwrap_or_default());
        Coloured { name, colour: place % COLOURS, letter }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Coloured<'a>> {
        self.0.iter().map(|name| self.of(name))
    }
}
