//! The list of commands. The program knows the commands that have a line here, and no others.

use clap::Command;

use crate::commands;
use crate::entry::{CommandEntry, CommandGroup, common_args};

/// Every command, in the order of the help.
pub static TABLE: &[CommandEntry] = &[
    commands::home::ENTRY,
    commands::init::ENTRY,
    commands::create::NEW,
    commands::next::ENTRY,
    commands::status::ENTRY,
    commands::attach::ENTRY,
    commands::reply::ENTRY,
    commands::ok::ENTRY,
    commands::merge::ENTRY,
    commands::stop::ENTRY,
    commands::doctor::ENTRY,
    commands::create::CREATE,
    commands::start::ENTRY,
    commands::pause::PAUSE,
    commands::pause::RESUME,
    commands::pause::RESTART,
    commands::update::ENTRY,
    commands::delete::DELETE,
    commands::delete::RESTORE,
    commands::adopt::ENTRY,
    commands::env::ENTRY,
    commands::watchdog::ENTRY,
    commands::inbox::ENTRY,
    commands::approve::APPROVE,
    commands::approve::REQUEST_REWORK,
    commands::waive::ENTRY,
    commands::commit::ENTRY,
    commands::escaped::ENTRY,
    commands::list::ENTRY,
    commands::view::ENTRY,
    commands::log::ENTRY,
    commands::findings::ENTRY,
    commands::diff::ENTRY,
    commands::export::ENTRY,
    commands::verify::ENTRY,
    commands::metrics::ENTRY,
    commands::open::ENTRY,
    commands::brief::ENTRY,
    commands::pass::PASS,
    commands::pass::ASK_HUMAN,
    commands::pass::CONVERGED,
    commands::judge::ENTRY,
    commands::wait::ENTRY,
    commands::demo::ENTRY,
    commands::config::ENTRY,
    commands::trust::ENTRY,
    commands::supervisor::SUPERVISE,
    commands::supervisor::SUPERVISOR,
    commands::reference::COMPLETIONS,
    commands::reference::MAN,
    commands::hook::ENTRY,
    commands::launch::LAUNCH,
    commands::launch::SCRIPT_AGENT,
    commands::reference::DOCS,
];

/// Finds the command that is called `verb`.
pub fn find(verb: &str) -> Option<&'static CommandEntry> {
    TABLE.iter().find(|entry| entry.name == verb)
}

/// Whether the command that is called `verb` takes `--repo`.
pub(crate) fn takes_repo(verb: &str) -> bool {
    find(verb).is_some_and(|entry| entry.build().get_arguments().any(|arg| arg.get_id() == "repo"))
}

/// Builds the whole program as one parser: for completions and manual pages, never for a call.
pub(crate) fn tree() -> Command {
    let shown = || TABLE.iter().filter(|entry| !entry.is_hidden());
    let under = |name: &'static str, about: &'static str, fits: fn(CommandGroup) -> bool| {
        let children = shown().filter(|entry| fits(entry.group)).map(CommandEntry::leaf);
        Command::new(name).about(about).subcommands(children)
    };
    common_args(Command::new("pairflow"))
        .version(env!("CARGO_PKG_VERSION"))
        .about(env!("CARGO_PKG_DESCRIPTION"))
        .subcommands(shown().map(CommandEntry::leaf))
        .subcommand(under("bubble", "Commands about a bubble", CommandGroup::is_about_bubbles))
        .subcommand(under("orchestra", "Commands for agents", |group| group == CommandGroup::Agents))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::out::line_for;

    #[test]
    fn a_line_names_the_repository_where_its_verb_takes_one() {
        let there = Path::new("/a b");
        for (line, full) in [
            ("pairflow ok x", "pairflow ok x --repo '/a b'"),
            ("pairflow reply x --message '…'", "pairflow reply x --message '…' --repo '/a b'"),
            ("pairflow list --repo /c", "pairflow list --repo /c"),
            ("pairflow supervisor status", "pairflow supervisor status"),
            ("git switch main", "git switch main"),
        ] {
            assert_eq!(line_for(line, there, takes_repo), full);
        }
    }
}
