//! One key, and what it does. Which keys there are follows from what is asked.

use pairflow_core::bubble::{Command, Phase};
use pairflow_core::ids::MsgId;
use pairflow_core::log::Decision;
use pairflow_core::safe::revealed_bytes;
use pairflow_core::view::inbox::ItemKind;
use pairflow_engine::verbs::{DiffOf, diff};

use super::Open;
use crate::app::App;
use crate::commands::ok;
use crate::exit::CommandError;
use crate::out::Out;

/// What became of an item.
pub(super) enum Taken {
    /// It was answered.
    Done,
    /// It waits on.
    Skip,
    /// The person has had enough.
    Quit,
}

/// Takes keys until one of them settles the item.
pub(super) fn take(app: &App, open: &Open, out: &mut Out) -> Result<Taken, CommandError> {
    let keys = keys(open);
    let shown: Vec<_> = keys.iter().map(|(key, what)| format!("{key}={what}")).collect();
    let question = format!("[{}]", shown.join("  "));
    loop {
        let Some(key) = app.key(out, &question)? else { return Ok(Taken::Quit) };
        if !keys.iter().any(|(one, _)| *one == key) {
            continue;
        }
        let answered = match key {
            'd' => show_diff(open, out).map(|()| false),
            's' => return Ok(Taken::Skip),
            'q' => return Ok(Taken::Quit),
            'a' => accept(app, open, out),
            'c' => go_on(app, open, out),
            _ => in_words(app, open, out),
        };
        match answered {
            Ok(true) => return Ok(Taken::Done),
            Ok(false) => {}
            // The item stays where it is, and so does the person.
            Err(error) => out.warn(format_args!("{}", error.message)),
        }
    }
}

fn keys(open: &Open) -> Vec<(char, &'static str)> {
    let approved = matches!(open.state.phase, Phase::Approved(_));
    let own: &[(char, &str)] = match open.waiting.item.kind {
        ItemKind::Approval if approved => &[('a', "commit"), ('r', "send back")],
        ItemKind::Approval => &[('a', "approve and commit"), ('r', "send back")],
        ItemKind::Question | ItemKind::Failing => &[('r', "reply")],
        ItemKind::Baseline => &[('c', "try again"), ('r', "known failure: say so")],
        ItemKind::Differs => &[('c', "try again"), ('r', "send back with words")],
        ItemKind::TieBreak => &[('c', "continue"), ('r', "reply and continue"), ('a', "accept")],
        ItemKind::Comprehension => &[('a', "understood"), ('r', "send back with words")],
        ItemKind::CouldNotCheck => &[('c', "try again"), ('a', "accept without it")],
        ItemKind::Permission => &[('a', "allow it once"), ('r', "refuse it with words")],
        // What a pane shows is answered there; then the loop goes on.
        ItemKind::Pane => &[('c', "continue")],
        ItemKind::Watchdog | ItemKind::AgentEnded | ItemKind::Trouble => &[('c', "continue"), ('r', "reply")],
    };
    own.iter().copied().chain([('d', "diff"), ('s', "skip"), ('q', "quit")]).collect()
}

fn show_diff(open: &Open, out: &mut Out) -> Result<(), CommandError> {
    let diff = diff(&open.bubble, &open.state, DiffOf::Everything)?;
    out.line(format_args!("{}", revealed_bytes(&diff.patch)))
}

/// Takes the work as it is: approves and commits it, or accepts it at a tie-break.
fn accept(app: &App, open: &Open, out: &mut Out) -> Result<bool, CommandError> {
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

/// Lets the loop go on.
fn go_on(app: &App, open: &Open, out: &mut Out) -> Result<bool, CommandError> {
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
fn in_words(app: &App, open: &Open, out: &mut Out) -> Result<bool, CommandError> {
    let Some(text) = app.answer(out, "Your words:")?.filter(|text| !text.is_empty()) else { return Ok(false) };
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

fn reply(app: &App, open: &Open, text: &str, decision: Option<Decision>, out: &mut Out) -> Result<(), CommandError> {
    let question = Some(MsgId(open.waiting.item.id.clone()));
    let mut refs = Vec::new();
    let message = open.bubble.inline(text, &mut refs)?;
    open.bubble.apply(&Command::Reply { message, question, decision, refs, key: None })?;
    app.hands().wake(&open.bubble)?;
    out.line(format_args!("Answered {} of {}", open.waiting.item.id, open.bubble.id))
}
