//! One command of each kind, made to fit a given state as well as it can.

use pairflow_core::bubble::{
    BubbleState, Command, HeadSeen, Hindrance, PassCommand, Stage, WorktreeSeen, fixes_to_test, found_author,
    missing_checks,
};
use pairflow_core::facts::Seat;
use pairflow_core::facts::{CheckPlace, Outcome, Receipt, Snapshot};
use pairflow_core::facts::{Explanation, Finding, Judgement, Ruling, Severity};
use pairflow_core::ids::{AgentId, CommitId, FindingId, Party, TreeId};
use pairflow_core::log::{CommitIdentity, Decision, Ground, Person, Waivable, WorkspaceRecord};
use pairflow_core::policy::FixToTest;
use pairflow_core::time::{Moment, Timestamp};

/// A command with a name for tables, and the moment at which it is sent.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Its name, without spaces.
    pub name: &'static str,
    /// Who sends it.
    pub from: &'static str,
    /// The command.
    pub command: Command,
    /// When.
    pub now: Moment,
}

/// Returns a sample of every command, as it would be sent to a bubble in this state.
pub fn samples(state: &BubbleState) -> Vec<Sample> {
    let named = |from: &'static str, now: Moment| {
        move |(name, command): (&'static str, Command)| Sample { name, from, command, now }
    };
    let soon = state.phase.turn().map_or_else(|| moment(0), |turn| turn.heard);
    let late = state.silence_ends(None).map_or(soon, |(heard, limit)| Moment { up: heard.up + limit, ..heard });
    let mut all: Vec<_> = of_agents(state).into_iter().map(named("agent", soon)).collect();
    all.extend(of_people(state).into_iter().map(named("human", soon)));
    all.push(Sample { name: "watchdog", from: "clock", command: Command::Tick { active: None }, now: soon });
    all.push(Sample { name: "watchdog-late", from: "clock", command: Command::Tick { active: None }, now: late });
    all.extend(of_effects(state).into_iter().map(named("supervisor", soon)));
    all
}

fn of_agents(state: &BubbleState) -> Vec<(&'static str, Command)> {
    let turn = state.phase.turn();
    let holder = turn.map_or(&state.rounds.seats.implementer, |turn| &turn.agent);
    let other = if *holder == state.rounds.seats.implementer {
        &state.rounds.seats.reviewer
    } else {
        &state.rounds.seats.implementer
    };
    let reviews = turn.is_some_and(|turn| turn.seat == Seat::Reviewer);
    let ask = |by: &AgentId| Command::AskHuman {
        by: by.clone(),
        question: "which database?".to_owned(),
        refs: Vec::new(),
        key: None,
    };
    vec![
        ("pass", pass(state, holder, reviews)),
        ("pass-out-of-turn", pass(state, other, !reviews)),
        ("ask-human", ask(holder)),
        ("ask-human-out-of-turn", ask(other)),
        ("pass-finding", found(state, holder)),
        ("converged", converged(state, holder, Some(explained()))),
        ("converged-unexplained", converged(state, holder, None)),
        ("converged-out-of-turn", converged(state, other, Some(explained()))),
        ("judge", judge(state, holder)),
        ("judge-out-of-turn", judge(state, other)),
    ]
}

/// The dispute that waits is decided; without one, the first finding.
fn judge(state: &BubbleState, by: &AgentId) -> Command {
    let finding = state.rounds.contested.first().copied().unwrap_or_else(|| first_row(state));
    let judgement = Judgement { finding, ruling: Ruling::Upheld, reason: "it holds".to_owned() };
    Command::Judge { by: by.clone(), judgement, key: None }
}

fn of_people(state: &BubbleState) -> Vec<(&'static str, Command)> {
    let reply = |decision| Command::Reply {
        message: "sqlite".to_owned(),
        question: None,
        decision,
        refs: Vec::new(),
        key: None,
    };
    let rework = |reject| Command::Rework {
        message: "again".to_owned(),
        reject,
        findings: Vec::new(),
        refs: Vec::new(),
        key: None,
    };
    let differs = WorktreeSeen { tree: TreeId("another".to_owned()), differing: vec!["src/lib.rs".to_owned()] };
    let token = Command::MintToken { agent: state.rounds.seats.implementer.clone(), token_sha256: "token".to_owned() };
    let waive = |what| Command::Waive { what, reason: "known".to_owned() };
    vec![
        ("start", Command::Start { rules: Box::new(state.rules.clone()) }),
        ("reply", reply(None)),
        ("reply-accept", reply(Some(Decision::Accept))),
        ("reply-continue", reply(Some(Decision::Continue))),
        ("reply-side-with-finding", reply(Some(Decision::SideWithFinding))),
        ("reply-side-with-implementer", reply(Some(Decision::SideWithImplementer))),
        ("approve", approve(state, seen(state))),
        ("approve-changed-worktree", approve(state, differs)),
        (
            "approve-another-package",
            Command::Approve { package_sha256: "another".to_owned(), seen: seen(state), key: None },
        ),
        ("request-rework", rework(false)),
        ("request-rework-reject", rework(true)),
        ("commit", Command::Commit { message: None, override_scope: None, hooks: false, author: None }),
        ("config-set-identity", Command::SetIdentity { identity: identity() }),
        ("update", Command::Update),
        ("update --resolved", Command::UpdateResolved),
        ("merged", Command::Merged { commit: commit() }),
        ("escaped", Command::Escaped { severity: Severity::P1, text: "tokens leak".to_owned() }),
        ("pause", Command::Pause { reason: String::new() }),
        ("resume", Command::Resume),
        ("restart", Command::Restart { reason: String::new() }),
        ("config set", configure(state)),
        ("config set open_command", open_with(state)),
        ("waive-finding", waive(Waivable::Finding(first_row(state)))),
        ("waive-check", waive(Waivable::Check("test".to_owned()))),
        (
            "waive-check --withdraw",
            Command::Withdraw { what: Waivable::Check("test".to_owned()), reason: String::new() },
        ),
        ("stop", Command::Stop { reason: String::new() }),
        ("env", token),
    ]
}

/// Another editor, which has no say in what is accepted.
fn open_with(state: &BubbleState) -> Command {
    let mut rules = state.rules.clone();
    rules.open_command.push_str(" --wait");
    Command::Configure { rules: Box::new(rules) }
}

fn identity() -> CommitIdentity {
    let person = Some(Person { name: "Ada".to_owned(), email: "ada@example.org".to_owned() });
    CommitIdentity { author: person.clone(), committer: person, ..CommitIdentity::default() }
}

/// The person corrects the command of the first check.
fn configure(state: &BubbleState) -> Command {
    let mut rules = state.rules.clone();
    if let Some(check) = rules.checks.iter_mut().find(|check| !check.is_own()) {
        check.command.push_str(" --all");
    } else {
        rules.check_timeout_secs += 1;
    }
    Command::Configure { rules: Box::new(rules) }
}

fn of_effects(state: &BubbleState) -> Vec<(&'static str, Command)> {
    let turn = state.phase.turn();
    let number = turn.map_or(1, |turn| turn.number);
    let author = match turn.map(|turn| &turn.stage) {
        Some(Stage::Closing(handover)) => handover.author(),
        _ => Some(Party::Human),
    };
    let reason = || "no space left".to_owned();
    let holder = turn.map_or(&state.rounds.seats.implementer, |turn| &turn.agent);
    let notice = state.presence.outbox.first().map_or(1, |notice| notice.number);
    let hindered = |by| Command::Hindered { agent: holder.clone(), by, what: "it says so".to_owned() };
    let merged = |same_patch| Command::UpdateMade {
        base: commit(),
        base_tree: tree(state),
        snapshots: vec![snapshot(TreeId("merged".to_owned()), Some(Party::Human))],
        same_patch,
    };
    vec![
        ("workspace-ready", Command::WorkspaceReady { workspace: workspace() }),
        ("start-failed", Command::StartFailed { reason: reason() }),
        ("snapshot-taken", Command::SnapshotTaken { snapshot: snapshot(tree(state), author) }),
        (
            "found-snapshot-taken",
            Command::SnapshotTaken { snapshot: snapshot(edited(), found_author(state, &edited())) },
        ),
        ("checked", checked(state, Outcome::Passed)),
        ("checked-failed", checked(state, Outcome::Failed { exit: Some(1), timed_out: false })),
        ("checked-could-not", checked(state, Outcome::CouldNotCheck { why: "no such program".to_owned() })),
        ("reproduced", reproduced(state, Outcome::Passed)),
        ("reproduced-failed", reproduced(state, Outcome::Failed { exit: Some(1), timed_out: false })),
        ("reproduced-could-not", reproduced(state, Outcome::CouldNotCheck { why: "no such program".to_owned() })),
        ("fix-tested", fix_tested(state, Some(Outcome::Passed))),
        ("fix-tested-failed", fix_tested(state, Some(Outcome::Failed { exit: Some(1), timed_out: false }))),
        ("fix-tested-not-red", fix_tested(state, None)),
        ("turn-ready", Command::TurnReady { turn: number, slices: 0 }),
        (
            "agent-session",
            Command::AgentSession { agent: holder.clone(), turn: number, seat: None, session: Some("s1".to_owned()) },
        ),
        ("sent", Command::Sent { notice }),
        ("acknowledged", Command::Acknowledged { agent: holder.clone(), notice }),
        ("undelivered", Command::Undelivered { notice, why: "nobody took it".to_owned() }),
        ("active", Command::Active { agent: holder.clone() }),
        ("stopped", Command::Stopped { agent: holder.clone() }),
        ("wants-permission", hindered(Hindrance::Permission)),
        ("holds-permission", hindered(Hindrance::Permit)),
        ("shows-dialog", hindered(Hindrance::Dialog)),
        ("failed", hindered(Hindrance::Failure)),
        ("limited", hindered(Hindrance::Limit { until: None })),
        (
            "agent-ended",
            Command::AgentEnded { turn: number, how: "with exit code 3".to_owned(), output: String::new() },
        ),
        ("commit-made", Command::CommitMade { commit: commit(), old_tip: None }),
        ("commit-failed", Command::CommitFailed { reason: reason() }),
        ("record-done", Command::RecordDone),
        ("update-made", merged(false)),
        ("update-made-same-patch", merged(true)),
        ("update-failed", Command::UpdateFailed { reason: reason(), conflict: None }),
        ("trouble", Command::Trouble { reason: reason() }),
        ("give-up", Command::GiveUp { reason: "the repository is gone".to_owned() }),
    ]
}

fn pass(state: &BubbleState, by: &AgentId, reviews: bool) -> Command {
    let head = HeadSeen::Branch(state.rules.bubble_branch.clone());
    let (findings, explanation) = (reviews.then(Vec::new), reviews.then(explained));
    Command::Pass(PassCommand { findings, explanation, ..PassCommand::new(by.clone(), "done", head) })
}

/// A hand-over with one blocking finding.
fn found(state: &BubbleState, by: &AgentId) -> Command {
    let findings = Some(vec![Finding::new(Severity::P1, "leaks")]);
    let head = HeadSeen::Branch(state.rules.bubble_branch.clone());
    Command::Pass(PassCommand { findings, ..PassCommand::new(by.clone(), "reviewed", head) })
}

fn converged(state: &BubbleState, by: &AgentId, explanation: Option<Explanation>) -> Command {
    let summary = "no blocking finding is left".to_owned();
    let (refs, reviewed) = (Vec::new(), Vec::new());
    Command::Converged { by: by.clone(), summary, refs, explanation, reviewed, seen: seen(state), key: None }
}

fn explained() -> Explanation {
    let said = |part: &str| format!("the {part}");
    Explanation { what: said("what"), why: said("why"), risks: said("risks"), test_plan: said("test plan") }
}

/// The first finding that is open; an unknown one if there is none.
fn first_row(state: &BubbleState) -> FindingId {
    state.ledger.open().next().map_or(FindingId(1), |row| row.id)
}

fn approve(state: &BubbleState, seen: WorktreeSeen) -> Command {
    let package_sha256 = state.phase.request().map(|request| request.package_sha256.clone()).unwrap_or_default();
    Command::Approve { package_sha256, seen, key: None }
}

fn seen(state: &BubbleState) -> WorktreeSeen {
    WorktreeSeen { tree: tree(state), differing: Vec::new() }
}

fn tree(state: &BubbleState) -> TreeId {
    state.tree().cloned().unwrap_or_else(|| TreeId("tree0".to_owned()))
}

fn commit() -> CommitId {
    CommitId("c0ffee".to_owned())
}

/// The tree that somebody has edited.
fn edited() -> TreeId {
    TreeId("edited".to_owned())
}

fn snapshot(tree: TreeId, author: Option<Party>) -> Snapshot {
    Snapshot {
        commit: CommitId(format!("snapshot-of-{tree}")),
        r#ref: format!("refs/pairflow/demo/{tree}"),
        tree,
        author,
        changed: Vec::new(),
        since_last: Vec::new(),
        out_of_scope: Vec::new(),
        agent_head: None,
        ignore_changes: Vec::new(),
        weakened: Vec::new(),
        whole: None,
    }
}

fn checked(state: &BubbleState, outcome: Outcome) -> Command {
    let first = state.rules.checks.first();
    let (name, command) = first.map_or(("", ""), |check| (&check.name, &check.command));
    let place = missing_checks(state).first().map_or(CheckPlace::Checkout, |(_, place)| *place);
    Command::Checked { receipt: Receipt { place, ..receipt(state, name, command, outcome) } }
}

/// The reproducer that is owed; an unknown one if there is none.
fn reproduced(state: &BubbleState, outcome: Outcome) -> Command {
    let (finding, command) = state.facts().to_reproduce().next().unwrap_or((FindingId(1), "./repro"));
    Command::Reproduced { finding, receipt: receipt(state, &finding.to_string(), command, outcome) }
}

/// The test of a fix was run: with the fix it came to `after`; without that, it already passed before.
fn fix_tested(state: &BubbleState, after: Option<Outcome>) -> Command {
    let usual = || FixToTest { finding: FindingId(1), command: "./test F1".to_owned(), before: tree(state) };
    let fix = fixes_to_test(state).into_iter().next().unwrap_or_else(usual);
    let ran = |outcome| receipt(state, &fix.finding.to_string(), &fix.command, outcome);
    let red = after.is_some();
    let before = if red { Outcome::Failed { exit: Some(1), timed_out: false } } else { Outcome::Passed };
    let before = Receipt { tree: fix.before.clone(), ..ran(before) };
    Command::FixTested { finding: fix.finding, before, after: after.map(ran) }
}

fn receipt(state: &BubbleState, check: &str, command: &str, outcome: Outcome) -> Receipt {
    Receipt {
        check: check.to_owned(),
        command: command.to_owned(),
        tree: tree(state),
        outcome,
        duration_ms: 10,
        output: None,
        tail: String::new(),
        place: CheckPlace::Checkout,
    }
}

fn workspace() -> WorkspaceRecord {
    WorkspaceRecord {
        path: "/work/demo".to_owned(),
        git_dir: "/repo/.git/worktrees/demo".to_owned(),
        common_dir: "/repo/.git".to_owned(),
        base: CommitId("base".to_owned()),
        base_tree: TreeId("tree0".to_owned()),
        port: 4000,
        ports: 10,
        setup: None,
        included: Vec::new(),
        ground: Ground::default(),
    }
}

fn moment(up: u64) -> Moment {
    Moment { ts: Timestamp::from_millis(0), up }
}
