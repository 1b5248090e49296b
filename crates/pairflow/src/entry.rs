//! What a command is: its name, its group, who may call it, and what it does.

use clap::{ArgMatches, Command};

use crate::app::App;
use crate::exit::CommandError;
use crate::out::Out;

/// One command of the program. [`command!`] writes one.
pub struct CommandEntry {
    /// The name on the command line.
    pub name: &'static str,
    /// The group that help lists it under.
    pub group: CommandGroup,
    /// Whether this call is for people only.
    pub human_only: fn(&ArgMatches) -> bool,
    /// Adds its arguments to an empty command.
    pub args: fn(Command) -> Command,
    /// Runs it with its parsed arguments.
    pub run: fn(&ArgMatches, &App, &mut Out) -> Result<(), CommandError>,
}

/// The groups of commands, in the order of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandGroup {
    /// What a person needs every day.
    Everyday,
    /// The life of a bubble.
    Bubbles,
    /// What a person decides.
    Decisions,
    /// Reading what a bubble did.
    Reading,
    /// What agents call.
    Agents,
    /// Setup of the machine and of repositories.
    Setup,
    /// What pairflow's own processes call. Left out of help, manual pages and completions.
    Plumbing,
}

impl CommandGroup {
    /// Returns whether its commands are about a bubble, so that `pairflow bubble COMMAND` works too.
    pub fn is_about_bubbles(self) -> bool {
        matches!(self, Self::Everyday | Self::Bubbles | Self::Decisions | Self::Reading)
    }
}

/// Makes the [`CommandEntry`] of a command: its name, its group, its arguments, the function that runs it, and who may
/// call it.
macro_rules! command {
    ($name:expr, $group:ident, $args:ty, $run:ident, $human_only:expr) => {
        $crate::entry::CommandEntry {
            name: $name,
            group: $crate::entry::CommandGroup::$group,
            human_only: $human_only,
            args: <$args as clap::Args>::augment_args,
            run: |matches, app, out| {
                let args = <$args as clap::FromArgMatches>::from_arg_matches(matches);
                $run(args.map_err($crate::exit::CommandError::usage)?, app, out)
            },
        }
    };
}
pub(crate) use command;

/// A command for people only.
pub(crate) fn people(_: &ArgMatches) -> bool {
    true
}

/// A command that agents may call, too.
pub(crate) fn anyone(_: &ArgMatches) -> bool {
    false
}

/// The name of the command that a bare `pairflow` runs.
pub(crate) const HOME: &str = "home";

impl CommandEntry {
    /// Builds the command's own parser.
    pub fn build(&self) -> Command {
        self.leaf().no_binary_name(true).bin_name(self.line()).hide(self.is_hidden())
    }

    /// Returns the one line that lists of commands show.
    pub fn about(&self) -> String {
        self.leaf().get_about().map(ToString::to_string).unwrap_or_default()
    }

    /// Returns whether it is left out of help, manual pages and completions.
    pub fn is_hidden(&self) -> bool {
        self.group == CommandGroup::Plumbing
    }

    /// Returns the command line that calls it.
    pub(crate) fn line(&self) -> String {
        if self.name == HOME { "pairflow".to_owned() } else { format!("pairflow {}", self.name) }
    }

    /// Builds the command as a part of the whole program.
    pub(crate) fn leaf(&self) -> Command {
        common_args((self.args)(Command::new(self.name)))
    }
}

/// Adds the options that every command takes.
pub(crate) fn common_args(command: Command) -> Command {
    let color = clap::Arg::new("color")
        .long("color")
        .value_name("WHEN")
        .value_parser(clap::value_parser!(clap::ColorChoice))
        .hide_possible_values(true)
        .help("When to use colours: auto, always or never");
    let progress = clap::Arg::new("progress")
        .long("progress")
        .action(clap::ArgAction::SetTrue)
        .help("Report progress on stderr even if it is not a terminal");
    command.next_help_heading("Output").args([color, progress])
}
