//! What the program says about itself: the help overview and the command-line reference, both made from the table of
//! commands and their parsers.

use std::fmt::Write;

use clap::builder::StyledStr;
use clap::{Arg, Command};

use crate::entry::{CommandEntry, CommandGroup, HOME};
use crate::exit::EXIT_CODES;
use crate::table::TABLE;

/// A group's heading, and an example.
const GROUPS: [(CommandGroup, &str, &str); 7] = [
    (CommandGroup::Everyday, "Everyday", "pairflow new \"fix the login race\""),
    (CommandGroup::Bubbles, "Bubbles", "pairflow pause login-race"),
    (CommandGroup::Decisions, "Decisions", "pairflow waive login-race F3 --reason \"known; ticket 412\""),
    (CommandGroup::Reading, "Reading", "pairflow diff login-race --stat"),
    (CommandGroup::Agents, "Agents", "pairflow pass --summary \"fixed the race\" --finding \"P2:no test\""),
    (CommandGroup::Setup, "Setup", "pairflow config explain"),
    (CommandGroup::Plumbing, "Plumbing", "pairflow docs cli > docs/cli.md"),
];

const OPTIONS: &str = "\
Options:
  -h, --help        Show this help, or the help of a command
      --all         With --help: list every command
  -V, --version     Show the version
      --color WHEN  When to use colours: auto, always or never

Exit codes: 0 done, 1 refused, 2 usage error, 3 I/O error, 4 lost a race, 5 log damaged,
6 timed out, 77 command for people called by an agent";

const INTRODUCTION: &str = "\
# Command-line reference

This page is generated from the program: `pairflow docs cli` prints it. Every command also takes `--color WHEN` and
`--progress`. Commands of the first four groups can be called as `pairflow bubble COMMAND`, commands for agents as
`orchestra COMMAND`.
";

/// Renders the first page of help: everyday commands with one line each, then the names of all others.
pub(crate) fn overview() -> String {
    let mut text = format!("{}.\n\nUsage: pairflow [COMMAND] [OPTIONS]\n", env!("CARGO_PKG_DESCRIPTION"));
    for (group, heading, example) in GROUPS {
        match group {
            CommandGroup::Everyday => {
                let _ = writeln!(text, "\nEveryday commands:\n{}  e.g. {example}\n\nMore commands:", rows(group));
            }
            CommandGroup::Plumbing => {}
            _ => {
                let names: Vec<_> = of(group).map(|entry| entry.name).collect();
                let _ = writeln!(text, "  {heading:<10} {}", names.join(", "));
            }
        }
    }
    let more = "`pairflow help COMMAND` explains one command, `pairflow --help --all` lists them all.";
    let _ = write!(text, "\n{more}\n\n{OPTIONS}");
    text
}

/// Renders every command with one line each, plumbing included.
pub(crate) fn all() -> String {
    let mut text = "Usage: pairflow [COMMAND] [OPTIONS]\n".to_owned();
    for (group, heading, example) in GROUPS {
        let also = match group {
            CommandGroup::Agents => " (also as `orchestra COMMAND`)",
            group if group.is_about_bubbles() => " (also as `pairflow bubble COMMAND`)",
            _ => "",
        };
        let _ = writeln!(text, "\n{heading}{also}:\n{}  e.g. {example}", rows(group));
    }
    let _ = write!(text, "\n{OPTIONS}");
    text
}

/// Renders the commands that agents may call.
pub(crate) fn agents() -> String {
    let about = "Commands for agents, in the environment that pairflow gives them.";
    let commands = rows(CommandGroup::Agents);
    format!(
        "{about}\n\nUsage: orchestra COMMAND [OPTIONS]\n\nCommands:\n{commands}\n`orchestra COMMAND --help` shows a \
         command's options, with an example."
    )
}

/// Renders the whole command-line reference as one Markdown page.
pub fn cli_reference() -> String {
    let mut page = format!("{INTRODUCTION}\n## Exit codes\n\n```text\n{EXIT_CODES}\n```\n");
    for (group, heading, _) in GROUPS {
        let _ = write!(page, "\n## {heading}\n");
        of(group).for_each(|entry| page.push_str(&section(&entry.leaf(), &entry.line(), "###")));
    }
    page
}

/// Renders the section of one command: what it is for, its arguments, its examples; then those of its subcommands.
fn section(command: &Command, line: &str, level: &str) -> String {
    // Every command has these; the introduction names them.
    let is_common = |arg: &Arg| ["color", "progress"].iter().any(|common| arg.get_id() == *common);
    let mut shown = command.clone().disable_help_flag(true).disable_help_subcommand(true);
    shown = shown.mut_args(|arg| if is_common(&arg) { arg.hide(true) } else { arg });
    shown = shown.bin_name(line).term_width(100).help_template("{usage}\n\n{all-args}");
    let text = |text: Option<&StyledStr>| text.map(ToString::to_string).unwrap_or_default();
    let about = text(command.get_long_about().or(command.get_about()));
    let help = shown.render_help().to_string();
    let help: Vec<_> = help.lines().map(str::trim_end).collect();
    let (help, after) = (help.join("\n"), text(command.get_after_help()));
    let body = format!("{}\n\n{after}", help.trim_end());
    let mut page = format!("\n{level} {line}\n\n{about}\n\n```text\n{}\n```\n", body.trim_end());
    for child in command.get_subcommands() {
        page.push_str(&section(child, &format!("{line} {}", child.get_name()), &format!("{level}#")));
    }
    page
}

/// Returns one line for each command of a group.
fn rows(group: CommandGroup) -> String {
    let row = |entry: &CommandEntry| {
        let name = if entry.name == HOME { "(none)" } else { entry.name };
        format!("  {name:<15} {}\n", entry.about())
    };
    of(group).map(row).collect()
}

fn of(group: CommandGroup) -> impl Iterator<Item = &'static CommandEntry> {
    TABLE.iter().filter(move |entry| entry.group == group)
}
