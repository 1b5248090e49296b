//! `pairflow man`, `pairflow completions` and `pairflow docs`: pages and scripts made from the parsers.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

use super::{App, Args, CommandEntry, CommandError, Out, anyone, command};
use crate::exit::EXIT_CODES;

/// Print the manual page, or write all pages into a directory
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow man | man -l -\n  pairflow man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// The directory to write one page per command to
    #[arg(value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// The line of the table.
pub const MAN: CommandEntry = command!("man", Setup, ManArgs, man, |matches| matches.contains_id("dir"));

fn man(args: ManArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let tree = (app.grammar.parser)();
    match args.dir {
        None => out.raw(&page(&tree)?),
        Some(dir) => {
            let dir = app.resolve(&dir)?;
            let count = write_all(&tree, &dir)?;
            out.line(format_args!("Wrote {count} pages to {}", dir.display()))
        }
    }
}

fn write_all(tree: &Command, dir: &Path) -> Result<usize, CommandError> {
    fs::create_dir_all(dir).map_err(|error| CommandError::cannot("create", dir.display(), error))?;
    // Everything below `bubble` and `orchestra` has its page already.
    let verbs = tree.get_subcommands().filter(|verb| !matches!(verb.get_name(), "bubble" | "orchestra"));
    let mut count = 0;
    for command in std::iter::once(tree).chain(verbs) {
        let name = match command.get_name() {
            "pairflow" => "pairflow".to_owned(),
            verb => format!("pairflow-{verb}"),
        };
        let path = dir.join(format!("{name}.1"));
        let written = pairflow_engine::regular::write(&path, page(command)?);
        written.map_err(|error| CommandError::cannot("write", path.display(), error))?;
        count += 1;
    }
    Ok(count)
}

fn page(command: &Command) -> Result<Vec<u8>, CommandError> {
    let mut page = Vec::new();
    write_page(command, &mut page).map_err(|error| CommandError::cannot("render", "the manual page", error))?;
    Ok(page)
}

/// Writes a manual page; the text below a command's options becomes its examples.
fn write_page(command: &Command, mut page: &mut Vec<u8>) -> io::Result<()> {
    let man = Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_opts().next().is_some() || command.get_positionals().next().is_some() {
        man.render_options_section(&mut page)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    verbatim(page, "EXIT STATUS", EXIT_CODES)?;
    if let Some(examples) = command.get_after_help().map(ToString::to_string) {
        let heading = |line: &&str| !matches!(*line, "Example:" | "Examples:");
        verbatim(page, "EXAMPLES", &examples.lines().filter(heading).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(())
}

/// Adds a section whose lines stay as they are.
fn verbatim(page: &mut Vec<u8>, heading: &str, text: &str) -> io::Result<()> {
    writeln!(page, ".SH \"{heading}\"\n.nf")?;
    for line in text.lines() {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        // At the beginning of a line these two would be taken for commands.
        let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        writeln!(page, "{guard}{line}")?;
    }
    writeln!(page, ".fi")
}

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
pub const COMPLETIONS: CommandEntry = command!("completions", Setup, CompletionsArgs, completions, anyone);

fn completions(args: CompletionsArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut (app.grammar.parser)(), "pairflow", &mut script);
    out.raw(&script)
}

/// Print the documentation that is generated from the program
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow docs cli > docs/cli.md")]
pub struct DocsArgs {
    /// Which page
    #[arg(value_name = "PAGE", value_parser = ["cli"])]
    pub page: String,
}

/// The line of the table.
pub const DOCS: CommandEntry = command!("docs", Plumbing, DocsArgs, docs, anyone);

fn docs(_: DocsArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    out.raw((app.grammar.reference)().as_bytes())
}
