//! The proofs that want an optimised build: `cargo xtask NAME` builds this program and runs one of them.
//!
//! A proof is one file with a `run(&[String])` and one line in [`PROOFS`].

mod bench;
mod fixture;
mod kill;
mod lab;
mod programs;
mod say;
mod sim;
mod soak;

use std::process::ExitCode;

/// One proof, by its name.
type Proof = (&'static str, fn(&[String]) -> anyhow::Result<()>);

const PROOFS: &[Proof] = &[
    ("bench", bench::run),
    ("fixture", fixture::run),
    ("kill", kill::run),
    ("lab", lab::run),
    ("sim", sim::run),
    ("soak", soak::run),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let named = arguments.first().and_then(|name| PROOFS.iter().find(|(proof, _)| proof == name));
    let Some((_, run)) = named else {
        let names: Vec<&str> = PROOFS.iter().map(|(name, _)| *name).collect();
        say::error(format_args!("name one of {}; `cargo xtask` runs them", names.join(", ")));
        return ExitCode::from(2);
    };
    match run(&arguments[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say::error(format_args!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
