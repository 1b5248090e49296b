//! What each part of the view says.

use crate::bubble::{BubbleState, Phase, Stage, Turn, fixes_to_test, missing_checks};
use crate::facts::{CheckPlace, RowState, Seat, Severity};
use crate::findings::Row;
use crate::ids::AgentId;
use crate::log::{MessageKind, QuestionKind};
use crate::rules::{BubbleKind, DriverKind};
use crate::safe::width;
use crate::time::Timestamp;
use crate::view::inbox::{InboxItem, inbox, open_questions};
use crate::view::pane::input::{CLOSE, turn_left};
use crate::view::pane::{PaneInput, SeatNow, SeatStatus, silence_left};
use crate::view::status::{HeldNotice, Status, last_recorded, state_tone};
use crate::view::styled::wrapped;
use crate::view::timeline::TimelineRow;
use crate::view::words::{
    UNCOUNTED, age, asides, called, count, criterion, looks_needed, one_line, span, spent, title, up_to_cut,
};
use crate::view::{ForeignNotice, StyledLine, Tone};

/// How many lines a question takes at most.
const QUESTION: usize = 4;
/// How many columns the title of a finding gets before the place of the finding gets any.
const TITLE: usize = 24;
/// How many findings are listed.
const FINDINGS: usize = 40;

/// The bubble's name, its state and its round.
pub(super) fn head(input: &PaneInput<'_>) -> StyledLine {
    let state = input.state;
    let paused = if state.paused { ", paused" } else { "" };
    let line = StyledLine::of(Tone::Strong, state.id.as_str())
        .add(Tone::Plain, "  ")
        .add(state_tone(state.phase.name(), state.paused), format!("{}{paused}", state.phase.name()));
    match state.rounds.round {
        0 => line,
        round => {
            let used = spent(
                round,
                state.rounds.spent.rounds,
                state.rules.max_rounds,
                (state.rounds.looks, looks_needed(state)),
            );
            line.add(Tone::Plain, format!("  round {used}"))
        }
    }
}

/// What the bubble is about.
pub(super) fn task(state: &BubbleState) -> StyledLine {
    StyledLine::of(Tone::Faint, one_line(title(&state.about.task)))
}

/// What is wrong around the bubble, with the command that helps.
pub(super) fn alarms(input: &PaneInput<'_>, columns: usize) -> PaneSection {
    let mut lines = Vec::new();
    for alarm in input.alarms {
        lines.extend(wrapped(&alarm.what, columns, 2).into_iter().map(|text| StyledLine::of(Tone::Bad, text)));
        let next = alarm.next.iter();
        lines.extend(next.map(|command| StyledLine::of(Tone::Strong, format!("  {}", one_line(command)))));
    }
    PaneSection::new(0, lines.len(), lines)
}

/// What waits for the person, oldest first, with the commands that answer it.
pub(super) fn waiting(input: &PaneInput<'_>, columns: usize) -> PaneSection {
    let items = inbox(input.state);
    let lines: Vec<_> = items.iter().flat_map(|item| asked(item, input.now.ts, columns)).collect();
    let least = items.first().map_or(0, |first| asked(first, input.now.ts, columns).len());
    PaneSection::new(1, least, labelled("Inbox", lines))
}

/// Says that nothing waits for the person, if so.
pub(super) fn nothing_waits(state: &BubbleState) -> PaneSection {
    let nothing = inbox(state).is_empty().then(|| StyledLine::of(Tone::Faint, "nothing waits for you"));
    PaneSection::new(8, 1, labelled("Inbox", nothing.into_iter().collect()))
}

fn asked(item: &InboxItem, now: Timestamp, columns: usize) -> Vec<StyledLine> {
    let room = columns.saturating_sub(LABEL);
    let question = format!("{}, {} ago: {}", called(&item.by), age(item.since, now), one_line(&item.question));
    let question = wrapped(&question, room, QUESTION);
    let question = if item.decisive.is_some() { up_to_cut(question) } else { question };
    // A command that is cut is no command; the one that shows them all is short.
    let whole = |command: String| if width(&command) + 2 > room { item.reading() } else { command };
    let mut answers: Vec<_> = item.offered(item.answer.clone(), &question.join(" ")).into_iter().map(whole).collect();
    answers.dedup();
    let answers = answers.iter().map(|command| StyledLine::of(Tone::Strong, format!("  {}", one_line(command))));
    question.iter().map(|text| StyledLine::of(Tone::Warn, text)).chain(answers).collect()
}

/// Whose turn it is and since when, or what else is waited for.
pub(super) fn turn(input: &PaneInput<'_>) -> PaneSection {
    let state = input.state;
    let lines = match state.phase.turn() {
        Some(turn) => {
            let since = format!(" since {} UTC, {}", turn.since.ts.hms(), age(turn.since.ts, input.now.ts));
            let line = StyledLine::of(Tone::Strong, turn.agent.as_str())
                .add(Tone::Plain, format!(" as {}{}", turn.seat, assigned(state, turn)))
                .add(Tone::Faint, since);
            vec![line.join(doing(state))]
        }
        None => vec![StyledLine::of(Tone::Plain, without_turn(state))],
    };
    PaneSection::new(2, 1, labelled("Turn", lines))
}

/// What a turn is for, if it is neither work nor a review.
fn assigned(state: &BubbleState, turn: &Turn) -> String {
    let contested = state.rounds.contested.iter().map(ToString::to_string).collect::<Vec<_>>();
    match turn.seat {
        Seat::Judge => format!(" of {}", contested.join(", ")),
        _ if turn.acceptance => " (acceptance tests)".to_owned(),
        _ => String::new(),
    }
}

fn doing(state: &BubbleState) -> StyledLine {
    let stage = state.phase.turn().map(|turn| &turn.stage);
    let opening = match (stage, missing_checks(state).first()) {
        (Some(Stage::Closing(_)), _) => "recording the tree".to_owned(),
        (_, Some((check, CheckPlace::Base))) => format!("running check {} on the base", one_line(&check.name)),
        (_, Some((check, _))) => format!("running check {}", one_line(&check.name)),
        (_, None) => match (state.facts().to_reproduce().next(), fixes_to_test(state).first()) {
            (Some((finding, _)), _) => format!("running the reproducer of {finding}"),
            (None, Some(fix)) => format!("testing the fix of {}", fix.finding),
            (None, None) => "writing the brief".to_owned(),
        },
    };
    match &state.phase {
        Phase::WaitingHuman(_) => StyledLine::of(Tone::Warn, ", waits for you"),
        _ if state.paused => StyledLine::of(Tone::Warn, ", paused"),
        _ if state.gate.updating => StyledLine::of(Tone::Plain, ", merging the base"),
        _ if matches!(stage, Some(Stage::Closing(handover)) if handover.seat != Seat::Implementer) => {
            StyledLine::of(Tone::Plain, ", closing: recording the tree")
        }
        _ if matches!(stage, Some(Stage::Closing(_) | Stage::Opening)) => {
            StyledLine::of(Tone::Plain, format!(", opening: {opening}"))
        }
        _ => StyledLine::default(),
    }
}

fn without_turn(state: &BubbleState) -> String {
    match &state.phase {
        Phase::Created => match &state.gate.start_failed {
            Some(why) => format!("not started: {}", one_line(why)),
            None => "not started".to_owned(),
        },
        Phase::Preparing => "preparing the workspace".to_owned(),
        Phase::ReadyForApproval(request) => format!("tree {} waits for your approval", request.tree.short()),
        Phase::Approved(at) if at.commit.is_some() => "committing".to_owned(),
        Phase::Approved(_) => "approved; not committed yet".to_owned(),
        Phase::Committed(at) => format!("committed as {}", at.commit.short()),
        Phase::Done(at) if state.gate.merged.is_some() => format!("done: commit {}, merged", at.commit.short()),
        Phase::Done(at) => format!("done: commit {}, not merged", at.commit.short()),
        Phase::Failed { reason } => format!("failed: {}", one_line(reason)),
        Phase::Cancelled => "cancelled".to_owned(),
        Phase::Running(_) | Phase::WaitingHuman(_) => String::new(),
    }
}

/// How long until the person is asked why nothing happens.
pub(super) fn watchdog(input: &PaneInput<'_>, status: &Status) -> PaneSection {
    if let Some(parked) = &status.parked {
        let text = format!("{} has reached its usage limit until {} UTC", parked.agent, parked.until.date_hms());
        return PaneSection::new(4, 1, labelled("Watchdog", vec![StyledLine::of(Tone::Warn, text)]));
    }
    let Some(silence) = silence_left(input) else { return PaneSection::default() };
    let tone = |left: u64| if left < CLOSE { Tone::Warn } else { Tone::Plain };
    let told = |left: u64| StyledLine::of(tone(left), span(left / 1000));
    let line = match (input.supervised, turn_left(input)) {
        (false, _) => StyledLine::of(Tone::Warn, UNCOUNTED),
        (true, None) => StyledLine::of(Tone::Plain, "asks you in ").join(told(silence)),
        (true, Some(rest)) => StyledLine::of(Tone::Plain, "asks you in ")
            .join(told(silence))
            .add(Tone::Plain, " without activity, in ")
            .join(told(rest))
            .add(Tone::Plain, " at the latest"),
    };
    PaneSection::new(4, 1, labelled("Watchdog", vec![line]))
}

/// The open findings: counts by severity, then each one, the most severe first.
pub(super) fn findings(state: &BubbleState, columns: usize) -> PaneSection {
    let mut open: Vec<&Row> = state.ledger.open().collect();
    open.sort_by_key(|row| (row.severity, row.id));
    let blocking = open.iter().filter(|row| row.blocks()).count();
    if open.is_empty() {
        let none = StyledLine::of(Tone::Good, "none open");
        return PaneSection::new(5, 1, labelled("Findings", vec![none]));
    }
    let of = |severity: Severity| open.iter().filter(|row| row.severity == severity).count();
    let counts = [Severity::P0, Severity::P1, Severity::P2, Severity::P3].map(|severity| (severity, of(severity)));
    let counts = counts.iter().filter(|(_, count)| *count > 0).map(|(severity, count)| format!("{count} {severity}"));
    let counts = counts.collect::<Vec<_>>().join(", ");
    let tone = if blocking > 0 { Tone::Bad } else { Tone::Warn };
    let mut lines = vec![StyledLine::of(tone, format!("{counts} open")).add(Tone::Plain, blocked(blocking))];
    let room = columns.saturating_sub(LABEL);
    lines.extend(open.iter().take(FINDINGS).map(|row| finding(row, state.rules.kind, room)));
    PaneSection::new(5, 3, labelled("Findings", lines))
}

fn blocked(blocking: usize) -> String {
    match blocking {
        0 => ", none blocks acceptance".to_owned(),
        n => format!(", {n} blocking acceptance"),
    }
}

/// Renders a finding in `columns`: its title is cut first, its state never.
fn finding(row: &Row, kind: BubbleKind, columns: usize) -> StyledLine {
    let tone = if row.blocks() { Tone::Bad } else { Tone::Warn };
    let asides: String = asides(row, kind).iter().map(|aside| format!(", {aside}")).collect();
    let state = if row.state == RowState::Open { String::new() } else { format!(" [{}{asides}]", row.stands()) };
    let place = row.file.as_deref().map(|file| match row.line {
        Some(line) => format!("  {}:{line}", one_line(file)),
        None => format!("  {}", one_line(file)),
    });
    let name = StyledLine::of(tone, format!("{} {} ", row.id, row.severity));
    let (state, place) = (StyledLine::of(Tone::Plain, state), StyledLine::of(Tone::Faint, place.unwrap_or_default()));
    let kept = name.width() + state.width();
    let beside = columns.saturating_sub(kept + place.width()).max(TITLE);
    let title = StyledLine::of(Tone::Plain, one_line(&row.title)).cut(beside.min(columns.saturating_sub(kept)));
    let full = kept + title.width() >= columns;
    let line = name.join(title).join(state);
    if full { line } else { line.join(place) }
}

/// The results of the required checks on the newest tree, on one line.
pub(super) fn checks(status: &Status) -> PaneSection {
    let mut line = StyledLine::default();
    for (at, check) in status.checks.iter().enumerate() {
        let (word, tone) = check.stand.described();
        let between = if at == 0 { "" } else { ", " };
        line = line.add(Tone::Plain, format!("{between}{} ", one_line(&check.check))).add(tone, word);
    }
    if line.pieces.is_empty() {
        line = StyledLine::of(Tone::Faint, "no automatic checks");
    }
    PaneSection::new(7, 1, labelled("Checks", vec![line]))
}

/// What is missing for convergence; said only while the loop runs.
pub(super) fn missing(state: &BubbleState, status: &Status, columns: usize) -> PaneSection {
    if !matches!(state.phase, Phase::Running(_) | Phase::WaitingHuman(_)) {
        return PaneSection::default();
    }
    let room = columns.saturating_sub(LABEL);
    let told = status.missing_for_convergence.iter().flat_map(|one| wrapped(&criterion(one), room, 2));
    let lines = told.map(|text| StyledLine::of(Tone::Plain, text)).collect();
    PaneSection::new(9, 0, labelled("Missing", lines))
}

/// The tree and the branch that the work is on.
pub(super) fn work(status: &Status) -> PaneSection {
    let mut lines = Vec::new();
    if let Some(snapshot) = &status.snapshot {
        let (files, tree) = (count(snapshot.files, "file"), snapshot.tree.short());
        let line = StyledLine::of(Tone::Plain, format!("{files} +{} -{}", snapshot.added, snapshot.removed));
        lines.push(line.add(Tone::Faint, format!(", tree {tree}, on {}", one_line(&status.branch))));
    }
    let outside = status.snapshot.iter().map(|snapshot| snapshot.out_of_scope.len()).find(|count| *count > 0);
    lines.extend(outside.map(|count| StyledLine::of(Tone::Bad, format!("{count} out of scope"))));
    PaneSection::new(10, 0, labelled("Work", lines))
}

/// The next commands. Those that answer a question are shown beside it.
pub(super) fn help(input: &PaneInput<'_>, status: &Status, columns: usize) -> PaneSection {
    let state = input.state;
    let id = &state.id;
    let asked = !inbox(state).is_empty();
    let panes = state.rules.driver == DriverKind::Tmux && state.evidence.workspace.is_some() && !state.phase.is_final();
    let going = matches!(state.phase, Phase::Running(_)) && !state.paused;
    // The session's own view is shown in the session, so there is nothing to attach to.
    let first = (panes && !input.pane).then(|| format!("pairflow attach {id}"));
    let last = [going.then(|| format!("pairflow pause {id}")), Some(format!("pairflow log {id}"))];
    // Work of the supervisor needs no command; an absent supervisor is an alarm of its own.
    let own = |line: &&String| line.starts_with("pairflow supervise");
    let next = status.next.iter().filter(|line| !asked && !own(line)).map(|line| one_line(line));
    let mut commands: Vec<String> = Vec::new();
    for command in first.into_iter().chain(next).chain(last.into_iter().flatten()) {
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    let mut lines = beside(&commands, columns.saturating_sub(LABEL));
    let keys = match (input.pane, panes) {
        (true, _) => "tmux: prefix o next pane, z zoom, d detach",
        (false, true) => "q quits; tmux: prefix o next pane, z zoom, d detach",
        (false, false) => "q quits",
    };
    lines.push(StyledLine::of(Tone::Faint, keys));
    PaneSection::new(6, 1, labelled("Help", lines))
}

/// Commands beside one another, as many on a line as fit; none of them is broken.
fn beside(commands: &[String], columns: usize) -> Vec<StyledLine> {
    let mut lines: Vec<StyledLine> = Vec::new();
    for command in commands {
        let piece = StyledLine::of(Tone::Strong, command);
        match lines.pop() {
            Some(line) if line.width() + 3 + piece.width() <= columns => {
                lines.push(line.add(Tone::Plain, "   ").join(piece));
            }
            before => lines.extend(before.into_iter().chain([piece])),
        }
    }
    lines
}

/// The newest `most` lines of the story, newest last. That a notice has arrived is seen at the agent itself.
pub(super) fn timeline(rows: &[TimelineRow], most: usize) -> Vec<StyledLine> {
    let told = |row: &TimelineRow| {
        StyledLine::of(Tone::Faint, format!("{} r{:<2} ", row.at.hms(), row.round))
            .join(StyledLine::of(Tone::Strong, &row.who).pad(9))
            .add(row.tone, &row.what)
    };
    let shown: Vec<_> = rows.iter().rev().filter(|row| row.kind != Some(MessageKind::Delivery)).take(most).collect();
    shown.into_iter().rev().map(told).collect()
}

/// How many columns a role takes.
const ROLE: usize = 11;

/// Returns a line for each agent.
pub(super) fn agents(input: &PaneInput<'_>) -> PaneSection {
    let state = input.state;
    let mut names: Vec<&AgentId> = Vec::new();
    for agent in state.rules.agents.all() {
        if !names.contains(&agent) {
            names.push(agent);
        }
    }
    let columns = names.iter().map(|name| width(name.as_str())).max().unwrap_or(0);
    let lines = names.iter().flat_map(|agent| [Some(line(input, agent, columns)), held(input, agent)]).flatten();
    let lines: Vec<_> = lines.collect();
    PaneSection::new(3, lines.len(), labelled("Agents", lines))
}

fn line(input: &PaneInput<'_>, agent: &AgentId, columns: usize) -> StyledLine {
    let state = input.state;
    let turn = state.phase.turn().filter(|turn| turn.agent == *agent && matches!(state.phase, Phase::Running(_)));
    let name = if turn.is_some() { Tone::Strong } else { Tone::Plain };
    let line = StyledLine::of(name, agent.as_str()).pad(columns + 2);
    let line = line.join(StyledLine::of(Tone::Plain, role(state, agent)).pad(ROLE + 2));
    let seat = input.seats.and_then(|seats| seats.iter().find(|seat| seat.agent == *agent));
    let status = match seat {
        Some(seat) => status(seat, input),
        None if state.rules.driver == DriverKind::Tmux => StyledLine::of(Tone::Faint, SeatStatus::Unknown.name()),
        None if turn.is_some() => StyledLine::of(Tone::Plain, "has the turn"),
        None => StyledLine::of(Tone::Faint, "waits for its turn"),
    };
    match state.notice_for(agent) {
        Some(notice) => {
            let sent = if notice.attempts == 0 { "not sent yet" } else { "not acknowledged yet" };
            line.join(status).add(Tone::Warn, format!(", notice {} {sent}", notice.number))
        }
        None => line.join(status),
    }
}

/// Says that a notice is kept back because a person has typed something where it belongs.
fn held(input: &PaneInput<'_>, agent: &AgentId) -> Option<StyledLine> {
    let notice = input.state.notice_for(agent)?.number;
    let seat = input.seats?.iter().find(|seat| seat.agent == *agent && seat.held_back)?;
    let held = HeldNotice { agent: seat.agent.clone(), notice };
    Some(StyledLine::of(Tone::Warn, held.to_string()))
}

fn role(state: &BubbleState, agent: &AgentId) -> &'static str {
    match agent {
        _ if state.phase.turn().is_some_and(|turn| turn.seat == Seat::Judge && turn.agent == *agent) => "judge",
        _ if *agent == state.rounds.seats.implementer => "implementer",
        _ if *agent == state.rounds.seats.reviewer => "reviewer",
        _ => "stand-by",
    }
}

fn status(seat: &SeatNow, input: &PaneInput<'_>) -> StyledLine {
    let tone = match seat.status {
        SeatStatus::Ready | SeatStatus::Stopped => Tone::Plain,
        SeatStatus::Busy => Tone::Good,
        SeatStatus::Permission | SeatStatus::Dialog => Tone::Warn,
        SeatStatus::Gone => Tone::Bad,
        SeatStatus::Starting | SeatStatus::Unknown => Tone::Faint,
    };
    let line = StyledLine::of(tone, seat.status.name());
    let line = match seat.since {
        Some(since) if seat.status != SeatStatus::Unknown => {
            line.add(Tone::Faint, format!(" {}", age(since, input.now.ts)))
        }
        _ => line,
    };
    match seat.status.wants_person() {
        false => line,
        // The command that answers it is shown beside the question.
        true if is_asked(input.state, &seat.agent) => line.add(Tone::Warn, ", see Inbox"),
        true => line.add(Tone::Warn, format!(", see pairflow attach {}", input.state.id)),
    }
}

/// Whether the person is asked for something that this agent shows in its pane.
fn is_asked(state: &BubbleState, agent: &AgentId) -> bool {
    let shown = |kind| matches!(kind, QuestionKind::Permission | QuestionKind::Permit | QuestionKind::Dialog);
    open_questions(state).iter().any(|open| shown(open.kind) && open.about.as_ref() == Some(agent))
}

/// How many lines the reason takes at most.
const REASON_LINES: usize = 4;

/// The first lines: that the bubble is foreign, and why.
pub(super) fn foreign_head(input: &PaneInput<'_>, notice: &ForeignNotice, columns: usize) -> Vec<StyledLine> {
    let text = format!("{} is foreign: {}.", input.state.id, notice.why);
    let mut lines: Vec<_> =
        wrapped(&text, columns, REASON_LINES).iter().map(|text| StyledLine::of(Tone::Bad, text)).collect();
    let unproven = "pairflow does nothing for it. The log below was not checked here.";
    lines.extend(wrapped(unproven, columns, 2).iter().map(|text| StyledLine::of(Tone::Warn, text)));
    lines
}

/// What the log of a foreign bubble says, and apart from it, because they come last, the commands that adopt or remove it.
pub(super) fn foreign_record(
    input: &PaneInput<'_>,
    notice: &ForeignNotice,
    columns: usize,
) -> (Vec<PaneSection>, PaneSection) {
    let status = Status::of(input.state, input.now);
    let room = columns.saturating_sub(LABEL);
    let last = wrapped(&last_recorded(&status.fields), room, 3);
    let last: Vec<_> = last.iter().map(|text| StyledLine::of(Tone::Plain, text)).collect();
    let sections = vec![
        PaneSection::new(1, last.len(), labelled("Log", last)),
        findings(input.state, columns),
        checks(&status),
        work(&status),
    ];
    let command = |line: &String| StyledLine::of(Tone::Strong, line);
    let mut steps = labelled("Next", vec![command(&notice.next)]);
    steps.extend(labelled("Remove", notice.remove.iter().map(command).collect()));
    if !input.pane {
        steps.push(StyledLine::of(Tone::Faint, "q quits"));
    }
    (sections, PaneSection::new(0, steps.len(), steps))
}

/// Lines that belong together.
#[derive(Debug, Clone, Default)]
pub(super) struct PaneSection {
    /// How soon it gets rows: 0 is first.
    pub(super) rank: u8,
    /// How many rows it gets before any section gets more.
    pub(super) least: usize,
    /// The heading. A section with a heading shows its last lines rather than its first.
    pub(super) heading: Option<StyledLine>,
    /// All that it has to say.
    pub(super) lines: Vec<StyledLine>,
}

impl PaneSection {
    /// Makes a section of which `least` lines come before the rest of all others.
    pub(super) fn new(rank: u8, least: usize, lines: Vec<StyledLine>) -> Self {
        Self { rank, least, heading: None, lines }
    }

    /// Gives it a heading; its newest lines are at its end.
    pub(super) fn newest_last(self, heading: StyledLine) -> Self {
        Self { heading: Some(heading), ..self }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len() + usize::from(self.heading.is_some())
    }

    /// Returns `count` lines of it. A heading alone says nothing, so a single line is the newest one.
    pub(super) fn shown(mut self, count: usize) -> Vec<StyledLine> {
        let Some(heading) = self.heading.filter(|_| count > 0) else {
            self.lines.truncate(count);
            return self.lines;
        };
        let own = if count > 1 { count - 1 } else { 1 };
        let newest = self.lines.split_off(self.lines.len().saturating_sub(own));
        (count > 1).then_some(heading).into_iter().chain(newest).collect()
    }
}

/// How many columns labels take, the gap included.
pub(super) const LABEL: usize = 10;

/// Puts a label before the first of some lines, and as much room before the others.
pub(super) fn labelled(label: &str, lines: Vec<StyledLine>) -> Vec<StyledLine> {
    let mut label = label;
    let with = |line: StyledLine| {
        let own = std::mem::take(&mut label);
        StyledLine::of(Tone::Faint, own).pad(LABEL).join(line)
    };
    lines.into_iter().map(with).collect()
}
