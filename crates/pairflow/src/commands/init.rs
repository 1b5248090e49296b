//! `pairflow init`: prepares a repository.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use pairflow_core::config::{CommandSet, Layer, Layers, StarterCommand, render_pairflow_toml};
use pairflow_engine::detect::{Detected, DetectedCommand, detect};
use pairflow_engine::engine::{Agreed, EngineError};

use pairflow_engine::regular;

use super::{App, Args, CommandEntry, CommandError, Out, RepoArg, command, people};
use crate::app::{Consent, Purpose, take_detected};

/// Prepare a repository: detect its checks, write pairflow.toml
///
/// Shows the detected commands and asks. An existing pairflow.toml is not changed; you are asked whether to trust its
/// commands.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow init\n  pairflow init --yes")]
pub struct InitArgs {
    /// Which repository
    #[command(flatten)]
    pub repo: RepoArg,
    /// Write the file without asking; this does not trust its commands
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Replace an existing pairflow.toml
    #[arg(long)]
    pub force: bool,
    /// Trust the commands of an existing pairflow.toml if they have this hash
    #[arg(long, value_name = "HASH", conflicts_with = "force")]
    pub trust: Option<String>,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("init", Everyday, InitArgs, run, people);

fn run(args: InitArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
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
    out.line(format_args!("git ignores pairflow's files: .pairflow/ is in .git/info/exclude"))?;
    if !any {
        out.warn(format_args!("no command to check the work was found; set one in [commands] of {}", file.display()));
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
        false => format!("Write {file} without any commands?"),
    };
    app.require_yes(out, yes, &question)
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
    out.line(format_args!("{} already exists and was not changed; its commands are trusted now", file.display()))?;
    out.next(format_args!("pairflow new \"what to do\""));
    Ok(())
}

/// Trusts the commands that the person has just confirmed. `--yes` confirms the file, but does not trust it.
fn trust_written(app: &App, out: &mut Out, root: &Path, yes: bool) -> Result<(), CommandError> {
    let repo = app.layers(root, None, Layer::default())?.repo;
    let text: CommandSet = repo.commands().into_iter().collect();
    if !yes {
        return Ok(app.engine()?.agree(root, Agreed::Trusted, &text)?);
    }
    out.note(format_args!(
        "The commands are not trusted yet; pairflow asks before it runs them. To trust them without a terminal:"
    ));
    out.note(format_args!("  pairflow trust --trust={}", text.hash()));
    Ok(())
}

fn commands(detected: Detected) -> Vec<StarterCommand> {
    let Detected { test, typecheck, lint, setup } = detected;
    let command = |(key, found): (&'static str, Option<DetectedCommand>)| match found {
        Some(DetectedCommand { command, because }) => StarterCommand { key, command: Some(command), because },
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
        _ => CommandError::cannot("write", file.display(), error),
    })
}

fn missing_is_fine(error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

fn exists(file: &Path) -> CommandError {
    CommandError::refused(format_args!(
        "{} already exists; nothing was changed. Use --force to replace it.",
        file.display()
    ))
    .next("pairflow config explain")
}
