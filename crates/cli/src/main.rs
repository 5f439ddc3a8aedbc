//! plimsoll, the command line tool.

fn main() {}
