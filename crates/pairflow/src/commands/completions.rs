//! `pairflow completions`: what a shell needs to complete pairflow's commands.

use clap::Args;
use clap_complete::Shell;

use crate::app::App;
use crate::entry::{CommandEntry, anyone, command};
use crate::exit::CommandError;
use crate::out::Out;

/// Print a completion script for a shell
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    pairflow completions bash > ~/.local/share/bash-completion/completions/pairflow\n  \
    pairflow completions fish > ~/.config/fish/completions/pairflow.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("completions", Setup, CompletionsArgs, run, anyone);

fn run(args: CompletionsArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut (app.grammar.parser)(), "pairflow", &mut script);
    out.raw(&script)
}
