//! The diagnostic codes of running an operator.

use diag::Code;

pub const RIVAL: Code = Code::new(
    "operator-rival",
    "Another engine holds its lease, and two engines would undo each other's work. Stop it first, or take over.",
);

pub const LISTEN: Code = Code::new(
    "operator-listen",
    "The operator cannot listen on the address for health or metrics, mostly because another program uses the port.",
);

pub const DEFINITION: Code = Code::new(
    "operator-definition",
    "The API server has a definition of one of the operator's kinds and does not serve it; its conditions say why.",
);

pub const CONTROLLER_ENDED: Code = Code::new(
    "operator-controller-ended",
    "A controller stopped unexpectedly. This is a bug; the log shows what it did last.",
);

/// Every code of running an operator, for the book's reference.
pub const CODES: &[Code] = &[RIVAL, LISTEN, DEFINITION, CONTROLLER_ENDED];
