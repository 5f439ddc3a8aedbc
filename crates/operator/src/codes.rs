//! The names of everything that an operator tells the person who runs it.

use diag::Code;

/// Another engine runs.
pub const RIVAL: Code = Code::new(
    "operator-rival",
    "Another engine holds its lease, and two engines would undo each other's work. Stop it first, or take over.",
);

/// An address cannot be listened on.
pub const LISTEN: Code = Code::new(
    "operator-listen",
    "The address for health or metrics cannot be listened on, mostly because another program has the port.",
);

/// A definition was not accepted.
pub const DEFINITION: Code = Code::new(
    "operator-definition",
    "The API server has a definition of one of our kinds and does not serve it; its conditions say why.",
);

/// A controller has ended.
pub const CONTROLLER_ENDED: Code = Code::new(
    "operator-controller-ended",
    "A controller has ended without being asked to. This is a bug; the log says what it did last.",
);

/// Every code of running an operator, for the book's reference.
pub const CODES: &[Code] = &[RIVAL, LISTEN, DEFINITION, CONTROLLER_ENDED];
