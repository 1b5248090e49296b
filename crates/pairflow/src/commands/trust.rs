//! `pairflow trust`: agrees to the commands of a repository's own file, or no longer.

use std::collections::BTreeMap;

use pairflow_core::config::{CommandChange, CommandInForce, CommandSet, Layer, Layers};
use pairflow_engine::detect::Detected;
use pairflow_engine::engine::{Agreed, Engine};
use serde::Serialize;

use super::{App, Args, CommandEntry, CommandError, Out, RepoArg, command, people};
use crate::app::{Consent, Purpose, show_commands, to_trust, unfolded};

const EXAMPLES: &str = "Examples:
  pairflow trust              show the commands, and ask
  pairflow trust --json       whether they are trusted, and their hash
  pairflow trust --list       everything that you agreed to
  pairflow trust --forget     ask again next time

The hash covers the text of commands and templates, so an old hash never trusts a changed one.";

/// Trust the commands and templates of a repository
///
/// pairflow runs the commands of pairflow.toml, and uses the templates in pairflow-templates/, only after you trusted them. Commands that you set yourself need no trust; detected
/// commands are confirmed when a bubble is created.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct TrustArgs {
    /// Which repository
    #[command(flatten)]
    pub repo: RepoArg,
    /// Trust the commands without asking if they have this hash
    #[arg(long, value_name = "HASH", conflicts_with_all = ["forget", "list"])]
    pub trust: Option<String>,
    /// Forget everything that you agreed to for this repository
    #[arg(long, conflicts_with = "list")]
    pub forget: bool,
    /// List the commands that you agreed to, by repository
    #[arg(long)]
    pub list: bool,
    /// Print JSON and ask nothing
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("trust", Setup, TrustArgs, run, people);

/// Whether the commands of a repository are trusted, as JSON.
#[derive(Serialize)]
struct TrustState {
    repo: String,
    /// Nothing if the file sets no commands.
    hash: Option<String>,
    trusted: bool,
    commands: Vec<CommandInForce>,
    /// What differs from the commands that were trusted before.
    changes: Vec<CommandChange>,
}

/// Every repository with commands that the person agreed to.
#[derive(Serialize)]
struct Trusted {
    repositories: BTreeMap<String, TrustedRepository>,
}

#[derive(Serialize)]
struct TrustedRepository {
    /// Nothing if no command of its own file is trusted.
    hash: Option<String>,
    commands: CommandSet,
    /// What pairflow detected and the person confirmed.
    detected: CommandSet,
}

/// What was withdrawn.
#[derive(Serialize)]
struct Forgotten {
    repo: String,
    /// Whether there was anything to withdraw.
    forgotten: bool,
}

fn run(args: TrustArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    if args.list {
        return list(app, out, args.json);
    }
    let repo = app.place(args.repo.repo.as_deref())?.repo;
    let root = repo.root.clone();
    if args.forget {
        let known = app.engine()?.forget(&root)?;
        if args.json {
            return out.json("forgotten/1", &Forgotten { repo: root.display().to_string(), forgotten: known });
        }
        let what = if known { "Forgot what you agreed to" } else { "There was nothing to forget" };
        out.line(format_args!("{what} for {}", root.display()))?;
        return Ok(());
    }
    // What the person's own file says of commands is no matter here.
    let own = app.layers(&root, None, Layer::default())?.repo;
    // A bubble uses the templates of its base branch, which is the present one unless something else is set.
    let base = own.base_branch.as_ref().map(|set| set.value.clone()).or_else(|| repo.current_branch());
    let templates = base.map(|branch| Engine::repository_templates(&repo, &branch)).transpose()?.unwrap_or_default();
    let templates = to_trust(&templates);
    let layers = Layers { repo: own, ..Layers::default() };
    let (detected, again) = (Detected::default(), app.typed_again());
    let trust = args.trust.as_deref();
    let consent = Consent {
        purpose: Purpose::Trust,
        root: &root,
        layers: &layers,
        templates: &templates,
        detected: &detected,
        trust,
        yes: false,
        json: args.json,
        again: &again,
    };
    if args.json {
        if let Some(hash) = &args.trust {
            app.trust_hash(out, &consent, hash)?;
        }
        let standing = standing(app, &consent)?;
        return out.json("trust/1", &standing);
    }
    let before = standing(app, &consent)?;
    if before.hash.is_none() && args.trust.is_none() {
        let file = root.join("pairflow.toml");
        let why = if file.exists() { "sets no commands" } else { "does not exist" };
        out.line(format_args!("{} {why}, and there are no templates: there is nothing to trust.", file.display()))?;
        out.note(format_args!("Detected commands are confirmed when a bubble is created; --list shows them."));
        return Ok(());
    }
    if before.trusted {
        show_commands(out, &before.commands);
    }
    app.consent(out, &consent)?;
    let hash = before.hash.unwrap_or_default();
    let what = if templates.is_empty() { "commands" } else { "commands and templates" };
    out.line(format_args!("The {what} of {} are trusted (hash {hash})", root.display()))
}

fn standing(app: &App, it: &Consent<'_>) -> Result<TrustState, CommandError> {
    let commands: Vec<_> = it.layers.repo.commands().into_iter().chain(it.templates.iter().cloned()).collect();
    let text: CommandSet = commands.iter().cloned().collect();
    let engine = app.engine()?;
    let old = engine.agreed(it.root, Agreed::Trusted);
    Ok(TrustState {
        repo: it.root.display().to_string(),
        hash: (!text.is_empty()).then(|| text.hash()),
        trusted: !text.is_empty() && engine.has_agreed(it.root, Agreed::Trusted, &text),
        changes: old.map(|old| text.changes_since(&old)).unwrap_or_default(),
        commands,
    })
}

fn list(app: &App, out: &mut Out, json: bool) -> Result<(), CommandError> {
    let agreed = app.engine()?.all_agreed();
    if json {
        let entry = |[trusted, detected]: [Option<CommandSet>; 2]| TrustedRepository {
            hash: trusted.as_ref().map(CommandSet::hash),
            commands: trusted.unwrap_or_default(),
            detected: detected.unwrap_or_default(),
        };
        let repositories = agreed.into_iter().map(|(repo, both)| (repo.display().to_string(), entry(both))).collect();
        return out.json("trusted/1", &Trusted { repositories });
    }
    if agreed.is_empty() {
        out.note(format_args!("you have not agreed to the commands of any repository"));
    }
    for (repo, [trusted, detected]) in agreed {
        out.line(format_args!("{}", repo.display()))?;
        if let Some(set) = trusted {
            out.line(format_args!("  trusted, from its pairflow.toml (hash {}):", set.hash()))?;
            list_commands(out, &set)?;
        }
        if let Some(set) = detected {
            out.line(format_args!("  detected, and confirmed by you:"))?;
            list_commands(out, &set)?;
        }
    }
    Ok(())
}

fn list_commands(out: &mut Out, set: &CommandSet) -> Result<(), CommandError> {
    set.iter().try_for_each(|(name, command)| out.line(format_args!("    {name:11}{}", unfolded(command, 15))))
}
