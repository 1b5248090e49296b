//! The one place of the proofs that prints.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "everything printed goes through here")]

use std::fmt::Arguments;

/// Prints a line of the result.
pub(crate) fn line(text: Arguments<'_>) {
    println!("{text}");
}

/// Prints a line about what went wrong.
pub(crate) fn error(text: Arguments<'_>) {
    eprintln!("error: {text}");
}

/// Says what is being done, beside the result.
pub(crate) fn progress(text: Arguments<'_>) {
    eprintln!("    {text}");
}
