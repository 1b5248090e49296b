//! The list of commands. A command is known to the program if, and only if, it has a line here.

use clap::{ArgMatches, Command};

use crate::app::App;
use crate::commands;
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

/// Every command, in the order in which it is listed.
pub static TABLE: &[CommandEntry] = &[
    commands::home::ENTRY,
    commands::new::ENTRY,
    commands::next::ENTRY,
    commands::ok::ENTRY,
    commands::init::ENTRY,
    commands::doctor::ENTRY,
    commands::demo::ENTRY,
    commands::create::ENTRY,
    commands::start::ENTRY,
    commands::status::ENTRY,
    commands::view::ENTRY,
    commands::inbox::ENTRY,
    commands::reply::ENTRY,
    commands::approve::ENTRY,
    commands::request_rework::ENTRY,
    commands::waive::ENTRY,
    commands::commit::ENTRY,
    commands::merge::ENTRY,
    commands::list::ENTRY,
    commands::log::ENTRY,
    commands::findings::ENTRY,
    commands::diff::ENTRY,
    commands::export::ENTRY,
    commands::open::ENTRY,
    commands::env::ENTRY,
    commands::attach::ENTRY,
    commands::pause::ENTRY,
    commands::resume::ENTRY,
    commands::restart::ENTRY,
    commands::update::ENTRY,
    commands::watchdog::ENTRY,
    commands::verify::ENTRY,
    commands::adopt::ENTRY,
    commands::stop::ENTRY,
    commands::delete::ENTRY,
    commands::restore::ENTRY,
    commands::brief::ENTRY,
    commands::pass::ENTRY,
    commands::ask_human::ENTRY,
    commands::converged::ENTRY,
    commands::wait::ENTRY,
    commands::hook::ENTRY,
    commands::supervise::ENTRY,
    commands::supervisor::ENTRY,
    commands::script_agent::ENTRY,
    commands::launch::ENTRY,
    commands::trust::ENTRY,
    commands::config::ENTRY,
    commands::completions::ENTRY,
    commands::man::ENTRY,
];

/// Finds the command that is called `verb`.
pub fn find(verb: &str) -> Option<&'static CommandEntry> {
    TABLE.iter().find(|entry| entry.name == verb || entry.aliases.contains(&verb))
}

impl CommandEntry {
    /// Builds the command's own parser; nothing of the other commands is touched.
    pub fn build(&self) -> Command {
        let command = (self.args)(Command::new(self.name)).no_binary_name(true);
        common_args(command).bin_name(self.line()).hide(self.hidden)
    }
}

/// What a bare `pairflow` stands for.
pub(crate) const HOME: &str = "home";

/// A command that anybody may call: it only reads, or it belongs to agents.
pub(crate) fn anyone(_: &ArgMatches) -> bool {
    false
}

/// Builds the whole program as one parser: for completions and manual pages, never for a call.
pub(crate) fn tree() -> Command {
    let shown = || TABLE.iter().filter(|entry| !entry.hidden);
    let under = |name: &'static str, about: &'static str, groups: &'static [Group]| {
        let children = shown().filter(|entry| groups.contains(&entry.group)).map(CommandEntry::leaf);
        Command::new(name).about(about).subcommands(children)
    };
    common_args(Command::new("pairflow"))
        .version(env!("CARGO_PKG_VERSION"))
        .about(env!("CARGO_PKG_DESCRIPTION"))
        .subcommands(shown().map(CommandEntry::leaf))
        .subcommand(under("bubble", "Everything that can be done with a bubble", &[Group::Daily, Group::Operator]))
        .subcommand(under("orchestra", "What agents call", &[Group::Agent]))
}

impl CommandEntry {
    /// Returns how the command is called.
    pub(crate) fn line(&self) -> String {
        if self.name == HOME { "pairflow".to_owned() } else { format!("pairflow {}", self.name) }
    }

    fn leaf(&self) -> Command {
        let aliases = self.aliases.iter().filter(|alias| !alias.starts_with('-')).copied();
        common_args((self.args)(Command::new(self.name))).visible_aliases(aliases)
    }
}

fn common_args(command: Command) -> Command {
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
