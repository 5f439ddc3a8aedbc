//! How much a text may ask for, so that a hostile or broken one is answered at once.

/// Bounds on what reading a text may cost.
///
/// The defaults leave room for anything an API server would take (1.5 MiB an object, a few dozen levels) and stop
/// what only an attack or an accident would ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many collections may stand inside each other; at most [`Limits::MAX_DEPTH`] has an effect.
    pub depth: usize,
    /// How many nodes a document may have as written.
    pub nodes: usize,
    /// How many nodes the aliases and merge keys of a document may stand for.
    pub alias_nodes: usize,
    /// How many bytes a text may have; at most [`Limits::MAX_BYTES`] has an effect.
    pub bytes: usize,
    /// How many documents a text may have.
    pub documents: usize,
}

impl Limits {
    /// Values are read, written, compared and dropped recursively, so deeper ones would risk the stack of a thread.
    pub const MAX_DEPTH: usize = 512;

    /// Spans are kept in 32 bits, and so is the number of nodes.
    pub const MAX_BYTES: usize = u32::MAX as usize;

    pub(crate) fn effective(self) -> Self {
        Self {
            depth: self.depth.min(Self::MAX_DEPTH),
            nodes: self.nodes.min(Self::MAX_BYTES),
            bytes: self.bytes.min(Self::MAX_BYTES),
            ..self
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 256, nodes: 5_000_000, alias_nodes: 100_000, bytes: 64 << 20, documents: 100_000 }
    }
}
