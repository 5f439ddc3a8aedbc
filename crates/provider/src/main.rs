//! The program that Terraform starts; everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    provider::serve()
}
