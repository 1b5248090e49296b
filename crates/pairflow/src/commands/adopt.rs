//! `pairflow adopt`: makes a foreign bubble the person's own, after showing what it would run.

use std::path::PathBuf;

use pairflow_core::bubble::{BubbleState, StateName};
use pairflow_core::findings::ReproducerState;
use pairflow_core::ids::BubbleId;
use pairflow_core::rules::{DriverKind, Permissions, Rules};
use pairflow_core::safe::revealed;
use pairflow_core::view::title;
use pairflow_engine::engine::Bubble;
use pairflow_engine::store::{Foreign, ForeignLog};
use pairflow_engine::verbs::Adopted;
use serde::Serialize;

use super::{App, Args, BubbleArg, CommandEntry, CommandError, Exit, Out, command, people};

/// Make a foreign bubble your own, or one whose repository was moved
///
/// Shows what the bubble would run, and asks. Earlier checks, reviews, waivers and approvals do not count, and the bubble
/// stays paused until you resume it. If only the repository was moved, everything counts and the worktree is moved, too.
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
    /// Print what was adopted as JSON
    #[arg(long)]
    pub json: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("adopt", Bubbles, AdoptArgs, run, people);

/// What was adopted, for programs.
#[derive(Default, Serialize)]
struct Adoption {
    bubbles: Vec<AdoptedBubble>,
    left_out: Vec<LeftOut>,
}

#[derive(Serialize)]
struct AdoptedBubble {
    bubble_id: BubbleId,
    state: StateName,
    paused: bool,
    moved_from: Option<PathBuf>,
}

/// A bubble that could not be adopted.
#[derive(Serialize)]
struct LeftOut {
    bubble_id: BubbleId,
    why: String,
    next: Option<String>,
    #[serde(skip)]
    exit: Exit,
}

fn run(args: AdoptArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let mut adoption = Adoption::default();
    let mut foreign = Vec::new();
    for bubble in wanted(app, &args)? {
        match bubble.examine() {
            Ok(Some(shown)) => foreign.push((bubble, shown)),
            Ok(None) => out.note(format_args!("bubble {} is already yours", bubble.id)),
            Err(error) => adoption.leave_out(&bubble.id, error.into(), args.all)?,
        }
    }
    for (bubble, shown) in &foreign {
        show(bubble, shown, out);
    }
    if !foreign.is_empty() {
        ask(app, &args, &foreign, out)?;
    }
    for (bubble, shown) in foreign {
        match bubble.adopt(&shown) {
            Ok(adopted) => {
                let goes_on = adopted.moved_from.is_some() && !adopted.state.phase.is_final();
                adoption.take(&bubble.id, adopted, args.json, out)?;
                if goes_on && let Err(error) = app.hands().wake_with_environment(&bubble) {
                    out.warn(format_args!("{}", CommandError::from(error).message));
                }
            }
            Err(error) => adoption.leave_out(&bubble.id, error.into(), args.all)?,
        }
    }
    adoption.end(args.json, out)
}

impl Adoption {
    /// Notes that a bubble could not be adopted. Only among several the others are adopted nevertheless.
    fn leave_out(&mut self, id: &BubbleId, error: CommandError, several: bool) -> Result<(), CommandError> {
        if !several {
            return Err(error);
        }
        let CommandError { exit, message: why, hint: next } = error;
        self.left_out.push(LeftOut { bubble_id: id.clone(), why, next, exit });
        Ok(())
    }

    fn take(&mut self, id: &BubbleId, adopted: Adopted, json: bool, out: &mut Out) -> Result<(), CommandError> {
        let Adopted { state, moved_from } = adopted;
        if !json {
            tell(id, &state, moved_from.is_some(), out)?;
        }
        self.bubbles.push(AdoptedBubble {
            bubble_id: id.clone(),
            state: state.phase.name(),
            paused: state.paused,
            moved_from,
        });
        Ok(())
    }

    /// Says what was left out. The process ends as the first of them would have ended alone.
    fn end(self, json: bool, out: &mut Out) -> Result<(), CommandError> {
        if json {
            out.json("adopt/1", &self)?;
        } else {
            for LeftOut { bubble_id, why, next, .. } in &self.left_out {
                out.warn(format_args!("bubble {bubble_id} was skipped: {}", revealed(why)));
                next.iter().for_each(|next| out.next(format_args!("{next}")));
            }
        }
        self.left_out.first().map_or(Ok(()), |first| Err(CommandError::silent(first.exit)))
    }
}

/// The bubbles that are meant: one, or every foreign one of the repository.
fn wanted(app: &App, args: &AdoptArgs) -> Result<Vec<Bubble>, CommandError> {
    let engine = app.engine()?;
    if args.bubble.typed().is_some() {
        let (root, id) = app.resolve_bubble(&args.bubble, "adopt")?;
        return Ok(vec![engine.look_at(&root, &id)?]);
    }
    let place = app.place(args.bubble.repo.as_deref())?;
    let mut foreign: Vec<_> = engine.list(&place.repo.root)?;
    // Of a log that cannot be read it may be unknown whose it is.
    foreign.retain(|listed| listed.foreign.is_some() || (args.all && listed.state.is_err()));
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

/// Asks whether to adopt what was shown. A program is never asked.
fn ask(app: &App, args: &AdoptArgs, foreign: &[(Bubble, ForeignLog)], out: &mut Out) -> Result<(), CommandError> {
    let names: Vec<_> = foreign.iter().map(|(bubble, _)| bubble.id.as_str()).collect();
    let what = if names.len() == 1 { "bubble" } else { "bubbles" };
    let question = format!("Adopt {what} {}?", names.join(", "));
    app.require_yes_unless(args.json, out, args.yes, &question)
}

/// Says where a bubble comes from, and everything that it would run.
fn show(bubble: &Bubble, shown: &ForeignLog, out: &mut Out) {
    for line in screen(bubble, shown) {
        // What steers a terminal is named, and a line break cannot pass for a line of pairflow's own.
        out.note(format_args!("{}", revealed(&line).replace('\n', "\n      | ")));
    }
}

fn screen(bubble: &Bubble, shown: &ForeignLog) -> Vec<String> {
    let (ForeignLog { state, why, .. }, here) = (shown, bubble.control.repo());
    let mut lines = vec![format!("Bubble {} is {}: {}", state.id, state.phase.name(), title(&state.about.task))];
    if let Foreign::Moved(from) = why {
        let (old, new) = (bubble.worktree_for(from), bubble.worktree_for(here));
        lines.push(format!("  It is yours. Its repository was moved from {} to {}", from.display(), here.display()));
        if state.evidence.workspace.is_some() {
            lines.push(format!("  Its worktree will be moved from {} to {}", old.display(), new.display()));
        }
        return lines;
    }
    lines.push(format!("  It is foreign: {why}"));
    lines.extend(would_run(state).iter().map(|line| format!("  {line}")));
    lines.push(format!("  Worktree: {}", bubble.worktree_for(here).display()));
    if !state.phase.is_final() {
        let rest = "Earlier checks, reviews, waivers, questions and approvals will not count";
        let verb = if state.evidence.workspace.is_some() { "resume" } else { "start" };
        lines.push(format!("  {rest}, and nothing runs until you {verb} it."));
    }
    lines
}

/// Lists the commands of a bubble's configuration, each as it would be run.
fn would_run(state: &BubbleState) -> Vec<String> {
    let rules = &state.rules;
    let mut lines = unusual_policy(rules);
    lines.extend(rules.setup.iter().map(|command| format!("Setup runs: {command}")));
    lines.extend(rules.checks.iter().map(|check| format!("Check {} runs: {}", check.name, check.command)));
    lines.extend(rules.templates.iter().map(|(name, text)| format!("Agents are told, by the template {name}: {text}")));
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
        lines.push(format!("Agent {agent} gets these variables of your environment: {}", custom.env.join(", ")));
    }
    let resumed = rules.agents_custom.iter().filter(|(_, custom)| !custom.resume.is_empty());
    lines.extend(resumed.map(|(agent, custom)| format!("Agent {agent} is resumed as: {}", custom.resume.join(" "))));
    if rules.permissions == Permissions::All {
        lines.push("Agents may do everything without asking for permission".to_owned());
    }
    let reproducers = state.ledger.rows.iter().filter_map(|row| row.reproducer.as_ref().map(|one| (row.id, one)));
    let reproducers = reproducers.filter(|(_, one)| one.stand != ReproducerState::Dropped);
    lines.extend(reproducers.map(|(finding, one)| format!("Reproducer of {finding} runs: {}", one.command)));
    lines.extend(rules.script.iter().map(|script| format!("Script of the agents: {script}")));
    lines.push(format!("Opens with: {}", rules.open_command));
    lines
}

/// No configuration key sets the policy, so one that is not the usual comes from the log alone.
fn unusual_policy(rules: &Rules) -> Vec<String> {
    let (policy, usual) = (&rules.policy, Rules::default().policy);
    if *policy == usual { Vec::new() } else { vec![format!("Policy: {policy}, not the default {usual}")] }
}

fn tell(id: &BubbleId, state: &BubbleState, moved: bool, out: &mut Out) -> Result<(), CommandError> {
    if moved {
        let worktree = if state.evidence.workspace.is_some() { ", with its worktree" } else { "" };
        out.line(format_args!("Bubble {id} is registered at its new place{worktree}"))?;
        out.next(format_args!("pairflow status {id}"));
        return Ok(());
    }
    let paused = if state.paused { ", paused" } else { "" };
    out.line(format_args!("Adopted bubble {id}, which is {}{paused}", state.phase.name()))?;
    if state.paused {
        out.next(format_args!("pairflow resume {id}"));
    } else if state.phase.name() == StateName::Created {
        out.next(format_args!("pairflow start {id}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_shown_if_it_is_not_the_usual_one() {
        let mut state = BubbleState::new("b1".parse().unwrap());
        let about = |state: &BubbleState| {
            would_run(state).into_iter().filter(|line| line.starts_with("Policy")).collect::<Vec<_>>()
        };
        assert_eq!(about(&state), [""; 0]);
        state.rules.policy = "single".to_owned();
        assert_eq!(about(&state), ["Policy: single, not the default strict"]);
    }
}
