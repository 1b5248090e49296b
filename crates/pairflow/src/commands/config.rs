//! `pairflow config`: the configuration in force, and how a person changes that of a bubble.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use pairflow_core::bubble::{BubbleState, Command, Phase};
use pairflow_core::config::{ConfigSetting, Edit, Explained, Layer, Origin, Set, changes, resolve};
use pairflow_core::ids::BubbleId;
use pairflow_core::log::Person;
use pairflow_core::rules::{ConfigChange, Rules};
use pairflow_core::view::timeline::changed;
use pairflow_engine::config::{LoadError, person_layer};
use pairflow_engine::detect::{Detected, DetectedCommand, detect};
use pairflow_engine::engine::Bubble;
use pairflow_engine::verbs::FileState;
use serde::Serialize;
use serde_json::{Value, json};

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Grid, Out, Tone, command};
use crate::app::unfolded;

/// Explain the configuration, or change it for a bubble
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Examples:\n  pairflow config explain\n  pairflow config set login-race commands.test='cargo test'\n  pairflow config apply login-race"
)]
pub struct ConfigArgs {
    /// What to do with it
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// What can be done with the configuration.
#[derive(Debug, Clone, Subcommand)]
pub enum ConfigCommand {
    /// Show every value and its source
    #[command(after_help = "Example:\n  pairflow config explain login-race")]
    Explain(ExplainArgs),
    /// Change the configuration of a bubble; the change is recorded in its log
    #[command(after_help = SET_EXAMPLES)]
    Set(SetArgs),
    /// Apply an edited bubble.toml: shows the changes and asks
    #[command(after_help = "Example:\n  pairflow config apply login-race")]
    Apply(ApplyArgs),
}

const SET_EXAMPLES: &str = "Examples:
  pairflow config set login-race commands.test='cargo test' max_rounds=12
  pairflow config set login-race scope.allow='[\"src/**\"]'
  pairflow config set login-race commands.lint=      remove the lint command
  pairflow config set login-race identity=current    commit as git is configured now

A check whose command changes is run again; earlier results do not count.";

/// What is not a key of the configuration, but who commits.
const IDENTITY: &str = "identity";

/// The arguments of `config set`.
#[derive(Debug, Clone, Args)]
pub struct SetArgs {
    /// The bubble: its id or a unique beginning of it
    #[arg(value_name = "ID")]
    pub id: String,
    /// The repository [default: the one of the current directory]
    #[arg(long, value_name = "PATH")]
    pub repo: Option<PathBuf>,
    /// What to set; values are written as in a file, text also without quotes
    #[arg(value_name = "KEY=VALUE", required = true)]
    pub settings: Vec<ConfigSetting>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `config apply`.
#[derive(Debug, Clone, Args)]
pub struct ApplyArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Print JSON and ask nothing
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `config explain`.
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// Which bubble; without one, what a new bubble would get
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry =
    command!("config", Setup, ConfigArgs, run, |matches| matches.subcommand_name() != Some("explain"));

/// The configuration of one bubble or of the next one.
#[derive(Serialize)]
struct ExplainedConfig {
    repo: String,
    /// Nothing for what a new bubble would get.
    bubble_id: Option<String>,
    values: Vec<Explained>,
    /// How the bubble's own file differs from what is in force.
    differs: Option<String>,
}

fn run(args: ConfigArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    match args.command {
        ConfigCommand::Explain(args) => show(app, out, &args),
        ConfigCommand::Set(args) => set(app, out, &args),
        ConfigCommand::Apply(args) => apply(app, out, &args),
    }
}

fn set(app: &App, out: &mut Out, args: &SetArgs) -> Result<(), CommandError> {
    let bubble = app.bubble(&BubbleArg::named(Some(args.id.clone()), args.repo.clone()), "config set")?;
    if args.settings.iter().any(|setting| setting.key == IDENTITY) {
        return set_identity(out, &bubble, args);
    }
    let state = bubble.load()?.state;
    let rules = bubble.subject(&state).with(&args.settings).map_err(|errors| CommandError::from(&errors))?;
    let changes = put_in_force(app, &bubble, &state, &rules)?;
    tell(out, &bubble, &changes, args.json)
}

/// Has the bubble's commit made as git says now.
fn set_identity(out: &mut Out, bubble: &Bubble, args: &SetArgs) -> Result<(), CommandError> {
    let [ConfigSetting { value: Some(value), .. }] = &args.settings[..] else {
        return Err(CommandError::usage(format_args!("{IDENTITY} must be set alone: {IDENTITY}=current.")));
    };
    if value != "current" {
        return Err(CommandError::usage(format_args!("{IDENTITY} can only be set to `current`, not to `{value}`.")));
    }
    let before = bubble.load()?.state.about.identity;
    let identity = bubble.adopt_identity()?;
    if before.as_ref() == Some(&identity) {
        return tell(out, bubble, &[], args.json);
    }
    let author = |author: Option<Person>| json!(author.map(|author| author.to_string()));
    let (old, new) = (author(before.and_then(|identity| identity.author)), author(identity.author));
    tell(out, bubble, &[ConfigChange { key: IDENTITY.to_owned(), old, new }], args.json)
}

fn apply(app: &App, out: &mut Out, args: &ApplyArgs) -> Result<(), CommandError> {
    let bubble = app.bubble(&args.bubble, "config apply")?;
    let state = bubble.load()?.state;
    let changes = match bubble.file_state(&state)? {
        FileState::Edited(edit) => {
            show_edit(out, &bubble, &state, &edit)?;
            let question = format!("Apply these changes to bubble {}?", bubble.id);
            app.require_yes_unless(args.json, out, args.yes, &question)?;
            put_in_force(app, &bubble, &state, &edit.rules)?
        }
        FileState::Same | FileState::Gone => Vec::new(),
        FileState::Unusable(LoadError::Invalid(errors)) => return Err((&errors).into()),
        FileState::Unusable(error) => return Err(CommandError::io(format_args!("{error}."))),
    };
    tell(out, &bubble, &changes, args.json)
}

/// Shows what an edited `bubble.toml` changes; refuses what cannot change before any question.
pub(crate) fn show_edit(out: &mut Out, bubble: &Bubble, state: &BubbleState, edit: &Edit) -> Result<(), CommandError> {
    bubble.allow(state, &Command::Configure { rules: Box::new(edit.rules.clone()) })?;
    out.note(format_args!("bubble.toml changes the configuration of bubble {}", bubble.id));
    for ConfigChange { key, old, new } in &edit.changes {
        out.note(format_args!("  {key}: {} -> {}", whole(old), whole(new)));
    }
    Ok(())
}

/// Returns a value that the person is asked about: nothing of it is hidden or cut.
fn whole(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => unfolded(text, 4),
        other => unfolded(&other.to_string(), 4),
    }
}

/// Records the rules and returns what changed.
pub(crate) fn put_in_force(
    app: &App,
    bubble: &Bubble,
    seen: &BubbleState,
    rules: &Rules,
) -> Result<Vec<ConfigChange>, CommandError> {
    let state = bubble.configure(seen, rules)?;
    let changes = changes(&seen.rules, &state.rules);
    if !changes.is_empty() && state.phase != Phase::Created {
        app.hands().wake(bubble)?;
    }
    Ok(changes)
}

fn tell(out: &mut Out, bubble: &Bubble, changes: &[ConfigChange], json: bool) -> Result<(), CommandError> {
    if json {
        return out.json("config_changed/1", &Changed { bubble_id: &bubble.id, changes });
    }
    if changes.is_empty() {
        return out.line(format_args!("Nothing changed in bubble {}", bubble.id));
    }
    out.line(format_args!("Changed the configuration of bubble {}", bubble.id))?;
    changes.iter().try_for_each(|change| out.line(format_args!("  {}", changed(change))))
}

/// What changed, as programs see it.
#[derive(Serialize)]
struct Changed<'a> {
    bubble_id: &'a BubbleId,
    changes: &'a [ConfigChange],
}

fn show(app: &App, out: &mut Out, args: &ExplainArgs) -> Result<(), CommandError> {
    let explanation = explain(app, &args.bubble)?;
    if args.json {
        return out.json("config/1", &explanation);
    }
    let mut grid = Grid::new(&["KEY", "VALUE", "SOURCE"]).whole();
    for row in &explanation.values {
        let (value, dim) = shown(&row.value);
        let source = if row.source == Origin::Default { Tone::Faint } else { Tone::Plain };
        grid.row([
            (Tone::Strong, row.key.to_owned()),
            (if dim { Tone::Faint } else { Tone::Plain }, value),
            (source, row.source.to_string()),
        ]);
    }
    out.grid(&grid)?;
    match &explanation.bubble_id {
        None => note_detected(&explanation, out),
        Some(id) => {
            if let Some(differs) = &explanation.differs {
                out.warn(format_args!("{differs}"));
                out.next(format_args!("pairflow config apply {id}"));
            }
        }
    }
    Ok(())
}

/// Prints the commands that are detected for a new bubble if none are set.
fn note_detected(explanation: &ExplainedConfig, out: &mut Out) {
    let set = |key: &str| explanation.values.iter().any(|row| row.key == key && !row.value.is_null());
    if ["commands.test", "commands.typecheck", "commands.lint"].into_iter().any(set) {
        return;
    }
    let Detected { test, typecheck, lint, setup } = detect(Path::new(&explanation.repo));
    for (key, found) in [("test", test), ("typecheck", typecheck), ("lint", lint), ("setup", setup)] {
        if let Some(DetectedCommand { command, because }) = found {
            out.note(format_args!("commands.{key} is not set; a new bubble would use: {command} (found in {because})"));
        }
    }
}

fn explain(app: &App, arg: &BubbleArg) -> Result<ExplainedConfig, CommandError> {
    if arg.typed().is_some() {
        let bubble = app.bubble(arg, "config explain")?;
        let state = bubble.load()?.state;
        let differs = bubble.config_differs(&state);
        let values = match state.phase {
            Phase::Created if differs.is_none() => from_files(app, &bubble)?,
            _ => from_log(app, &bubble, &state)?,
        };
        let repo = bubble.control.repo().display().to_string();
        return Ok(ExplainedConfig { repo, bubble_id: Some(bubble.id.to_string()), values, differs });
    }
    let place = app.place(arg.repo.as_deref())?;
    let root = place.repo.root.display().to_string();
    let mut layers = app.layers(&place.repo.root, None, Layer::default())?;
    // Defaults of `create` come below every file.
    if let Some(branch) = place.repo.current_branch() {
        layers.user.base_branch.get_or_insert_with(|| Set::default(branch));
    }
    layers.user.repo_path.get_or_insert_with(|| Set::default(root.clone()));
    Ok(ExplainedConfig { repo: root, bubble_id: None, values: layers.explain(), differs: None })
}

/// What a start would record.
fn from_files(app: &App, bubble: &Bubble) -> Result<Vec<Explained>, CommandError> {
    let layers = app.layers(bubble.control.repo(), Some(&bubble.id), Layer::default())?;
    Ok(resolve(&layers).map_err(|errors| CommandError::from(&errors))?.explained)
}

/// What is recorded, and so in force.
fn from_log(app: &App, bubble: &Bubble, state: &BubbleState) -> Result<Vec<Explained>, CommandError> {
    let user = person_layer(&app.engine()?.dirs.config).map_err(|error| match &error {
        LoadError::Invalid(errors) => errors.into(),
        other => CommandError::io(format_args!("{other}.")),
    })?;
    Ok(bubble.subject(state).explain(bubble.config_lines()?, &user))
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
