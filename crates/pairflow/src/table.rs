//! The list of commands. A command is known to the program if, and only if, it has a line here.

use clap::Command;

use crate::commands;
use crate::entry::{CommandEntry, Group, common_args};

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

/// Whether the command that is called `verb` takes `--repo`.
pub(crate) fn takes_repo(verb: &str) -> bool {
    find(verb).is_some_and(|entry| entry.build().get_arguments().any(|arg| arg.get_id() == "repo"))
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
