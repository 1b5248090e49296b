//! What a command is: how it is called, who may call it, and what it does.

use clap::{ArgMatches, Command};

use crate::app::App;
use crate::exit::CommandError;
use crate::out::Out;

/// One command: how it is called, who may call it, and what it does.
pub struct CommandEntry {
    /// The verb.
    pub name: &'static str,
    /// Other spellings of the verb.
    pub aliases: &'static [&'static str],
    /// Under which heading it is listed.
    pub group: Group,
    /// One line for the list of commands; the same as in its own help.
    pub about: &'static str,
    /// Whether it is left out of lists, pages and completions.
    pub hidden: bool,
    /// Whether this call of it is for people only.
    pub human_only: fn(&ArgMatches) -> bool,
    /// Adds its arguments to an empty command.
    pub args: fn(Command) -> Command,
    /// Does it.
    pub run: fn(&ArgMatches, &App, &mut Out) -> Result<(), CommandError>,
}

/// The headings under which commands are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Short ways for every day.
    Daily,
    /// Everything that can be done with a bubble.
    Operator,
    /// What agents call.
    Agent,
    /// Everything else.
    Other,
}

impl CommandEntry {
    /// Builds the command's own parser; nothing of the other commands is touched.
    pub fn build(&self) -> Command {
        let command = (self.args)(Command::new(self.name)).no_binary_name(true);
        common_args(command).bin_name(self.line()).hide(self.hidden)
    }

    /// Returns how the command is called.
    pub(crate) fn line(&self) -> String {
        if self.name == HOME { "pairflow".to_owned() } else { format!("pairflow {}", self.name) }
    }

    /// Builds the command as a part of the whole program.
    pub(crate) fn leaf(&self) -> Command {
        let aliases = self.aliases.iter().filter(|alias| !alias.starts_with('-')).copied();
        common_args((self.args)(Command::new(self.name))).visible_aliases(aliases)
    }
}

/// What a bare `pairflow` stands for.
pub(crate) const HOME: &str = "home";

/// A command that anybody may call: it only reads, or it belongs to agents.
pub(crate) fn anyone(_: &ArgMatches) -> bool {
    false
}

/// Adds what every command takes.
pub(crate) fn common_args(command: Command) -> Command {
    let color = clap::Arg::new("color")
        .long("color")
        .value_name("WHEN")
        .value_parser(["auto", "always", "never"])
        .hide_possible_values(true)
        .help("When to use colours: auto, always or never");
    let progress = clap::Arg::new("progress")
        .long("progress")
        .action(clap::ArgAction::SetTrue)
        .help("Report progress on stderr even if that is no terminal");
    command.next_help_heading("Output").args([color, progress])
}
