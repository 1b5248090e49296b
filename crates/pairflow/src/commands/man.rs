//! `pairflow man`: the manual pages.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, Command, FromArgMatches};
use clap_mangen::Man;

use crate::app::App;
use crate::exit::CommandError;
use crate::out::Out;
use crate::table::{CommandEntry, Group, anyone, tree};

/// Print the manual page, or write all pages into a directory
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow man | man -l -\n  pairflow man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Where to write one page for each command
    #[arg(value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "man",
    aliases: &[],
    group: Group::Other,
    about: "Print the manual page, or write all pages into a directory",
    hidden: false,
    human_only: anyone,
    args: ManArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = ManArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let tree = tree();
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
    let cannot =
        |path: &Path, error: io::Error| CommandError::world(format_args!("cannot write {}: {error}.", path.display()));
    fs::create_dir_all(dir).map_err(|error| cannot(dir, error))?;
    // Everything below `bubble` and `orchestra` has its page already.
    let verbs = tree.get_subcommands().filter(|verb| !matches!(verb.get_name(), "bubble" | "orchestra"));
    let mut count = 0;
    for command in std::iter::once(tree).chain(verbs) {
        let name = match command.get_name() {
            "pairflow" => "pairflow".to_owned(),
            verb => format!("pairflow-{verb}"),
        };
        let path = dir.join(format!("{name}.1"));
        fs::write(&path, page(command)?).map_err(|error| cannot(&path, error))?;
        count += 1;
    }
    Ok(count)
}

fn page(command: &Command) -> Result<Vec<u8>, CommandError> {
    let mut page = Vec::new();
    let rendered = Man::new(command.clone()).render(&mut page);
    rendered.map_err(|error| CommandError::world(format_args!("cannot render the manual page: {error}.")))?;
    Ok(page)
}
