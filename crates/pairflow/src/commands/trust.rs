//! `pairflow trust`: agrees to the commands of a repository's own file, or no longer.

use std::collections::BTreeMap;

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_core::config::{CommandChange, CommandInForce, CommandSet, Layer, Layers};
use pairflow_engine::detect::Detected;
use pairflow_engine::engine::Agreed;
use serde::Serialize;

use crate::app::{App, Consent, show_commands};
use crate::commands::common::RepoArg;
use crate::exit::CommandError;
use crate::out::Out;
use crate::table::{CommandEntry, Group};

const EXAMPLES: &str = "Examples:
  pairflow trust              show the commands, and ask
  pairflow trust --json       whether they are trusted, and their hash
  pairflow trust --forget     ask again next time

The hash covers what the commands say, so a changed command is never trusted by an old hash.";

/// Trust the commands that a repository's pairflow.toml sets
///
/// pairflow runs them only then. Commands that you name yourself need no trust.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct TrustArgs {
    /// Which repository
    #[command(flatten)]
    pub repo: RepoArg,
    /// Do not ask if the commands have this hash
    #[arg(long, value_name = "HASH", conflicts_with_all = ["forget", "list"])]
    pub trust: Option<String>,
    /// Withdraw everything that you agreed to for this repository
    #[arg(long, conflicts_with = "list")]
    pub forget: bool,
    /// List the repositories whose commands you trust
    #[arg(long)]
    pub list: bool,
    /// Print JSON for programs; nothing is asked
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "trust",
    aliases: &[],
    group: Group::Other,
    about: "Trust the commands that a repository's pairflow.toml sets",
    hidden: false,
    human_only: |_| true,
    args: TrustArgs::augment_args,
    run,
};

/// How the commands of a repository stand, as programs see it.
#[derive(Serialize)]
struct Standing {
    repo: String,
    /// Nothing if the file sets no commands.
    hash: Option<String>,
    trusted: bool,
    commands: Vec<CommandInForce>,
    /// What differs from the commands that were trusted before.
    changes: Vec<CommandChange>,
}

/// Every trusted repository.
#[derive(Serialize)]
struct Trusted {
    repositories: BTreeMap<String, Entry>,
}

#[derive(Serialize)]
struct Entry {
    hash: String,
    commands: CommandSet,
}

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = TrustArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    if args.list {
        return list(app, out, args.json);
    }
    let root = app.place(args.repo.repo.as_deref())?.repo.root;
    if args.forget {
        let known = app.engine()?.forget(&root)?;
        let what = if known { "Forgot what you agreed to" } else { "There was nothing to forget" };
        out.line(format_args!("{what} for {}", root.display()))?;
        return Ok(());
    }
    // What the person's own file says of commands is no matter here.
    let repo = app.layers(&root, None, Layer::default())?.repo;
    let layers = Layers { repo, ..Layers::default() };
    let (detected, again) = (Detected::default(), app.typed_again());
    let trust = args.trust.as_deref();
    let consent = Consent { root: &root, layers: &layers, detected: &detected, trust, yes: false, again: &again };
    if args.json {
        if let Some(hash) = &args.trust {
            app.trust_hash(out, &consent, hash)?;
        }
        let standing = standing(app, &consent)?;
        return out.json("trust/1", &standing);
    }
    let before = standing(app, &consent)?;
    if before.hash.is_none() && args.trust.is_none() {
        return out.line(format_args!("{} sets no commands.", root.join("pairflow.toml").display()));
    }
    if before.trusted {
        show_commands(out, &before.commands);
    }
    app.consent(out, &consent)?;
    let hash = before.hash.unwrap_or_default();
    out.line(format_args!("The commands of {} are trusted (hash {hash})", root.join("pairflow.toml").display()))
}

fn standing(app: &App, it: &Consent<'_>) -> Result<Standing, CommandError> {
    let commands = it.layers.repo.commands();
    let text: CommandSet = commands.iter().cloned().collect();
    let old = app.engine()?.agreed(it.root, Agreed::Trusted);
    Ok(Standing {
        repo: it.root.display().to_string(),
        hash: (!text.is_empty()).then(|| text.hash()),
        trusted: !text.is_empty() && old.as_ref() == Some(&text),
        changes: old.map(|old| text.changes_since(&old)).unwrap_or_default(),
        commands,
    })
}

fn list(app: &App, out: &mut Out, json: bool) -> Result<(), CommandError> {
    let trusted = app.engine()?.trusted();
    if json {
        let entry = |commands: CommandSet| Entry { hash: commands.hash(), commands };
        let repositories = trusted.into_iter().map(|(repo, set)| (repo.display().to_string(), entry(set))).collect();
        return out.json("trusted/1", &Trusted { repositories });
    }
    if trusted.is_empty() {
        out.note(format_args!("you trust the commands of no repository"));
    }
    for (repo, commands) in trusted {
        out.line(format_args!("{}  {}", commands.hash(), repo.display()))?;
    }
    Ok(())
}
