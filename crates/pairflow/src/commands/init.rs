//! `pairflow init`: prepares a repository.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_core::config::{CommandSet, Layer, Layers, StarterCommand, render_pairflow_toml};
use pairflow_engine::detect::{Detected, Found, detect};
use pairflow_engine::engine::{Agreed, EngineError};

use crate::app::{App, Consent, Purpose, take_detected};
use crate::args::RepoArg;
use crate::entry::{CommandEntry, Group};
use crate::exit::CommandError;
use crate::out::Out;
use pairflow_engine::regular;

/// Prepare a repository: detect its checks, write pairflow.toml
///
/// Shows the detected commands and asks. If there is a pairflow.toml, it is left as it is, and you are asked whether to
/// trust its commands.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow init\n  pairflow init --yes")]
pub struct InitArgs {
    /// Which repository
    #[command(flatten)]
    pub repo: RepoArg,
    /// Write the file without asking; its commands are not trusted by that
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Replace a pairflow.toml that is there
    #[arg(long)]
    pub force: bool,
    /// Trust the commands of a pairflow.toml that is there if they have this hash
    #[arg(long, value_name = "HASH", conflicts_with = "force")]
    pub trust: Option<String>,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "init",
    aliases: &[],
    group: Group::Daily,
    about: "Prepare a repository: detect its checks, write pairflow.toml",
    hidden: false,
    human_only: |_| true,
    args: InitArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = InitArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let repo = app.place(args.repo.repo.as_deref())?.repo;
    let file = repo.root.join("pairflow.toml");
    if (file.exists() || file.is_symlink()) && !args.force {
        return trust_existing(app, out, &repo.root, args.trust.as_deref());
    }
    let detected = detect(&repo.root);
    ask(app, out, &repo.root, &detected, args.yes)?;
    let commands = commands(detected);
    let any = commands.iter().any(|one| one.command.is_some());
    repo.exclude().map_err(EngineError::from)?;
    write(&file, &render_pairflow_toml(&commands), args.force)?;
    out.line(format_args!("Wrote {}", file.display()))?;
    if any {
        trust_written(app, out, &repo.root, args.yes)?;
    }
    out.line(format_args!("pairflow's own files stay out of your history: .pairflow/ is in .git/info/exclude"))?;
    if !any {
        out.warn(format_args!(
            "no command was found that checks the work; name one in [commands] of {}",
            file.display()
        ));
        out.next(format_args!("pairflow new \"what to do\" --test \"…\""));
    } else {
        out.next(format_args!("pairflow new \"what to do\""));
    }
    Ok(())
}

/// Shows what was detected and asks whether to write it down.
fn ask(app: &App, out: &mut Out, root: &Path, detected: &Detected, yes: bool) -> Result<(), CommandError> {
    let (mut layers, again) = (Layers::default(), app.typed_again());
    take_detected(&mut layers, detected);
    let any = !layers.commands().is_empty();
    if any {
        let purpose = Purpose::Trust;
        let consent = Consent {
            purpose,
            root,
            layers: &layers,
            templates: &[],
            detected,
            trust: None,
            yes,
            json: false,
            again: &again,
        };
        app.show_detected(out, &consent)?;
    }
    let file = root.join("pairflow.toml");
    let file = file.display();
    let question = match any {
        true => format!("Write these commands to {file} and trust them?"),
        false => format!("Write {file}, without any command?"),
    };
    app.insist(out, yes, &question)
}

/// A repository that has its pairflow.toml is prepared; what is left is to trust its commands.
fn trust_existing(app: &App, out: &mut Out, root: &Path, trust: Option<&str>) -> Result<(), CommandError> {
    let file = root.join("pairflow.toml");
    let layers = Layers { repo: app.layers(root, None, Layer::default())?.repo, ..Layers::default() };
    let text: CommandSet = layers.repo.commands().into_iter().collect();
    let trusted = app.engine()?.has_agreed(root, Agreed::Trusted, &text);
    if trusted && trust.is_none() {
        return Err(exists(&file));
    }
    let (detected, again) = (Detected::default(), app.typed_again());
    let purpose = Purpose::Trust;
    app.consent(
        out,
        &Consent {
            purpose,
            root,
            layers: &layers,
            templates: &[],
            detected: &detected,
            trust,
            yes: false,
            json: false,
            again: &again,
        },
    )?;
    out.line(format_args!("{} is there already and was not changed; its commands are trusted now", file.display()))?;
    out.next(format_args!("pairflow new \"what to do\""));
    Ok(())
}

/// The person has just seen the commands and said yes to them. `--yes` stands for the file, not for trust.
fn trust_written(app: &App, out: &mut Out, root: &Path, yes: bool) -> Result<(), CommandError> {
    let repo = app.layers(root, None, Layer::default())?.repo;
    let text: CommandSet = repo.commands().into_iter().collect();
    if !yes {
        return Ok(app.engine()?.agree(root, Agreed::Trusted, &text)?);
    }
    out.note(format_args!("The commands are not trusted yet: pairflow asks before it runs them. Without a terminal:"));
    out.note(format_args!("  pairflow trust --trust={}", text.hash()));
    Ok(())
}

fn commands(detected: Detected) -> Vec<StarterCommand> {
    let Detected { test, typecheck, lint, setup } = detected;
    let command = |(key, found): (&'static str, Option<Found>)| match found {
        Some(Found { command, because }) => StarterCommand { key, command: Some(command), because },
        None => StarterCommand { key, command: None, because: String::new() },
    };
    [("test", test), ("typecheck", typecheck), ("lint", lint), ("setup", setup)].into_iter().map(command).collect()
}

fn write(file: &Path, text: &str, force: bool) -> Result<(), CommandError> {
    let made = || {
        if force {
            // A link is replaced, too: what it leads to is not ours to write.
            std::fs::remove_file(file).or_else(missing_is_fine)?;
        }
        regular::create_new(file, 0o666)?.write_all(text.as_bytes())
    };
    made().map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists(file),
        _ => CommandError::world(format_args!("cannot write {}: {error}.", file.display())),
    })
}

fn missing_is_fine(error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

fn exists(file: &Path) -> CommandError {
    CommandError::refused(format_args!(
        "{} is there already, and nothing was changed; --force replaces it.",
        file.display()
    ))
    .next("pairflow config explain")
}
