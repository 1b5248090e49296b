//! What the templates of briefs can print: read off a bubble's state, and gathered from the repository by the engine.

use serde::Serialize;

use crate::bubble::{BubbleState, Stage, Turn, hidden_from};
use crate::facts::{RowState, Seat, Severity, Snapshot};
use crate::findings::{ReproducerState, Row, feedback};
use crate::ids::{AgentId, BubbleId, FindingId, Party};
use crate::log::Reason;
use crate::policy::{self, Facts};
use crate::progress::{CheckState, HandoverSummary};
use crate::rules::{BubbleKind, Check, DriverKind, Prd, ReviewDepth};
use crate::time::Moment;
use crate::view::words::{change, changes, ended, rest, title, weakened};

/// How many findings a command line names.
const NAMED: usize = 20;
/// How many lines of a failed check's output are shown, and how many characters of each.
const TAIL: (usize, usize) = (40, 400);
/// In how many turns that fix findings the implementer is shown minor ones. Every change can break something.
const MINOR_FIX_TURNS: u32 = 2;

/// What the engine gathered for the brief of one turn. Nothing in it is needed for an implementer's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BriefMaterial {
    /// What the project expects of every change, as the base has it.
    pub standards: Vec<Standard>,
    /// What changed since this agent's last review; nothing if it has not reviewed yet, or that could not be read.
    pub since_last: Option<ReviewDiff>,
    /// What changed against the base; nothing if that could not be read.
    pub whole: Option<ReviewDiff>,
    /// The directory in which acceptance tests are written, in the turn in which they are.
    pub scratch: Option<String>,
}

/// A file that says how work in this project is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Standard {
    /// Its path in the repository.
    pub path: String,
    /// Its text as the base has it, or the beginning of it.
    pub text: String,
    /// Whether there is more of it.
    pub cut: bool,
    /// Whether the work changes this file.
    pub changed: bool,
}

/// A difference, as a reviewer gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "content", rename_all = "snake_case")]
pub enum ReviewDiff {
    /// Short enough for the brief itself.
    Inline(String),
    /// In files of its own, each short enough to be read with care.
    Slices(Vec<Slice>),
}

/// A part of a difference that is too long to be read at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Slice {
    /// The path of its file.
    pub path: String,
    /// The files that it changes.
    pub files: Vec<String>,
    /// How many lines it adds and removes.
    pub changed: usize,
}

impl BriefMaterial {
    /// Returns how many slices a reviewer has to confirm; none if the brief holds the whole change.
    pub fn slices(&self) -> u32 {
        match &self.whole {
            Some(ReviewDiff::Slices(slices)) => u32::try_from(slices.len()).unwrap_or(u32::MAX),
            _ => 0,
        }
    }
}

/// What every agent of a bubble is told.
#[derive(Serialize)]
pub(super) struct StandbyContext<'a> {
    id: &'a BubbleId,
    agent: &'a AgentId,
    implementer: &'a AgentId,
    reviewer: &'a AgentId,
    /// Whether part of the work changed in a turn of this agent.
    own_work: bool,
    title: &'a str,
    /// Where the agent's brief will be.
    brief: String,
    worktree: Option<&'a str>,
    branch: &'a str,
    base: &'a str,
}

/// What the holder of a turn is told.
#[derive(Serialize)]
pub(super) struct BriefContext<'a> {
    #[serde(flatten)]
    shared: StandbyContext<'a>,
    seat: Seat,
    round: u32,
    task: &'a str,
    criteria: &'a [String],
    notes: &'a [String],
    earlier_notes: &'a [String],
    /// Whether the bubble makes a document.
    document: bool,
    /// Whether the agent has to ask for its next turn itself.
    external: bool,
    base_commit: Option<&'a str>,
    continues: bool,
    conflicts: &'a [String],
    may_change: &'a [String],
    must_not_change: &'a [String],
    documents: Vec<ApprovedDocument<'a>>,
    /// Why the last hand-over came back without a review.
    failing: Vec<String>,
    /// Whether it came back because the base was merged.
    merged: bool,
    handed_over: Option<&'a HandoverSummary>,
    outline: &'a str,
    /// The open findings that this agent is shown.
    open: Vec<FindingContext<'a>>,
    settled: Vec<FindingContext<'a>>,
    /// The disputed findings that a judge decides.
    contested: Vec<FindingContext<'a>>,
    to_fix: Vec<FindingId>,
    /// Those of `to_fix` whose fix a test has to show.
    to_test: Vec<FindingId>,
    to_confirm: Vec<FindingId>,
    retractable: Vec<FindingId>,
    checks: Vec<CheckContext<'a>>,
    manual_checks: &'a [String],
    /// Whether the agent can run the checks itself.
    run_checks: bool,
    /// The command that runs the project's tests.
    test_command: Option<&'a str>,
    /// Where acceptance tests are written.
    scratch: Option<&'a str>,
    /// Why acceptance tests came back to the agent that wrote them.
    tests_returned: Option<&'a str>,
    /// Whether other agents review the same tree without knowing what this one finds.
    blind: bool,
    changed: Option<ChangeContext<'a>>,
    standards: &'a [Standard],
    since_last: Option<&'a ReviewDiff>,
    /// The round of this agent's last review.
    reviewed_round: Option<u32>,
    whole: Option<&'a ReviewDiff>,
    slices: u32,
    /// Whether a clean review would be the last one needed.
    last: bool,
    /// Whether a clean review has to explain the `missing` parts.
    explain: bool,
    missing: Vec<&'static str>,
    /// A findings file as an example.
    example: &'static str,
}

#[derive(Serialize)]
struct ApprovedDocument<'a> {
    path: &'a str,
    /// Where the approved version lies: the worktree may have another one, or none.
    copy: String,
}

/// One row of the ledger. Who filed it is left out.
#[derive(Serialize)]
struct FindingContext<'a> {
    id: FindingId,
    severity: Severity,
    title: &'a str,
    place: Option<String>,
    state: &'static str,
    note: &'a str,
    must_answer: bool,
    blocks_work: bool,
    /// The command that fails until it is fixed.
    reproducer: Option<&'a str>,
    /// The acceptance tests stand behind it.
    acceptance: bool,
    /// A command that was offered and shows nothing.
    tried: Option<&'a str>,
    detail: String,
    suggestion: &'a str,
    /// What shows its fix, or why nothing does; for a fix that is claimed.
    fix: Option<FixContext>,
    /// What the implementer last said against it.
    against: &'a str,
    /// Who decided a dispute about it: a judge or a person.
    ruling: Option<String>,
}

/// How a fix is shown.
#[derive(Serialize)]
struct FixContext {
    shown: bool,
    why: String,
}

#[derive(Serialize)]
struct CheckContext<'a> {
    name: &'a str,
    command: &'a str,
    result: String,
    /// The end of the output of a check that failed.
    output: Option<String>,
}

/// The newest snapshot.
#[derive(Serialize)]
struct ChangeContext<'a> {
    total: String,
    tree: &'a str,
    commit: &'a str,
    files: Vec<String>,
    /// Where the rest of the files is listed.
    rest: Option<String>,
    /// How many files changed since the snapshot before, which they are, and who changed them.
    count: u64,
    since: Vec<String>,
    author: Option<&'a Party>,
    out_of_scope: &'a [String],
    weakened: Vec<String>,
    ignore_rules: &'a [String],
}

impl<'a> StandbyContext<'a> {
    pub(super) fn of(state: &'a BubbleState, agent: &'a AgentId) -> Self {
        Self {
            id: &state.id,
            agent,
            implementer: &state.rounds.seats.implementer,
            reviewer: &state.rounds.seats.reviewer,
            own_work: state.rounds.authors.contains(&Party::Agent(agent.clone())),
            title: title(&state.about.task),
            brief: artifact(state, &format!("brief-{agent}.md")),
            worktree: state.evidence.workspace.as_ref().map(|workspace| workspace.path.as_str()),
            branch: &state.rules.bubble_branch,
            base: &state.rules.base_branch,
        }
    }
}

impl<'a> BriefContext<'a> {
    pub(super) fn of(state: &'a BubbleState, turn: &'a Turn, material: &'a BriefMaterial) -> Self {
        let (agent, seat) = (&turn.agent, turn.seat);
        let (rules, evidence) = (&state.rules, &state.evidence);
        let workspace = evidence.workspace.as_ref();
        let gathered = material.slices();
        let rows = ShownRows::of(state, agent, seat);
        let ids = |wanted: fn(&Row) -> bool| rows.open.iter().filter(move |row| wanted(row)).map(|row| row.id);
        let mine = |row: &&&Row| row.proven() && row.reproducer_by() == Some(agent);
        let row = |row: &'a Row| finding(state, row);
        let to_test = |row: &Row| row.severity.blocks() && row.reproducer_by().is_none();
        let tested = rules.kind != BubbleKind::Document && state.policy().tests_fixes();
        let last = would_be_last(state, agent);
        let missing = state.gate.explanation.missing();
        Self {
            shared: StandbyContext::of(state, agent),
            seat,
            round: state.rounds.round,
            task: &state.about.task,
            criteria: &state.about.acceptance_criteria,
            notes: &state.gate.notes,
            earlier_notes: &state.gate.said_before,
            document: rules.kind == BubbleKind::Document,
            external: rules.driver == DriverKind::External,
            base_commit: workspace.map(|workspace| workspace.base.short()),
            continues: rules.continues.is_some(),
            conflicts: workspace.map_or(&[], |workspace| &workspace.ground.conflicts),
            may_change: &rules.scope.allow,
            must_not_change: &rules.scope.deny,
            documents: rules
                .prd
                .iter()
                .flat_map(|prd| &prd.documents)
                .map(|(path, sha256)| approved(state, path, sha256))
                .collect(),
            failing: failing(state),
            merged: evidence.snapshot.as_ref().is_some_and(|snapshot| snapshot.author == Some(Party::Human)),
            handed_over: handed_over(state, agent, seat),
            outline: &state.gate.outline,
            to_fix: ids(|row| !row.answered || row.blocks()).take(NAMED).collect(),
            to_test: ids(to_test).filter(|_| tested).collect(),
            to_confirm: ids(|row| row.answered && !row.proven() && !row.unresolved()).take(NAMED).collect(),
            retractable: rows.open.iter().filter(mine).map(|row| row.id).collect(),
            open: rows.open.iter().copied().map(row).collect(),
            settled: rows.settled.iter().copied().map(row).collect(),
            contested: state.rounds.contested.iter().filter_map(|id| state.ledger.get(*id)).map(row).collect(),
            checks: rules.checks.iter().map(|one| check(state, one)).collect(),
            manual_checks: &rules.manual_checks,
            run_checks: rules.checks.iter().any(|check| !check.is_own()),
            test_command: rules.checks.iter().find(|check| check.name == "test").map(|check| check.command.as_str()),
            scratch: material.scratch.as_deref(),
            tests_returned: tests_returned(state, turn),
            blind: rows.blind,
            changed: evidence.snapshot.as_ref().map(changed),
            standards: &material.standards,
            since_last: material.since_last.as_ref(),
            reviewed_round: state.rounds.reviewed_by.get(agent).map(|reviewed| reviewed.round),
            whole: material.whole.as_ref(),
            // The number in the log counts where nothing could be gathered.
            slices: if gathered > 0 { gathered } else { turn.slices },
            last,
            explain: last && !missing.is_empty(),
            missing,
            example: feedback::EXAMPLE.trim_end(),
        }
    }
}

fn artifact(state: &BubbleState, name: &str) -> String {
    format!("{}/.pairflow/bubbles/{}/artifacts/{name}", state.about.repo, state.id)
}

fn approved<'a>(state: &BubbleState, path: &'a str, sha256: &str) -> ApprovedDocument<'a> {
    ApprovedDocument { path, copy: artifact(state, &Prd::artifact(sha256)) }
}

/// What the other seat said last. A reviewer is not told what another reviewer thinks of the same tree.
fn handed_over<'a>(state: &'a BubbleState, agent: &AgentId, seat: Seat) -> Option<&'a HandoverSummary> {
    let other = state.gate.summaries.iter().rev().find(|said| said.seat != seat);
    other.filter(|said| said.agent != *agent || state.rules.agents.same_model())
}

/// The rows that the holder of a turn is shown.
struct ShownRows<'a> {
    open: Vec<&'a Row>,
    settled: Vec<&'a Row>,
    /// Whether what other agents found in this tree is left out.
    blind: bool,
}

impl<'a> ShownRows<'a> {
    fn of(state: &'a BubbleState, agent: &AgentId, seat: Seat) -> Self {
        let (hidden, blind) = (hidden_from(state, agent).findings, is_blind(state));
        let minor_too = state.rounds.round <= 1 + MINOR_FIX_TURNS;
        let shown = |row: &&Row| match seat {
            Seat::Implementer => !row.is_open() || row.blocks() || (minor_too && row.severity == Severity::P2),
            Seat::Reviewer | Seat::Judge => !hidden.contains(&row.id),
        };
        let (open, settled) = state.ledger.rows.iter().filter(shown).partition(|row| row.is_open());
        Self { open, settled, blind }
    }
}

/// Whether the turn is one of the first looks of a thorough review, which each agent takes for itself.
fn is_blind(state: &BubbleState) -> bool {
    let reviews = state.phase.turn().is_some_and(|turn| turn.seat == Seat::Reviewer && !turn.acceptance);
    let (all, thorough) = (state.rules.agents.all().count(), state.rules.review_depth == ReviewDepth::Thorough);
    reviews && thorough && all > 1 && (state.rounds.looks as usize) < all
}

/// Whether acceptance tests stand behind a row, or stood.
fn is_acceptance(row: &Row) -> bool {
    row.is_acceptance() || row.has_lost_tests()
}

/// Why the last hand-over came back without a review.
fn failing(state: &BubbleState) -> Vec<String> {
    if state.rounds.sent_back == 0 {
        return Vec::new();
    }
    let of_fix = |reason: &&Reason| matches!(reason, Reason::FixFails { .. } | Reason::FixNotShown { .. });
    let went_back = state.rounds.went_back.as_ref().filter(|back| state.tree() == Some(&back.tree));
    let fixes = went_back.iter().flat_map(|back| &back.why).filter(of_fix).cloned();
    state.failing().into_iter().chain(policy::told(&fixes.collect::<Vec<_>>())).collect()
}

/// Why acceptance tests came back to the agent that wrote them.
fn tests_returned<'a>(state: &'a BubbleState, turn: &Turn) -> Option<&'a str> {
    let lost = state.ledger.rows.iter().rev().find(|row| row.has_lost_tests()).filter(|_| turn.acceptance)?;
    lost.history.last().map(|change| change.note.as_str())
}

fn finding<'a>(state: &BubbleState, row: &'a Row) -> FindingContext<'a> {
    let line = row.line.map(|line| format!(":{line}")).unwrap_or_default();
    let said = |to: RowState| row.history.iter().rev().find(move |change| change.to == to && !change.note.is_empty());
    let with = |stand: ReproducerState| row.reproducer.as_ref().filter(move |one| one.stand == stand);
    let fix = row.fix_evidence().filter(|_| state.rules.kind != BubbleKind::Document);
    FindingContext {
        id: row.id,
        severity: row.severity,
        title: &row.title,
        place: row.file.as_ref().map(|file| format!("{file}{line}")),
        state: if row.state == RowState::Open { "open" } else { row.stands() },
        note: said(row.state).map_or("", |change| &change.note),
        must_answer: row.wants_answer(),
        blocks_work: row.unresolved(),
        reproducer: with(ReproducerState::Fails).map(|one| one.command.as_str()),
        acceptance: is_acceptance(row),
        tried: with(ReproducerState::Dropped).map(|one| one.command.as_str()),
        detail: without_names(state, &row.detail),
        suggestion: &row.suggestion,
        fix: fix.map(|fix| FixContext { shown: fix.shown, why: fix.why }),
        against: said(RowState::Disputed).map_or("", |change| &change.note),
        ruling: row.ruling.as_ref().map(|(ruling, by)| match by {
            Party::Human => format!("{ruling} by a person"),
            _ => format!("{ruling} by a judge"),
        }),
    }
}

/// What is said of a finding, without who said which part of it.
fn without_names(state: &BubbleState, detail: &str) -> String {
    let named = |text: String, agent: &AgentId| {
        let said = format!("{agent} in round ");
        let text = text.replace(&format!("\n\n{said}"), "\n\nIn round ");
        text.strip_prefix(&said).map(|rest| format!("In round {rest}")).unwrap_or(text)
    };
    state.rules.agents.all().fold(detail.to_owned(), named)
}

fn check<'a>(state: &BubbleState, check: &'a Check) -> CheckContext<'a> {
    let (result, output) = match state.check(&check.name) {
        CheckState::Passed(receipt) => match state.evidence.flaky(&check.name) {
            Some(failed) => (format!("{}, then {} on the same tree", ended(failed), ended(receipt)), None),
            None => (ended(receipt), None),
        },
        CheckState::Failed(receipt) => (ended(receipt), Some(tail(&receipt.tail))),
        CheckState::NotAvailable => ("not available, according to a person".to_owned(), None),
        CheckState::Waived(reason) => (format!("waived by a person: {reason}"), None),
        CheckState::Missing => ("not run yet".to_owned(), None),
    };
    CheckContext { name: &check.name, command: &check.command, result, output }
}

fn changed(snapshot: &Snapshot) -> ChangeContext<'_> {
    ChangeContext {
        total: changes(snapshot.against_base()),
        tree: snapshot.tree.short(),
        commit: snapshot.commit.short(),
        files: snapshot.changed.iter().map(change).collect(),
        rest: rest(snapshot.changed.len(), snapshot.whole.as_ref().map(|whole| &whole.changed)),
        count: if snapshot.since_last.is_empty() { 0 } else { snapshot.against_last().0 },
        since: snapshot.since_last.iter().map(change).collect(),
        author: snapshot.author.as_ref(),
        out_of_scope: &snapshot.out_of_scope,
        weakened: snapshot.weakened.iter().map(weakened).collect(),
        ignore_rules: &snapshot.ignore_changes,
    }
}

/// Whether a clean review by this agent would complete what is needed.
fn would_be_last(state: &BubbleState, agent: &AgentId) -> bool {
    let facts = state.facts();
    let review = facts.review_by(agent, state.rounds.round);
    let streak: Vec<_> = facts.streak.iter().chain([&review]).cloned().collect();
    let after = Facts { streak: &streak, looks: facts.looks + 1, ..facts };
    let suffice = state.policy().reviews_suffice(after) && facts.checks_not_passed().next().is_none();
    // What a review that finds nothing leaves open.
    let left = |row: &Row| row.proven() || row.unresolved() || row.wants_answer();
    let minor = |reason: &Reason| matches!(reason, Reason::MinorOpen { .. });
    let open = state.ledger.blocking().any(left) || state.policy().objections(after, &[]).iter().any(minor);
    suffice && !open && !is_blind(state)
}

/// Returns the last lines of an output.
fn tail(text: &str) -> String {
    let (rows, columns) = TAIL;
    let lines: Vec<_> = text.trim_end().lines().map(|line| line.chars().take(columns).collect::<String>()).collect();
    lines[lines.len().saturating_sub(rows)..].join("\n")
}

/// Returns what a template is tried with: the context of a bubble that has just begun, and one in which everything exists.
pub(super) fn samples(template: &str) -> [serde_json::Value; 2] {
    let state = BubbleState::new("sample".parse().expect("the name is valid"));
    let agent = &state.rules.agents.implementer;
    let seat = match template {
        "reviewer.md.j2" | "acceptance.md.j2" => Seat::Reviewer,
        "judge.md.j2" => Seat::Judge,
        _ => Seat::Implementer,
    };
    let turn = sample_turn(agent.clone(), seat);
    let material = BriefMaterial::default();
    let json = |context: serde_json::Result<serde_json::Value>| context.expect("a context has text keys only");
    let first = match template {
        "standby.md.j2" => json(serde_json::to_value(StandbyContext::of(&state, agent))),
        _ => json(serde_json::to_value(BriefContext::of(&state, &turn, &material))),
    };
    let finding = serde_json::json!({
        "id": "F1", "severity": "P1", "title": "no rollback", "place": "src/a.rs:1", "state": "disputed", "note": "it is fine",
        "must_answer": true, "blocks_work": true, "reproducer": "./test", "acceptance": true, "tried": "./try", "detail": "why", "suggestion": "how",
        "fix": {"shown": true, "why": "./test"}, "against": "it is fine", "ruling": "upheld by a judge",
    });
    let slices = serde_json::json!({"kind": "slices", "content": [{"path": "1.diff", "files": ["a"], "changed": 1}]});
    let everything = serde_json::json!({
        "title": "a task", "worktree": "/work", "task": "a task", "criteria": ["it works"], "notes": ["yes"],
        "earlier_notes": ["no"], "base_commit": "abc", "conflicts": ["a"], "may_change": ["src/**"],
        "must_not_change": ["docs/**"], "documents": [{"path": "prd.md", "copy": "/prd.md"}], "failing": ["test fails"],
        "handed_over": {"agent": "claude", "round": 1, "seat": "reviewer", "summary": "done"}, "outline": "one table",
        "open": [finding], "settled": [finding], "contested": [finding], "to_fix": ["F1"], "to_test": ["F1"], "to_confirm": ["F1"], "retractable": ["F1"],
        "checks": [{"name": "test", "command": "./test", "result": "failed", "output": "no"}], "manual_checks": ["try it"],
        "test_command": "./test", "scratch": "/scratch", "tests_returned": "no such file",
        "changed": {
            "total": "1 file", "tree": "abc", "commit": "abc", "files": ["a"], "rest": "and more", "count": 1, "since": ["a"],
            "author": "codex", "out_of_scope": ["a"], "weakened": ["a"], "ignore_rules": ["a"],
        },
        "standards": [{"path": "AGENTS.md", "text": "rules", "cut": true, "changed": true}], "since_last": slices,
        "reviewed_round": 1, "whole": slices, "slices": 1, "missing": ["why"],
    });
    let mut full = first.clone();
    for (key, value) in full.as_object_mut().into_iter().flatten() {
        match everything.get(key) {
            Some(sample) => *value = sample.clone(),
            None if value.is_boolean() => *value = true.into(),
            None => {}
        }
    }
    [first, full]
}

fn sample_turn(agent: AgentId, seat: Seat) -> Turn {
    let at = Moment::default();
    Turn {
        number: 1,
        seat,
        agent,
        since: at,
        heard: at,
        stage: Stage::Open,
        slices: 0,
        uninterrupted: at,
        nudges: 0,
        overdue: false,
        follows_handover: false,
        others_at_work: false,
        acceptance: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::brief::{REPLACEABLE, check_templates};

    #[test]
    fn the_samples_have_everything_and_the_built_in_templates_print_all_of_it() {
        for name in REPLACEABLE {
            let [_, full] = samples(name);
            let empty = |value: &serde_json::Value| value.is_null() || value == "" || *value == serde_json::json!([]);
            let values = full.as_object().unwrap().iter();
            let missing: Vec<_> =
                values.filter(|(key, value)| empty(value) && !["branch", "base"].contains(&key.as_str())).collect();
            assert!(missing.is_empty(), "{name}: {missing:?}");
            let extended = [(name.to_owned(), format!("{{% extends \"pairflow/{name}\" %}}"))];
            assert_eq!(check_templates(&extended.into()), Ok(()));
        }
    }

    #[test]
    fn what_is_wrong_with_a_template_is_named_with_its_line() {
        let check = |name: &str, text: &str| check_templates(&[(name.to_owned(), text.to_owned())].into()).unwrap_err();
        let undefined = check("reviewer.md.j2", "ok\n{{ taks }}\n");
        assert!(undefined.starts_with("pairflow-templates/reviewer.md.j2:2: undefined value"), "{undefined}");
        assert!(undefined.contains("values that this brief has: agent, base, "), "{undefined}");
        let syntax = check("standby.md.j2", "\n\n{% if %}");
        assert!(syntax.starts_with("pairflow-templates/standby.md.j2:3: syntax error"), "{syntax}");
        assert!(
            check("judge.md.j2", "{{ open[0].nam }}").contains(":1: undefined value"),
            "in a list that is often empty"
        );
        assert!(check("package.md.j2", "x").contains("package.md.j2 replaces nothing"));
    }
}
