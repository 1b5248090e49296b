//! `pairflow next`: shows the oldest item of the inbox and takes one key to answer it.

use std::path::PathBuf;

use pairflow_core::bubble::{BubbleState, Command, Phase};
use pairflow_core::ids::MsgId;
use pairflow_core::log::Decision;
use pairflow_core::safe::{revealed_bytes, safe_line};
use pairflow_core::view::inbox::ItemKind;
use pairflow_core::view::{age, title};
use pairflow_engine::engine::Bubble;
use pairflow_engine::verbs::{DiffOf, diff};
use serde::Serialize;

use super::home::{Waiting, called, items};

use super::{App, Args, CommandEntry, CommandError, Out, RepoArg, TextLine, Tone, command, ok, people, quoted};
use crate::app::RepoScope;

/// Answer the oldest question or approval request
///
/// Shows the context and the diff, and takes one key. Without a terminal it prints the item and the commands that
/// answer it.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow next\n  pairflow next --json")]
pub struct NextArgs {
    /// Which repository
    #[command(flatten)]
    pub repo: RepoArg,
    /// Print JSON and ask nothing
    #[arg(long)]
    pub json: bool,
}

/// What has waited longest, for programs.
#[derive(Serialize)]
struct NextItem {
    /// Nothing if nothing waits.
    item: Option<Waiting>,
    /// How much waits in all.
    waiting: usize,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("next", Everyday, NextArgs, run, people);

/// How many of the last summaries are shown.
const SUMMARIES: usize = 3;

/// Something that waits, with the bubble that it belongs to.
struct OpenItem {
    bubble: Bubble,
    state: BubbleState,
    waiting: Waiting,
}

fn run(args: NextArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let repo_scope = app.repo_scope(args.repo.repo.as_deref())?;
    if args.json {
        let open = open(app, &repo_scope, out)?;
        let waiting = open.len();
        return out.json("next/1", &NextItem { item: open.into_iter().next().map(|oldest| oldest.waiting), waiting });
    }
    let mut skipped: Vec<(PathBuf, String)> = Vec::new();
    loop {
        let mut open = open(app, &repo_scope, out)?;
        open.retain(|one| !skipped.contains(&one.name()));
        let left = open.len();
        let Some(oldest) = open.into_iter().next() else {
            return nothing_left(skipped.len(), out);
        };
        show(app, &oldest, left, out)?;
        if !app.interactive() {
            return lines(&oldest, out);
        }
        match answer_by_key(app, &oldest, out)? {
            KeyOutcome::Done => out.line(format_args!(""))?,
            KeyOutcome::Skip => skipped.push(oldest.name()),
            KeyOutcome::Quit => return Ok(()),
        }
    }
}

/// Returns all that waits, oldest first. A bubble that cannot be read does not hide the others.
fn open(app: &App, repo_scope: &RepoScope, out: &mut Out) -> Result<Vec<OpenItem>, CommandError> {
    let mut open = Vec::new();
    let engine = app.engine()?;
    for found in app.found(repo_scope)? {
        for listed in found.bubbles?.into_iter().filter(|listed| listed.foreign.is_none()) {
            let state = match listed.state {
                Ok(state) => state,
                Err(error) => {
                    out.warn(format_args!("{}: {}", listed.bubble.id, CommandError::from(error).message));
                    continue;
                }
            };
            for waiting in items(repo_scope, &found.root, &state) {
                let bubble = engine.bubble(&found.root, &state.id)?;
                open.push(OpenItem { bubble, state: state.clone(), waiting });
            }
        }
    }
    open.sort_by_key(|one| one.waiting.item.since);
    Ok(open)
}

impl OpenItem {
    fn name(&self) -> (PathBuf, String) {
        (self.bubble.dir(), self.waiting.item.id.clone())
    }
}

fn nothing_left(skipped: usize, out: &mut Out) -> Result<(), CommandError> {
    match skipped {
        0 => out.paint(&TextLine::new().add(Tone::Good, "Nothing waits for you.")),
        n => out.line(format_args!("Nothing else waits for you; skipped {n}.")),
    }
}

fn show(app: &App, open: &OpenItem, left: usize, out: &mut Out) -> Result<(), CommandError> {
    let (state, item) = (&open.state, &open.waiting.item);
    let since = format!(", for {}", age(item.since, app.clock.now().ts));
    let more = if left > 1 { format!(" ({} more after it)", left - 1) } else { String::new() };
    out.paint(
        &TextLine::new().add(Tone::Strong, format!("{} waits for you", state.id)).add(Tone::Faint, since + &more),
    )?;
    let padded = |text: &str| format!("  {text:<12}");
    let label = |text: &str| TextLine::new().add(Tone::Faint, padded(text));
    out.beside(&padded("task"), Tone::Plain, title(&state.about.task))?;
    for said in state.gate.summaries.iter().rev().take(SUMMARIES).rev() {
        let summary = safe_line(&said.summary, 400);
        out.beside(&padded(""), Tone::Plain, &format!("round {}, {}: {summary}", said.round, said.agent))?;
    }
    match item.kind {
        // A permission is given to exactly these characters, so no line break is added.
        ItemKind::Permission => out.paint(&label(&called(item)).add(Tone::Warn, &item.question))?,
        _ => out.beside(&padded(&called(item)), Tone::Warn, &item.question)?,
    }
    match diff(&open.bubble, state, DiffOf::Everything) {
        Ok(diff) if diff.stat.trim().is_empty() => out.paint(&label("files").plain("nothing changed")),
        Ok(diff) => {
            let room = out.columns().map_or(usize::MAX, |columns| columns.saturating_sub(padded("").len()));
            let mut lines = diff.stat.lines().map(str::trim);
            out.paint(&label("files").fit(Tone::Plain, lines.next().unwrap_or_default(), room))?;
            lines.try_for_each(|line| out.paint(&label("").fit(Tone::Plain, line, room)))
        }
        Err(error) => out.paint(&label("files").add(Tone::Bad, CommandError::from(error).message)),
    }
}

fn lines(open: &OpenItem, out: &mut Out) -> Result<(), CommandError> {
    let mut label = "answer";
    for line in &open.waiting.item.answer {
        out.paint(&TextLine::new().add(Tone::Faint, format!("  {label:<12}")).plain(line))?;
        label = "or";
    }
    Ok(())
}

/// What became of an item.
enum KeyOutcome {
    /// It was answered.
    Done,
    /// It waits on.
    Skip,
    /// The person has had enough.
    Quit,
}

/// Takes keys until one of them settles the item.
fn answer_by_key(app: &App, open: &OpenItem, out: &mut Out) -> Result<KeyOutcome, CommandError> {
    let mut keys = keys(open);
    // What would be refused is not offered.
    keys.retain(|(key, _)| is_possible(open, *key));
    let shown: Vec<_> = keys.iter().map(|(key, what)| format!("{key}={what}")).collect();
    let question = format!("[{}]", shown.join("  "));
    loop {
        let Some(key) = app.key(out, &question)? else { return Ok(KeyOutcome::Quit) };
        if !keys.iter().any(|(one, _)| *one == key) {
            continue;
        }
        let answered = match key {
            'd' => show_diff(open, out).map(|()| false),
            's' => return Ok(KeyOutcome::Skip),
            'q' => return Ok(KeyOutcome::Quit),
            'a' => accept(app, open, out),
            'c' => continue_loop(app, open, out),
            'f' | 'i' => reply(app, open, "", decision(key), out).map(|()| true),
            'e' => return edit_by_hand(app, open, out).map(|()| KeyOutcome::Skip),
            _ => reply_with_text(app, open, out),
        };
        match answered {
            Ok(true) => return Ok(KeyOutcome::Done),
            Ok(false) => {}
            // The item stays where it is, and so does the person.
            Err(error) => out.warn(format_args!("{}", error.message)),
        }
    }
}

fn keys(open: &OpenItem) -> Vec<(char, &'static str)> {
    let approved = matches!(open.state.phase, Phase::Approved(_));
    let own: &[(char, &str)] = match open.waiting.item.kind {
        ItemKind::Approval if approved => &[('a', "commit"), ('r', "send back")],
        ItemKind::Approval => &[('a', "approve and commit"), ('r', "send back")],
        ItemKind::Question | ItemKind::Failing => &[('r', "reply")],
        ItemKind::Baseline => &[('c', "try again"), ('r', "known failure: add a note")],
        ItemKind::Differs => &[('c', "try again"), ('r', "send back with a message")],
        ItemKind::TieBreak => &[
            ('f', "side with the finding"),
            ('i', "side with the implementer"),
            ('c', "continue"),
            ('r', "reply and continue"),
            ('a', "accept as it is"),
            ('e', "edit myself"),
        ],
        ItemKind::Comprehension => &[('a', "understood"), ('r', "send back with a message")],
        ItemKind::CouldNotCheck => &[('c', "try again"), ('a', "accept without it")],
        ItemKind::Permission => &[('a', "allow it once"), ('r', "refuse it with a message")],
        // What a pane shows is answered there; then the loop continues.
        ItemKind::Pane => &[('c', "continue")],
        ItemKind::Watchdog | ItemKind::AgentEnded | ItemKind::Trouble => &[('c', "continue"), ('r', "reply")],
    };
    own.iter().copied().chain([('d', "diff"), ('s', "skip"), ('q', "quit")]).collect()
}

/// The decision that a key stands for at a tie-break.
fn decision(key: char) -> Option<Decision> {
    match key {
        'f' => Some(Decision::SideWithFinding),
        'i' => Some(Decision::SideWithImplementer),
        'c' => Some(Decision::Continue),
        'a' => Some(Decision::Accept),
        _ => None,
    }
}

/// Whether the rules allow what a key stands for. Only tie-breaks have keys that depend on the state of the work.
fn is_possible(open: &OpenItem, key: char) -> bool {
    let (bubble, state) = (&open.bubble, &open.state);
    if open.waiting.item.kind != ItemKind::TieBreak {
        return true;
    }
    match (key, decision(key)) {
        (_, Some(decision)) => {
            let question = Some(MsgId(open.waiting.item.id.clone()));
            let (message, refs, key) = (String::new(), Vec::new(), None);
            bubble.allow(state, &Command::Reply { message, question, decision: Some(decision), refs, key }).is_ok()
        }
        ('e', None) => state.evidence.workspace.is_some() && (state.paused || bubble.allow(state, &paused()).is_ok()),
        _ => true,
    }
}

fn paused() -> Command {
    Command::Pause { reason: "edited by a person".to_owned() }
}

/// Leaves the work to the person: the agents rest, and what is changed in the worktree counts as the person's.
fn edit_by_hand(app: &App, open: &OpenItem, out: &mut Out) -> Result<(), CommandError> {
    let (bubble, state) = (&open.bubble, &open.state);
    if !state.paused {
        bubble.apply(&paused())?;
        app.hands().wake(bubble)?;
    }
    let worktree = state.evidence.workspace.as_ref().map_or("", |workspace| workspace.path.as_str());
    out.line(format_args!("Paused {}; edit the files in {}", bubble.id, quoted(worktree)))?;
    out.note(format_args!("Then answer the question, e.g. with --decision continue, and resume the bubble."));
    let (id, question) = (&bubble.id, &open.waiting.item.id);
    out.next(format_args!("pairflow reply {id} --question {question} --decision continue"));
    out.next(format_args!("pairflow resume {id}"));
    Ok(())
}

fn show_diff(open: &OpenItem, out: &mut Out) -> Result<(), CommandError> {
    let diff = diff(&open.bubble, &open.state, DiffOf::Everything)?;
    out.line(format_args!("{}", revealed_bytes(&diff.patch)))
}

/// Takes the work as it is: approves and commits it, or accepts it at a tie-break.
fn accept(app: &App, open: &OpenItem, out: &mut Out) -> Result<bool, CommandError> {
    let bubble = &open.bubble;
    match &open.state.phase {
        Phase::ReadyForApproval(request) => {
            ok::show(bubble, request, out)?;
            if !app.confirm(out, &format!("Approve tree {} of {} and commit it?", request.tree.short(), bubble.id))? {
                return Ok(false);
            }
            ok::approve(bubble, request)?;
            ok::commit(app, bubble, out)?;
        }
        Phase::Approved(_) => ok::commit(app, bubble, out)?,
        _ => reply(app, open, "accepted", Some(Decision::Accept), out)?,
    }
    Ok(true)
}

/// Continues the loop.
fn continue_loop(app: &App, open: &OpenItem, out: &mut Out) -> Result<bool, CommandError> {
    match open.waiting.item.kind {
        ItemKind::TieBreak | ItemKind::CouldNotCheck | ItemKind::Baseline | ItemKind::Differs => {
            reply(app, open, "continue", Some(Decision::Continue), out)?;
        }
        _ => {
            open.bubble.resume(&app.hands())?;
            out.line(format_args!("Resumed {}", open.bubble.id))?;
        }
    }
    Ok(true)
}

/// Asks for words, and answers or sends back with them. No words, no answer.
fn reply_with_text(app: &App, open: &OpenItem, out: &mut Out) -> Result<bool, CommandError> {
    let Some(text) = app.answer(out, "Your text:")?.filter(|text| !text.is_empty()) else { return Ok(false) };
    if open.waiting.item.kind == ItemKind::Approval {
        let mut refs = Vec::new();
        let message = open.bubble.inline(&text, &mut refs)?;
        let command = Command::Rework { message, reject: false, findings: Vec::new(), refs, key: None };
        open.bubble.apply(&command)?;
        app.hands().wake(&open.bubble)?;
        out.line(format_args!("Sent {} back to its agents", open.bubble.id))?;
    } else {
        reply(app, open, &text, None, out)?;
    }
    Ok(true)
}

fn reply(
    app: &App,
    open: &OpenItem,
    text: &str,
    decision: Option<Decision>,
    out: &mut Out,
) -> Result<(), CommandError> {
    let question = Some(MsgId(open.waiting.item.id.clone()));
    let mut refs = Vec::new();
    let message = open.bubble.inline(text, &mut refs)?;
    open.bubble.apply(&Command::Reply { message, question, decision, refs, key: None })?;
    app.hands().wake(&open.bubble)?;
    out.line(format_args!("Answered {} of {}", open.waiting.item.id, open.bubble.id))
}
