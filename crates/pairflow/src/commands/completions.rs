//! `pairflow completions`: what a shell needs to complete pairflow's commands.

use clap::{ArgMatches, Args, FromArgMatches};
use clap_complete::Shell;

use crate::app::App;
use crate::entry::{CommandEntry, Group, anyone};
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
pub const ENTRY: CommandEntry = CommandEntry {
    name: "completions",
    aliases: &[],
    group: Group::Other,
    about: "Print a completion script for a shell",
    hidden: false,
    human_only: anyone,
    args: CompletionsArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = CompletionsArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut (app.grammar.parser)(), "pairflow", &mut script);
    out.raw(&script)
}
