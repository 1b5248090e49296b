//! The workshop: everything that is done to the project rather than by it.
//!
//! `cargo xtask NAME` runs one command. A command is a module with a `run(&[String])` and one line in [`COMMANDS`].

mod cargo;
mod licences;
mod proofs;
mod say;
mod test;
mod tidy;
mod tools;

use std::process::ExitCode;

/// One command of the workshop.
struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> anyhow::Result<()>,
}

const COMMANDS: &[Command] = &[
    Command { name: "test", about: "everything a change has to pass [--only STEP | --list]", run: test::run },
    Command {
        name: "flake",
        about: "tests again and again beside busy processes [--times N] [--load K] [FILTER]",
        run: test::flake::run,
    },
    Command { name: "tidy", about: "the house rules that no compiler checks", run: tidy::run },
    Command { name: "strings", about: "writes every user-visible string to docs/strings.txt", run: tidy::strings::run },
    Command { name: "licences", about: "licences, sources and banned crates, as deny.toml says", run: licences::run },
    Command { name: "tools", about: "installs the programs that tests need beside Rust and git", run: tools::run },
    Command { name: "sim", about: "simulated lives with crashes anywhere [--seeds N | --seed S]", run: proofs::sim },
    Command {
        name: "kill",
        about: "real processes killed, failed and raced [--only PART] [--kills N]",
        run: proofs::kill,
    },
    Command {
        name: "lab",
        about: "how the loop stops, with modelled agents [--params FILE] [--seeds N] [--populations N]",
        run: proofs::lab,
    },
    Command {
        name: "soak",
        about: "the proofs at the sizes of a release; goes on where it was [--hours H] [--fresh]",
        run: proofs::soak,
    },
    Command {
        name: "bench",
        about: "how fast it is, each row beside its limit [--rows P1,P4] [--rounds N]",
        run: proofs::bench,
    },
    Command {
        name: "fixture",
        about: "a repository with a bubble of N envelopes: --envelopes N --out DIR",
        run: proofs::fixture,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        print_usage();
        return ExitCode::SUCCESS;
    };
    match name.as_str() {
        "help" | "-h" | "--help" => {
            print_usage();
            return ExitCode::SUCCESS;
        }
        test::flake::BUSY => test::flake::be_busy(),
        _ => {}
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        say::error(format_args!("there is no command `{name}`; `cargo xtask help` lists them"));
        return ExitCode::from(2);
    };
    match (command.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say::error(format_args!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn print_usage() {
    say::line(format_args!("cargo xtask COMMAND\n"));
    for command in COMMANDS {
        say::line(format_args!("  {:<9} {}", command.name, command.about));
    }
}
