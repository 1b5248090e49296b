//! The overview that `pairflow help` prints: every command under its heading, and an example for each heading.

use std::fmt::Write;

use crate::entry::Group;
use crate::table::TABLE;

const HEADINGS: [(Group, &str, &str); 4] = [
    (Group::Daily, "Every day:", "pairflow new \"fix the login race\""),
    (Group::Operator, "Bubbles (also as `pairflow bubble COMMAND`):", "pairflow status login-race"),
    (
        Group::Agent,
        "For agents (also as `orchestra COMMAND`):",
        "pairflow pass --summary \"fixed the race\" --finding \"P2:no test\"",
    ),
    (
        Group::Other,
        "Everything else:",
        "pairflow completions bash > ~/.local/share/bash-completion/completions/pairflow",
    ),
];

const TAIL: &str = "\
Options:
  -h, --help        Show this, or with a command its own help
  -V, --version     Show the version
      --color WHEN  When to use colours: auto, always or never

`pairflow help COMMAND` shows a command's options, with an example.

Exit codes: 0 done, 1 refused, 2 usage, 3 I/O error, 4 lost a race, 5 log damaged,
6 time is up, 77 a human's command called by an agent.";

/// Renders what agents may call, and nothing else.
pub(crate) fn agents() -> String {
    let mut text = "What agents call, in the environment that pairflow gives them.\n\n".to_owned();
    text.push_str("Usage: orchestra COMMAND [OPTIONS]\n\nCommands:\n");
    for entry in TABLE.iter().filter(|entry| entry.group == Group::Agent && !entry.hidden) {
        let _ = writeln!(text, "  {:<15} {}", entry.name, entry.about);
    }
    text.push_str("\n`orchestra COMMAND --help` shows a command's options, with an example.");
    text
}

/// Renders the overview.
pub(crate) fn overview() -> String {
    let mut text = format!("{}.\n\nUsage: pairflow [COMMAND] [OPTIONS]\n", env!("CARGO_PKG_DESCRIPTION"));
    for (group, heading, example) in HEADINGS {
        let entries: Vec<_> = TABLE.iter().filter(|entry| entry.group == group && !entry.hidden).collect();
        if entries.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{heading}");
        for entry in entries {
            let _ = writeln!(text, "  {:<15} {}", entry.name, entry.about);
        }
        let _ = writeln!(text, "  e.g. {example}");
    }
    text.push('\n');
    text.push_str(TAIL);
    text
}
