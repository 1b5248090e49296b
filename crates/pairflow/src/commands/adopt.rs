//! `pairflow adopt`: makes a foreign bubble the person's own, after showing what it would run.

use std::path::PathBuf;

use clap::{ArgMatches, Args, FromArgMatches};
use pairflow_core::ids::BubbleId;
use pairflow_core::rules::{DriverKind, Permissions};
use pairflow_core::unit::{StateName, Unit};
use pairflow_core::view::safe::revealed;
use pairflow_core::view::title;
use pairflow_engine::engine::{Bubble, EngineError};
use pairflow_engine::store::{Foreign, StoreError};
use serde::Serialize;

use crate::app::App;
use crate::commands::common::BubbleArg;
use crate::exit::CommandError;
use crate::out::Out;
use crate::table::{CommandEntry, Group};

/// Take over a bubble that did not come from you, or whose repository was moved
///
/// Shows what the bubble would run and asks. Checks, reviews and approvals from before do not count, and the bubble
/// stays paused until you resume it. If only the repository was moved, everything counts and the worktree is moved along.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow adopt login-race\n  pairflow adopt --all")]
pub struct AdoptArgs {
    /// Which bubble
    #[command(flatten)]
    pub bubble: BubbleArg,
    /// Every foreign bubble of the repository
    #[arg(long, conflicts_with_all = ["id", "id_option"])]
    pub all: bool,
    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Print what was adopted as JSON for programs
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = CommandEntry {
    name: "adopt",
    aliases: &[],
    group: Group::Operator,
    about: "Take over a bubble that did not come from you, or whose repository was moved",
    hidden: false,
    human_only: |_| true,
    args: AdoptArgs::augment_args,
    run,
};

/// What was adopted, for programs.
#[derive(Serialize)]
struct Adoption {
    bubbles: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    bubble_id: BubbleId,
    state: StateName,
    paused: bool,
    moved_from: Option<PathBuf>,
}

fn run(matches: &ArgMatches, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let args = AdoptArgs::from_arg_matches(matches).map_err(CommandError::usage)?;
    let found = wanted(app, &args)?;
    let mut foreign = Vec::new();
    for bubble in found {
        match bubble.foreign()? {
            Some(why) if !why.is_adoptable() => {
                return Err(EngineError::from(StoreError::Foreign { id: bubble.id.clone(), why }).into());
            }
            Some(why) => foreign.push((bubble.load()?.unit, bubble, why)),
            None => out.note(format_args!("bubble {} is yours already", bubble.id)),
        }
    }
    if foreign.is_empty() {
        return if args.json { out.json("adopt/1", &Adoption { bubbles: Vec::new() }) } else { Ok(()) };
    }
    for (unit, bubble, why) in &foreign {
        show(bubble, unit, why, out);
    }
    let names: Vec<_> = foreign.iter().map(|(unit, ..)| unit.id.to_string()).collect();
    let what = if names.len() == 1 { "bubble" } else { "bubbles" };
    app.insist(out, args.yes, &format!("Adopt {what} {}?", names.join(", ")))?;
    let mut bubbles = Vec::new();
    for (_, bubble, _) in foreign {
        let adopted = bubble.adopt()?;
        let (state, paused) = (adopted.unit.phase.name(), adopted.unit.paused);
        if adopted.moved_from.is_some() && !adopted.unit.phase.is_final() {
            // It goes on where it stood.
            app.hands().wake_at_home(&bubble)?;
        }
        if !args.json {
            tell(&bubble.id, &adopted.unit, adopted.moved_from.is_some(), out)?;
        }
        bubbles.push(Row { bubble_id: bubble.id.clone(), state, paused, moved_from: adopted.moved_from });
    }
    if args.json { out.json("adopt/1", &Adoption { bubbles }) } else { Ok(()) }
}

/// The bubbles that are meant: one, or every foreign one of the repository.
fn wanted(app: &App, args: &AdoptArgs) -> Result<Vec<Bubble>, CommandError> {
    let engine = app.engine()?;
    if args.bubble.typed().is_some() {
        let (root, id) = app.meant(&args.bubble, "adopt")?;
        return Ok(vec![engine.look_at(&root, &id)?]);
    }
    let place = app.place(args.bubble.repo.as_deref())?;
    let mut foreign: Vec<_> = engine.list(&place.repo.root)?;
    foreign.retain(|listed| listed.foreign.is_some() && listed.unit.is_ok());
    let foreign: Vec<_> = foreign.into_iter().map(|listed| listed.bubble).collect();
    match &foreign[..] {
        [] => Err(CommandError::refused("there is no foreign bubble in this repository.").next("pairflow list")),
        [_] => Ok(foreign),
        _ if args.all => Ok(foreign),
        several => {
            let names: Vec<_> = several.iter().map(|bubble| bubble.id.as_str()).collect();
            let message = format!("which bubble? {} are foreign: {}", names.len(), names.join(", "));
            Err(CommandError::refused(message).next("pairflow adopt --all"))
        }
    }
}

/// Says where a bubble comes from, and everything that it would run.
fn show(bubble: &Bubble, unit: &Unit, why: &Foreign, out: &mut Out) {
    let id = &unit.id;
    out.note(format_args!("Bubble {id} is {}: {}", unit.phase.name(), title(&unit.task)));
    if let Foreign::Moved { from } = why {
        out.note(format_args!(
            "  It is yours. Its repository was {}; now it is {}",
            from.display(),
            bubble.control.repo().display()
        ));
        let (old, new) = (bubble.worktree_for(from), bubble.worktree_for(bubble.control.repo()));
        out.note(format_args!("  Its worktree is moved from {} to {}", old.display(), new.display()));
        return;
    }
    out.note(format_args!("  It is foreign: {why}"));
    for line in would_run(unit) {
        out.note(format_args!("  {}", revealed(&line)));
    }
    out.note(format_args!("  Worktree: {}", bubble.worktree_for(bubble.control.repo()).display()));
    if !unit.phase.is_final() {
        out.note(format_args!(
            "  What was checked, reviewed or approved so far will not count, and nothing runs until you resume it."
        ));
    }
}

/// Lists the commands of a bubble's configuration, each as it would be run.
fn would_run(unit: &Unit) -> Vec<String> {
    let rules = &unit.rules;
    let mut lines = Vec::new();
    lines.extend(rules.setup.iter().map(|command| format!("Setup runs: {command}")));
    lines.extend(rules.checks.iter().map(|check| format!("Check {} runs: {}", check.name, check.command)));
    for agent in rules.agents.all() {
        let words = rules.agents_custom.get(agent).map(|custom| [&custom.command[..], &custom.args[..]].concat());
        let command =
            words.filter(|words| !words.is_empty()).map_or_else(|| agent.to_string(), |words| words.join(" "));
        match rules.driver {
            DriverKind::Tmux => lines.push(format!("Agent {agent} is started as: {command}")),
            DriverKind::Script | DriverKind::External => lines.push(format!("Agent {agent} ({})", rules.driver.name())),
        }
    }
    for (agent, custom) in rules.agents_custom.iter().filter(|(_, custom)| !custom.env.is_empty()) {
        lines.push(format!("Agent {agent} gets of your environment: {}", custom.env.join(", ")));
    }
    let resumed = rules.agents_custom.iter().filter(|(_, custom)| !custom.resume.is_empty());
    lines.extend(resumed.map(|(agent, custom)| format!("Agent {agent} is resumed as: {}", custom.resume.join(" "))));
    if rules.permissions == Permissions::All {
        lines.push("Agents may do everything without asking".to_owned());
    }
    let shown = unit.to_reproduce().map(|(finding, command)| format!("Reproducer of {finding} runs: {command}"));
    lines.extend(shown);
    lines.extend(rules.script.iter().map(|script| format!("Script of the agents: {script}")));
    lines.push(format!("Opens with: {}", rules.open_command));
    lines
}

fn tell(id: &BubbleId, unit: &Unit, moved: bool, out: &mut Out) -> Result<(), CommandError> {
    if moved {
        out.line(format_args!("Bubble {id} is on record here now, with its worktree"))?;
        out.next(format_args!("pairflow status {id}"));
        return Ok(());
    }
    let paused = if unit.paused { ", paused" } else { "" };
    out.line(format_args!("Adopted bubble {id}, which is {}{paused}", unit.phase.name()))?;
    if unit.paused {
        out.next(format_args!("pairflow resume {id}"));
    } else if unit.phase.name() == StateName::Created {
        out.next(format_args!("pairflow start {id}"));
    }
    Ok(())
}
