//! Development tasks that need nothing installed.

fn main() {}
