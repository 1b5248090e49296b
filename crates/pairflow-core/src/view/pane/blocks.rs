//! What each part of the view says.

use crate::bubble::{BubbleState, Phase, Stage, StateName, missing_checks};
use crate::facts::CheckPlace;
use crate::facts::Seat;
use crate::facts::{RowState, Severity};
use crate::findings::Row;
use crate::log::MessageKind;
use crate::rules::DriverKind;
use crate::safe::width;
use crate::time::Timestamp;
use crate::view::inbox::{InboxItem, inbox};
use crate::view::pane::line::wrapped;
use crate::view::pane::scene::{CLOSE, turn_left};
use crate::view::pane::sections::{LABEL, Section, labelled};
use crate::view::pane::{PaneLine, Scene, Shade, silence_left};
use crate::view::status::{Stand, Status};
use crate::view::timeline::TimelineRow;
use crate::view::words::{UNCOUNTED, age, called, count, criterion, one_line, span, spent, title, up_to_cut};

/// How many lines a question takes at most.
const QUESTION: usize = 4;
/// How many columns the title of a finding gets before the place of the finding gets any.
const TITLE: usize = 24;
/// How many findings are listed.
const FINDINGS: usize = 40;

/// The bubble's name, its state and its round.
pub(super) fn head(scene: &Scene<'_>) -> PaneLine {
    let state = scene.state;
    let paused = if state.paused { ", paused" } else { "" };
    let line = PaneLine::of(Shade::Strong, state.id.as_str())
        .add(Shade::Plain, "  ")
        .add(state_shade(state), format!("{}{paused}", state.phase.name()));
    match state.rounds.round {
        0 => line,
        round => {
            let used = spent(round, state.rounds.spent, state.rules.max_rounds);
            line.add(Shade::Plain, format!("  round {used}"))
        }
    }
}

/// What the bubble is about.
pub(super) fn task(state: &BubbleState) -> PaneLine {
    PaneLine::of(Shade::Faint, one_line(title(&state.about.task)))
}

fn state_shade(state: &BubbleState) -> Shade {
    match state.phase.name() {
        _ if state.paused => Shade::Warn,
        StateName::WaitingHuman | StateName::ReadyForApproval | StateName::ApprovedForCommit => Shade::Warn,
        StateName::Committed | StateName::Done | StateName::Running => Shade::Good,
        StateName::Failed => Shade::Bad,
        StateName::Created | StateName::PreparingWorkspace | StateName::Cancelled => Shade::Plain,
    }
}

/// What is wrong around the bubble, with the command that helps.
pub(super) fn alarms(scene: &Scene<'_>, columns: usize) -> Section {
    let mut lines = Vec::new();
    for alarm in scene.alarms {
        lines.extend(wrapped(&alarm.what, columns, 2).into_iter().map(|text| PaneLine::of(Shade::Bad, text)));
        let next = alarm.next.iter();
        lines.extend(next.map(|command| PaneLine::of(Shade::Strong, format!("  {}", one_line(command)))));
    }
    Section::new(0, lines.len(), lines)
}

/// What waits for the person, oldest first, with the commands that answer it.
pub(super) fn waiting(scene: &Scene<'_>, columns: usize) -> Section {
    let items = inbox(scene.state);
    let lines: Vec<_> = items.iter().flat_map(|item| asked(item, scene.now.ts, columns)).collect();
    let least = items.first().map_or(0, |first| asked(first, scene.now.ts, columns).len());
    Section::new(1, least, labelled("Inbox", lines))
}

/// Says that nothing waits for the person, if so.
pub(super) fn nothing_waits(state: &BubbleState) -> Section {
    let nothing = inbox(state).is_empty().then(|| PaneLine::of(Shade::Faint, "nothing waits for you"));
    Section::new(8, 1, labelled("Inbox", nothing.into_iter().collect()))
}

fn asked(item: &InboxItem, now: Timestamp, columns: usize) -> Vec<PaneLine> {
    let room = columns.saturating_sub(LABEL);
    let question = format!("{}, {} ago: {}", called(&item.by), age(item.since, now), one_line(&item.question));
    let question = wrapped(&question, room, QUESTION);
    let question = if item.decisive.is_some() { up_to_cut(question) } else { question };
    // A command that is cut is no command; the one that shows them all is short.
    let whole = |command: String| if width(&command) + 2 > room { item.reading() } else { command };
    let mut answers: Vec<_> = item.offered(item.answer.clone(), &question.join(" ")).into_iter().map(whole).collect();
    answers.dedup();
    let answers = answers.iter().map(|command| PaneLine::of(Shade::Strong, format!("  {}", one_line(command))));
    question.iter().map(|text| PaneLine::of(Shade::Warn, text)).chain(answers).collect()
}

/// Whose turn it is and since when, or what else is waited for.
pub(super) fn turn(scene: &Scene<'_>) -> Section {
    let state = scene.state;
    let lines = match state.phase.turn() {
        Some(turn) => {
            let since = format!(" since {} UTC, {}", turn.since.ts.hms(), age(turn.since.ts, scene.now.ts));
            let line = PaneLine::of(Shade::Strong, turn.agent.as_str())
                .add(Shade::Plain, format!(" as {}", turn.seat))
                .add(Shade::Faint, since);
            vec![line.join(doing(state))]
        }
        None => vec![PaneLine::of(Shade::Plain, without_turn(state))],
    };
    Section::new(2, 1, labelled("Turn", lines))
}

fn doing(state: &BubbleState) -> PaneLine {
    let stage = state.phase.turn().map(|turn| &turn.stage);
    let opening = match (stage, missing_checks(state).first()) {
        (Some(Stage::Closing(_)), _) => "the tree is recorded".to_owned(),
        (_, Some((check, CheckPlace::Base))) => format!("check {} runs on the base", one_line(&check.name)),
        (_, Some((check, _))) => format!("check {} runs", one_line(&check.name)),
        (_, None) => "the brief is written".to_owned(),
    };
    match &state.phase {
        Phase::WaitingHuman(_) => PaneLine::of(Shade::Warn, ", waits for you"),
        _ if state.paused => PaneLine::of(Shade::Warn, ", paused"),
        _ if state.gate.updating => PaneLine::of(Shade::Plain, ", the base is being merged"),
        _ if matches!(stage, Some(Stage::Closing(handover)) if handover.seat == Seat::Reviewer) => {
            PaneLine::of(Shade::Plain, ", closing: the tree is recorded")
        }
        _ if matches!(stage, Some(Stage::Closing(_) | Stage::Opening)) => {
            PaneLine::of(Shade::Plain, format!(", opening: {opening}"))
        }
        _ => PaneLine::default(),
    }
}

fn without_turn(state: &BubbleState) -> String {
    match &state.phase {
        Phase::Created => match &state.gate.start_failed {
            Some(why) => format!("not started: {}", one_line(why)),
            None => "not started".to_owned(),
        },
        Phase::Preparing => "pairflow prepares the workspace".to_owned(),
        Phase::ReadyForApproval(request) => format!("tree {} waits for your approval", request.tree.short()),
        Phase::Approved(at) if at.commit.is_some() => "pairflow makes the commit".to_owned(),
        Phase::Approved(_) => "approved; the commit is yours".to_owned(),
        Phase::Committed(at) => format!("commit {} is made", at.commit.short()),
        Phase::Done(at) if state.gate.merged.is_some() => format!("done: commit {}, merged", at.commit.short()),
        Phase::Done(at) => format!("done: commit {}, not merged", at.commit.short()),
        Phase::Failed { reason } => format!("failed: {}", one_line(reason)),
        Phase::Cancelled => "stopped for good".to_owned(),
        Phase::Running(_) | Phase::WaitingHuman(_) => String::new(),
    }
}

/// How long until the person is asked why nothing happens.
pub(super) fn watchdog(scene: &Scene<'_>, status: &Status) -> Section {
    if let Some(parked) = &status.parked {
        let text =
            format!("{} has reached the limit of its account, until {} UTC", parked.agent, parked.until.date_hms());
        return Section::new(4, 1, labelled("Watchdog", vec![PaneLine::of(Shade::Warn, text)]));
    }
    let Some(silence) = silence_left(scene) else { return Section::default() };
    let shade = |left: u64| if left < CLOSE { Shade::Warn } else { Shade::Plain };
    let told = |left: u64| PaneLine::of(shade(left), span(left / 1000));
    let line = match (scene.supervised, turn_left(scene)) {
        (false, _) => PaneLine::of(Shade::Warn, UNCOUNTED),
        (true, None) => PaneLine::of(Shade::Plain, "asks you in ").join(told(silence)),
        (true, Some(rest)) => PaneLine::of(Shade::Plain, "asks you in ")
            .join(told(silence))
            .add(Shade::Plain, " if nothing is heard, in ")
            .join(told(rest))
            .add(Shade::Plain, " in any case"),
    };
    Section::new(4, 1, labelled("Watchdog", vec![line]))
}

/// The open findings: how many of which severity, then each of them, the gravest first.
pub(super) fn findings(state: &BubbleState, columns: usize) -> Section {
    let mut open: Vec<&Row> = state.ledger.open().collect();
    open.sort_by_key(|row| (row.severity, row.id));
    let grave = open.iter().filter(|row| row.blocks()).count();
    if open.is_empty() {
        let none = PaneLine::of(Shade::Good, "none is open");
        return Section::new(5, 1, labelled("Findings", vec![none]));
    }
    let of = |severity: Severity| open.iter().filter(|row| row.severity == severity).count();
    let counts = [Severity::P0, Severity::P1, Severity::P2, Severity::P3].map(|severity| (severity, of(severity)));
    let counts = counts.iter().filter(|(_, count)| *count > 0).map(|(severity, count)| format!("{count} {severity}"));
    let counts = counts.collect::<Vec<_>>().join(", ");
    let shade = if grave > 0 { Shade::Bad } else { Shade::Warn };
    let mut lines = vec![PaneLine::of(shade, format!("{counts} open")).add(Shade::Plain, blocked(grave))];
    let room = columns.saturating_sub(LABEL);
    lines.extend(open.iter().take(FINDINGS).map(|row| finding(row, room)));
    Section::new(5, 3, labelled("Findings", lines))
}

fn blocked(grave: usize) -> String {
    match grave {
        0 => ", none of them keeps the work from being accepted".to_owned(),
        n => format!(", {n} of them in the way of acceptance"),
    }
}

/// A finding in so many columns: its title gives way first, how it stands never.
fn finding(row: &Row, columns: usize) -> PaneLine {
    let shade = if row.blocks() { Shade::Bad } else { Shade::Warn };
    let state = if row.state == RowState::Open { String::new() } else { format!(" [{}]", row.stands()) };
    let place = row.file.as_deref().map(|file| match row.line {
        Some(line) => format!("  {}:{line}", one_line(file)),
        None => format!("  {}", one_line(file)),
    });
    let name = PaneLine::of(shade, format!("{} {} ", row.id, row.severity));
    let (state, place) = (PaneLine::of(Shade::Plain, state), PaneLine::of(Shade::Faint, place.unwrap_or_default()));
    let kept = name.width() + state.width();
    let beside = columns.saturating_sub(kept + place.width()).max(TITLE);
    let title = PaneLine::of(Shade::Plain, one_line(&row.title)).cut(beside.min(columns.saturating_sub(kept)));
    let full = kept + title.width() >= columns;
    let line = name.join(title).join(state);
    if full { line } else { line.join(place) }
}

/// How the required checks stand on the newest tree, all on one line.
pub(super) fn checks(status: &Status) -> Section {
    let mut line = PaneLine::default();
    for (at, check) in status.checks.iter().enumerate() {
        let (word, shade) = match check.stand {
            Stand::Passed => ("passed", Shade::Good),
            Stand::Failed => ("failed", Shade::Bad),
            Stand::NotAvailable => ("not available", Shade::Warn),
            Stand::Waived => ("waived", Shade::Warn),
            Stand::Missing => ("not run yet", Shade::Faint),
        };
        let between = if at == 0 { "" } else { ", " };
        line = line.add(Shade::Plain, format!("{between}{} ", one_line(&check.check))).add(shade, word);
    }
    if line.pieces.is_empty() {
        line = PaneLine::of(Shade::Faint, "none is run by pairflow");
    }
    Section::new(7, 1, labelled("Checks", vec![line]))
}

/// What is missing for convergence; said only while the loop runs.
pub(super) fn missing(state: &BubbleState, status: &Status, columns: usize) -> Section {
    if !matches!(state.phase, Phase::Running(_) | Phase::WaitingHuman(_)) {
        return Section::default();
    }
    let room = columns.saturating_sub(LABEL);
    let told = status.missing_for_convergence.iter().flat_map(|one| wrapped(&criterion(one), room, 2));
    let lines = told.map(|text| PaneLine::of(Shade::Plain, text)).collect();
    Section::new(9, 0, labelled("Missing", lines))
}

/// The tree and the branch that the work is on.
pub(super) fn work(status: &Status) -> Section {
    let mut lines = Vec::new();
    if let Some(snapshot) = &status.snapshot {
        let (files, tree) = (count(snapshot.files, "file"), snapshot.tree.short());
        let line = PaneLine::of(Shade::Plain, format!("{files} +{} -{}", snapshot.added, snapshot.removed));
        lines.push(line.add(Shade::Faint, format!(", tree {tree}, on {}", one_line(&status.branch))));
    }
    let outside = status.snapshot.iter().map(|snapshot| snapshot.out_of_scope.len()).find(|count| *count > 0);
    lines.extend(outside.map(|count| PaneLine::of(Shade::Bad, format!("{count} out of scope"))));
    Section::new(10, 0, labelled("Work", lines))
}

/// The commands that help from here. What answers a question stands beside the question.
pub(super) fn help(scene: &Scene<'_>, status: &Status, columns: usize) -> Section {
    let state = scene.state;
    let id = &state.id;
    let asked = !inbox(state).is_empty();
    let panes = state.rules.driver == DriverKind::Tmux && state.evidence.workspace.is_some() && !state.phase.is_final();
    let going = matches!(state.phase, Phase::Running(_)) && !state.paused;
    // The session's own view is shown in the session, so there is nothing to attach to.
    let first = (panes && !scene.pane).then(|| format!("pairflow attach {id}"));
    let last = [going.then(|| format!("pairflow pause {id}")), Some(format!("pairflow log {id}"))];
    // What is pairflow's own work needs no command; that nobody does it is an alarm, with a command of its own.
    let own = |line: &&String| line.starts_with("pairflow supervise");
    let next = status.next.iter().filter(|line| !asked && !own(line)).map(|line| one_line(line));
    let mut commands: Vec<String> = Vec::new();
    for command in first.into_iter().chain(next).chain(last.into_iter().flatten()) {
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    let mut lines = beside(&commands, columns.saturating_sub(LABEL));
    let keys = match (scene.pane, panes) {
        (true, _) => "tmux: prefix o next pane, z zoom, d detach",
        (false, true) => "q leaves this view; tmux: prefix o next pane, z zoom, d detach",
        (false, false) => "q leaves this view",
    };
    lines.push(PaneLine::of(Shade::Faint, keys));
    Section::new(6, 1, labelled("Help", lines))
}

/// Commands beside one another, as many on a line as fit; none of them is broken.
fn beside(commands: &[String], columns: usize) -> Vec<PaneLine> {
    let mut lines: Vec<PaneLine> = Vec::new();
    for command in commands {
        let piece = PaneLine::of(Shade::Strong, command);
        match lines.pop() {
            Some(line) if line.width() + 3 + piece.width() <= columns => {
                lines.push(line.add(Shade::Plain, "   ").join(piece));
            }
            before => lines.extend(before.into_iter().chain([piece])),
        }
    }
    lines
}

/// The newest `most` lines of the story, newest last. That a notice has arrived is seen at the agent itself.
pub(super) fn story(rows: &[TimelineRow], most: usize) -> Vec<PaneLine> {
    let told = |row: &TimelineRow| {
        PaneLine::of(Shade::Faint, format!("{} r{:<2} ", row.at.hms(), row.round))
            .join(PaneLine::of(Shade::Strong, &row.who).pad(9))
            .add(row.tone.into(), &row.what)
    };
    let shown: Vec<_> = rows.iter().rev().filter(|row| row.kind != Some(MessageKind::Delivery)).take(most).collect();
    shown.into_iter().rev().map(told).collect()
}
