//! `pairflow config`: the configuration in force.

use std::path::Path;

use clap::{ArgMatches, Args, FromArgMatches, Subcommand};
use pairflow_core::config::{Explained, Flags, Layer, Origin, Set, resolve};
use pairflow_engine::detect::{Detected, Found, detect};
use serde::Serialize;
use serde_json::Value;

use crate::app::App;
use crate::commands::common::BubbleArg;
use crate::exit::CommandError;
use crate::out::{Grid, Out, Paint};
use crate::table::{CommandEntry, Group, anyone};

/// Explain the configuration
#[derive(Debug, Clone, Args)]
#[command(after_help = "Example:\n  pairflow config explain")]
pub struct ConfigArgs {
    /// What to do with it
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// What can be done with the configuration.
#[derive(Debug, Clone, Subcommand)]
pub enum ConfigCommand {
    /// Say for every value where it comes from
    #[command(after_help = "Example:\n  pairflow config explain login-race")]
    Explain(ExplainArgs),
}

/// The arguments of `config explain`.
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// Which bubble; without one, what a new bubble would get
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "config",
    aliases: &[],
    group: Group::Other,
    about: "Explain the configuration",
    hidden: false,
    human_only: anyone,
    args: ConfigArgs::augment_args,
    run,
};

/// The configuration of one bubble or of the next one.
#[derive(Serialize)]
struct Explanation {
    repo: String,
    /// Nothing for what a new bubble would get.
    bubble_id: Option<String>,
    values: Vec<Explained>,
}

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let ConfigCommand::Explain(args) = ConfigArgs::from_arg_matches(matches).map_err(CommandError::usage)?.command;
    let explanation = explain(app, &args.bubble)?;
    if args.json {
        return out.json("config/1", &explanation);
    }
    let mut grid = Grid::new(&["KEY", "VALUE", "SOURCE"]);
    for row in &explanation.values {
        let (value, dim) = shown(&row.value);
        let source = if row.source == Origin::Default { Paint::Dim } else { Paint::Plain };
        grid.row([
            (Paint::Bold, row.key.to_owned()),
            (if dim { Paint::Dim } else { Paint::Plain }, value),
            (source, row.source.to_string()),
        ]);
    }
    out.grid(&grid)?;
    if explanation.bubble_id.is_none() {
        note_detected(&explanation, out);
    }
    Ok(())
}

/// Says which commands a new bubble would get because nobody set any.
fn note_detected(explanation: &Explanation, out: &mut Out) {
    let set = |key: &str| explanation.values.iter().any(|row| row.key == key && !row.value.is_null());
    if ["commands.test", "commands.typecheck", "commands.lint"].into_iter().any(set) {
        return;
    }
    let Detected { test, typecheck, lint, setup } = detect(Path::new(&explanation.repo));
    for (key, found) in [("test", test), ("typecheck", typecheck), ("lint", lint), ("setup", setup)] {
        if let Some(Found { command, because }) = found {
            out.note(format_args!("commands.{key} is not set; a new bubble would get: {command} (found in {because})"));
        }
    }
}

fn explain(app: &App, arg: &BubbleArg) -> Result<Explanation, CommandError> {
    if arg.typed().is_some() {
        let bubble = app.bubble(arg, "config explain")?;
        let root = bubble.control.repo();
        let layers = app.layers(root, Some(&bubble.id), Layer::default())?;
        let resolved = resolve(&layers).map_err(|errors| CommandError::from(&errors))?;
        let repo = root.display().to_string();
        return Ok(Explanation { repo, bubble_id: Some(bubble.id.to_string()), values: resolved.explained });
    }
    let place = app.place(arg.repo.as_deref())?;
    let root = place.repo.root.display().to_string();
    let flags = Layer::from_flags(Flags::default()).map_err(|errors| CommandError::from(&errors))?;
    let mut layers = app.layers(&place.repo.root, None, flags)?;
    // What `create` falls back to stands below every file.
    if let Some(branch) = place.repo.current_branch() {
        layers.user.base_branch.get_or_insert_with(|| Set::default(branch));
    }
    layers.user.repo_path.get_or_insert_with(|| Set::default(root.clone()));
    Ok(Explanation { repo: root, bubble_id: None, values: layers.explain() })
}

/// Returns a value as people write it, and whether there is none.
fn shown(value: &Value) -> (String, bool) {
    match value {
        Value::Null => ("-".to_owned(), true),
        Value::String(text) => (text.clone(), false),
        Value::Array(items) if items.is_empty() => ("none".to_owned(), true),
        Value::Array(items) => (items.iter().map(|item| shown(item).0).collect::<Vec<_>>().join(", "), false),
        other => (other.to_string(), false),
    }
}
