//! The lines of `status` for a person: labels, values that fit beside them in 80 columns, and how they are meant.

use crate::bubble::StateName;
use crate::facts::{CheckPlace, RowState, Seat};
use crate::ids::Party;
use crate::rules::Prd;
use crate::safe::{safe_line, width};
use crate::view::Tone;
use crate::view::inbox::ItemKind;
use crate::view::status::last_recorded;
use crate::view::status::{CheckOutcome, CheckShown, FindingShown, ParkedShown, QuestionShown, Status, state_tone};
use crate::view::words::{UNCOUNTED, called, count, criterion, span, spent, up_to_cut, wrapped};

/// How many columns labels take, the gap included.
pub const LABEL_COLUMNS: usize = 13;
/// How many columns values take, unless they are there to be copied.
const VALUE_COLUMNS: usize = 80 - LABEL_COLUMNS;
/// How many entries of one list are shown.
const SHOWN: usize = 8;
/// How many sentences of one list are shown.
const SENTENCES: usize = 16;
/// How many lines one sentence takes at most.
const WRAPPED: usize = 8;
/// How many columns something that is there to be copied takes at most; longer than any path.
const COPIED: usize = 8192;

/// One line. It is safe to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusLine {
    /// The label; empty if the line continues the one before.
    pub label: &'static str,
    /// What is said of it.
    pub value: String,
    /// How it is meant.
    pub tone: Tone,
}

/// Returns the lines of a status, the most important first.
pub fn render(status: &Status) -> Vec<StatusLine> {
    let mut page = StatusPage(Vec::new());
    if let Some(why) = &status.foreign {
        foreign(&mut page, status, why);
        return page.0;
    }
    let interrupted = status.fields.paused || status.parked.is_some();
    page.one("State", &state(status), state_tone(status.fields.state, interrupted));
    page.one("Task", &status.task_title, Tone::Plain);
    page.sentences("Document", &documents(status));
    page.list("Criteria", criteria(status));
    turn(&mut page, status);
    let asked = page.0.len();
    page.sentences("Now", &waiting(status));
    let asked = page.0[asked..].iter().map(|line| line.value.as_str()).collect::<Vec<_>>().join(" ");
    page.sentences("Parked", &parked(status));
    let held = status.held_notice.iter().map(|held| (held.to_string(), Tone::Warn));
    page.sentences("Notice", &held.collect::<Vec<_>>());
    page.sentences("Waiting for", &missing(status));
    page.list("Checks", checks(status));
    outputs(&mut page, status);
    page.list("Findings", status.open_findings.iter().map(finding).collect());
    files(&mut page, status);
    let failure: Vec<_> = status.failure.iter().map(|why| (why.clone(), Tone::Bad)).collect();
    page.sentences("Failure", &failure);
    outcome(&mut page, status);
    for (at, command) in next(status, &asked).iter().enumerate() {
        page.whole(if at == 0 { "Next" } else { "" }, command);
    }
    page.0
}

/// A foreign bubble: why it is foreign, what its log says, and the only steps that there are.
fn foreign(page: &mut StatusPage, status: &Status, why: &str) {
    page.sentences("Foreign", &[(format!("{why}."), Tone::Bad)]);
    let unproven = "pairflow does nothing for it. The log below was not checked here.";
    page.sentences("", &[(unproven.to_owned(), Tone::Warn)]);
    page.sentences("Log", &[(last_recorded(&status.fields), Tone::Plain)]);
    page.one("Task", &status.task_title, Tone::Plain);
    let asked = |open: &QuestionShown| (format!("{} asked: {}", called(&open.by), open.question), Tone::Plain);
    page.sentences("Questions", &status.questions.iter().map(asked).collect::<Vec<_>>());
    page.list("Checks", checks(status));
    page.list("Findings", status.open_findings.iter().map(finding).collect());
    files(page, status);
    let failure: Vec<_> = status.failure.iter().map(|why| (why.clone(), Tone::Plain)).collect();
    page.sentences("Failure", &failure);
    status.next.iter().for_each(|command| page.whole("Next", command));
    for (at, command) in status.removing.iter().enumerate() {
        page.whole(if at == 0 { "Remove" } else { "" }, command);
    }
}

/// Returns the next steps for a question of which `asked` is shown.
fn next(status: &Status, asked: &str) -> Vec<String> {
    let mut lines = status.next.clone();
    let answers = lines.split_off(usize::from(status.restoring().is_some()).min(lines.len()));
    lines.extend(match &status.waits {
        Some(item) => item.offered(answers, asked),
        None => answers,
    });
    lines
}

struct StatusPage(Vec<StatusLine>);

impl StatusPage {
    fn one(&mut self, label: &'static str, value: &str, tone: Tone) {
        self.0.push(StatusLine { label, value: safe_line(value, VALUE_COLUMNS), tone });
    }

    /// Adds something that is there to be copied, so it is not cut.
    fn whole(&mut self, label: &'static str, value: &str) {
        self.0.push(StatusLine { label, value: safe_line(value, COPIED), tone: Tone::Plain });
    }

    /// Adds sentences that have to be read to their end, so they are wrapped and not cut.
    fn sentences(&mut self, label: &'static str, sentences: &[(String, Tone)]) {
        let mut label = label;
        for (sentence, tone) in sentences.iter().take(SENTENCES) {
            for line in wrapped(&safe_line(sentence, VALUE_COLUMNS * WRAPPED), VALUE_COLUMNS) {
                self.one(std::mem::take(&mut label), &line, *tone);
            }
        }
    }

    fn list(&mut self, label: &'static str, values: Vec<(String, Tone)>) {
        for (at, (value, tone)) in values.iter().take(SHOWN).enumerate() {
            self.one(if at == 0 { label } else { "" }, value, *tone);
        }
        if let Some(more) = values.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            self.one("", &format!("and {more} more"), Tone::Plain);
        }
    }
}

fn state(status: &Status) -> String {
    let paused = if status.fields.paused { ", paused" } else { "" };
    let parked = if status.parked.is_some() { ", parked" } else { "" };
    format!("{}{paused}{parked}", status.fields.state)
}

/// The approved documents that the work follows, and how they were approved.
fn documents(status: &Status) -> Vec<(String, Tone)> {
    let told = |prd: &Prd| {
        let paths = prd.documents.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>().join(", ");
        (format!("{paths}, {}", prd.approval()), Tone::Plain)
    };
    status.prd.iter().map(told).collect()
}

fn criteria(status: &Status) -> Vec<(String, Tone)> {
    if status.acceptance_criteria.is_empty() {
        return vec![("none in the task".to_owned(), Tone::Plain)];
    }
    status.acceptance_criteria.iter().map(|criterion| (criterion.clone(), Tone::Plain)).collect()
}

fn turn(page: &mut StatusPage, status: &Status) {
    let fields = &status.fields;
    if let (Some(agent), Some(role), Some(since)) = (&fields.active_agent, fields.active_role, fields.active_since) {
        let opening = if status.opening() { ", opening" } else { "" };
        let doing = if status.acceptance_turn { " (acceptance tests)" } else { "" };
        page.one("Turn", &format!("{agent} as {role}{doing}{opening}, since {} UTC", since.hms()), Tone::Plain);
    }
    if fields.round > 0 {
        let looks = (status.looks, status.looks_needed);
        page.one("Round", &spent(fields.round, status.rounds_used, status.max_rounds, looks), Tone::Plain);
    }
}

fn waiting(status: &Status) -> Vec<(String, Tone)> {
    let fields = &status.fields;
    let own = |what: &str| vec![(format!("pairflow: {what}"), Tone::Plain)];
    let you = |what: &str| vec![(format!("you: {what}"), Tone::Warn)];
    match fields.state {
        StateName::Created => you("start it"),
        StateName::PreparingWorkspace => own("prepare the workspace"),
        StateName::WaitingHuman => status.questions.iter().map(|open| (asked(open), Tone::Warn)).collect(),
        StateName::Running if fields.paused => you("resume it"),
        // What it waits for has a line of its own.
        StateName::Running if status.parked.is_some() => Vec::new(),
        StateName::Running if status.opening() => own("record the tree, run the checks, open the turn"),
        StateName::Running => {
            let left = status.watchdog_left_secs.map(|secs| match status.uncounted {
                true => format!(" ({UNCOUNTED})"),
                false => format!(" (you are asked in {})", span(secs)),
            });
            let agent = fields.active_agent.as_ref().map_or("an agent", |agent| agent.as_str());
            vec![(format!("{agent}: {}{}", expected(status), left.unwrap_or_default()), Tone::Plain)]
        }
        StateName::ReadyForApproval => you("approve the package, or send it back"),
        StateName::ApprovedForCommit if status.next.iter().any(|line| line.starts_with("pairflow commit")) => {
            you("commit")
        }
        StateName::ApprovedForCommit => own("make the commit"),
        StateName::Committed => own("record the done package"),
        StateName::Done if status.merged.is_none() => you("merge, when you like"),
        StateName::Done | StateName::Failed | StateName::Cancelled => Vec::new(),
    }
}

/// What the holder of the turn does next.
fn expected(status: &Status) -> String {
    let contested = status.contested.iter().map(ToString::to_string).collect::<Vec<_>>();
    match status.fields.active_role {
        Some(Seat::Judge) => format!("decide {}", contested.join(", ")),
        _ if status.acceptance_turn => "write acceptance tests".to_owned(),
        _ => "hand over".to_owned(),
    }
}

/// Renders a question; a permission request is cut after the first word that is too long to be shown.
fn asked(open: &QuestionShown) -> String {
    let sentence = format!("you: {} asks: {}", called(&open.by), open.question);
    if open.kind != ItemKind::Permission {
        return sentence;
    }
    let lines = wrapped(&safe_line(&sentence, usize::MAX), VALUE_COLUMNS);
    up_to_cut(lines.iter().map(|line| safe_line(line, VALUE_COLUMNS)).collect()).join(" ")
}

/// For whom the bubble waits, and until when.
fn parked(status: &Status) -> Vec<(String, Tone)> {
    let told = |parked: &ParkedShown| {
        let (agent, until, id) = (&parked.agent, parked.until.date_hms(), &status.fields.bubble_id);
        let text = format!(
            "{agent} has reached its usage limit until {until} UTC; it continues then, or now with 'pairflow resume {id}'"
        );
        (text, Tone::Warn)
    };
    status.parked.iter().map(told).collect()
}

/// What convergence needs; said only while the loop runs.
fn missing(status: &Status) -> Vec<(String, Tone)> {
    let looping = matches!(status.fields.state, StateName::Running | StateName::WaitingHuman);
    let shown = status.missing_for_convergence.iter().filter(|_| looping);
    shown.map(|unmet| (criterion(unmet), Tone::Plain)).collect()
}

fn checks(status: &Status) -> Vec<(String, Tone)> {
    let shown = |check: &CheckShown| {
        let (stand, tone) = check.stand.described();
        let place = if check.place == Some(CheckPlace::Worktree) { ", in the agents' worktree" } else { "" };
        (format!("{}: {stand}{place} ({})", check.check, check.command), tone)
    };
    let by_hand = status.manual_checks.iter().map(|what| (format!("by hand: {what}"), Tone::Warn));
    status.checks.iter().map(shown).chain(by_hand).collect()
}

/// What the checks that failed said last, and where all of it is.
fn outputs(page: &mut StatusPage, status: &Status) {
    for check in status.checks.iter().filter(|check| check.stand == CheckOutcome::Failed) {
        let mut label = "Output";
        for line in &check.tail {
            page.one(std::mem::take(&mut label), line, Tone::Plain);
        }
        if let Some(path) = &check.output {
            page.whole(label, &format!("full output of {}: {path}", check.check));
        }
    }
}

/// How the base branch has moved, as a sentence.
fn moved(status: &Status) -> Option<(String, Tone)> {
    let (moved, base, id) = (status.base_moved.as_ref()?, &status.base_branch, &status.fields.bubble_id);
    let by = moved.commits.map_or_else(String::new, |n| format!(" by {}", count(n, "commit")));
    let (merging, tone) = match &moved.conflicts {
        None => (String::new(), Tone::Plain),
        Some(files) if files.is_empty() => ("; it merges without conflicts".to_owned(), Tone::Plain),
        Some(files) => {
            let named = files.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
            let more = files.len().checked_sub(SHOWN).filter(|more| *more > 0);
            let more = more.map_or_else(String::new, |more| format!(" and {more} more"));
            (
                format!("; merging it conflicts in {named}{more}; 'pairflow update {id}' shows how to resolve it"),
                Tone::Warn,
            )
        }
    };
    Some((format!("{base} has moved{by}{merging}"), tone))
}

fn finding(row: &FindingShown) -> (String, Tone) {
    let tone = if row.blocks { Tone::Bad } else { Tone::Warn };
    let state = if row.state == RowState::Open { String::new() } else { format!("{}, ", row.state.told(false)) };
    let asides: String = row.asides.iter().map(|aside| format!("{aside}, ")).collect();
    let by = format!(" ({state}{asides}{}, round {})", row.by, row.round);
    let title = safe_line(&row.title, VALUE_COLUMNS.saturating_sub(width(&by) + 12));
    (format!("{} {} {title}{by}", row.id, row.severity), tone)
}

fn files(page: &mut StatusPage, status: &Status) {
    let Some(snapshot) = &status.snapshot else { return };
    let changed = count(snapshot.files, "file");
    let by = match snapshot.author {
        Some(Party::Human) => ", last changed by a person",
        None => ", last changed by an unknown party",
        Some(Party::Agent(_) | Party::Orchestrator) => "",
    };
    let lines = format!("{changed} +{} -{}, tree {}{by}", snapshot.added, snapshot.removed, snapshot.tree.short());
    page.one("Files", &lines, Tone::Plain);
    let outside = snapshot.out_of_scope.iter().map(|path| (format!("out of scope: {path}"), Tone::Bad));
    page.list("", outside.collect());
}

fn outcome(page: &mut StatusPage, status: &Status) {
    if let Some(worktree) = &status.worktree {
        page.whole("Worktree", worktree);
    }
    if status.worktree_gone {
        let again = status.restoring().map_or_else(String::new, |line| format!("; '{line}' restores it"));
        page.sentences("", &[(format!("It is gone{again}"), Tone::Bad)]);
    }
    if let Some(problem) = &status.worktree_problem {
        page.sentences("", &[(problem.clone(), Tone::Bad)]);
    }
    for path in &status.damaged_logs {
        page.sentences(
            "Repaired",
            &[("The log was damaged, and the repair lost lines. The damaged log:".to_owned(), Tone::Warn)],
        );
        page.whole("", path);
    }
    page.one("Branch", &format!("{} from {}", status.branch, status.base_branch), Tone::Plain);
    page.sentences("", &moved(status).into_iter().collect::<Vec<_>>());
    if !status.identity_changes.is_empty() {
        page.sentences("Identity", &[("Changed since the bubble was created:".to_owned(), Tone::Warn)]);
        let changes: Vec<_> = status.identity_changes.iter().map(|change| (change.clone(), Tone::Warn)).collect();
        page.sentences("", &changes);
        let switch = if status.identity_next.is_some() { " To use the new one:" } else { "" };
        page.sentences("", &[(format!("The recorded identity is used.{switch}"), Tone::Warn)]);
        status.identity_next.iter().for_each(|command| page.whole("", command));
    }
    if let Some(commit) = &status.commit {
        page.one("Commit", commit.short(), Tone::Good);
    }
    if let Some(merged) = &status.merged {
        page.one("Merged", &format!("{} is at {}", status.base_branch, merged.short()), Tone::Good);
    }
    let escaped = status.escaped.iter().map(|one| (format!("{} {}", one.severity, one.text), Tone::Bad));
    page.list("Escaped", escaped.collect());
}
