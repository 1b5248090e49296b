//! Random lives of bubbles: whatever is sent in whatever order, the invariants hold.
//!
//! A life is a random script, so a failing case prints the lines that lead to it. The invariants themselves (one turn,
//! questions, streak, rounds, approvals) are checked by the play after every single fact; see
//! `pairflow_testkit::script::broken`.

use pairflow_core::bubble::{BubbleState, StateName, next_deadline, owed};
use pairflow_core::facts::Seat;
use pairflow_core::log::{Body, Lifecycle, MessageKind};
use pairflow_core::respond::handle;
use pairflow_core::rules::BubbleKind;
use pairflow_testkit::script::{ScriptRun, Sent, documented_moves, samples, stuck};
use proptest::prelude::*;

/// What moves a bubble on, whoever has the turn; see [`resolve`].
const ONWARD: &[&str] = &["HOLDER hands over", "HOLDER hands over", "HOLDER: converged 'done'", "PERSON goes on"];

/// What can happen to a bubble, whether it fits or not.
const LINES: &[&str] = &[
    "codex: pass 'work'",
    "codex: pass clean",
    "codex: pass P1 'wrong'",
    "codex: pass P3 'naming'",
    "codex: converged 'done'",
    "codex: asks 'which database?'",
    "claude: pass 'work'",
    "claude: pass clean",
    "claude: pass P0 'unsafe' P2 'slow'",
    "claude: pass P1 'leaks' at src/lib.rs:3 by './leak'",
    "claude: pass P1 'no lock' late",
    "claude: pass P1 'too much locking' undoes F1",
    "claude: pass P2 'unsafe' class security confirms F1",
    "claude: pass reopens F1",
    "codex: pass fixes F1",
    "codex: pass fixes F1 untested",
    "codex: pass fixes F1 untestable 'a comment'",
    "claude: pass P1 'wrong' by './leak' repeats F1",
    "HOLDER: upholds F1",
    "HOLDER: dismisses F1",
    "HOLDER: dismisses F2",
    "F1 passes before",
    "F1 fails after",
    "F1 cannot run before",
    "claude: pass accepts './run' tests/task.py",
    "claude: pass retracts F1",
    "human: reply side-with-finding",
    "human: reply side-with-implementer",
    "codex: pass 'no' disputes F1 'as agreed' explained",
    "codex: converged 'done' unexplained",
    "claude: converged 'done'",
    "claude: asks 'why?'",
    "human: waive F1 'known'",
    "human: waive test 'flaky'",
    "human: waive F1 withdraw",
    "human: waive test withdraw",
    "F1 reproducer passes",
    "F1 reproducer fails",
    "F1 reproducer cannot run",
    "gemini: pass clean",
    "human: reply 'sqlite'",
    "human: reply 'sqlite' to 2",
    "human: reply accept",
    "human: reply continue",
    "human: reply continue to 1",
    "human: approve",
    "human: approve",
    "human: rework 'again'",
    "human: rework 'no' reject",
    "human: commit",
    "human: commit",
    "human: commit override 'needed'",
    "human: pause",
    "human: resume",
    "human: resume",
    "human: update",
    "human: merge",
    "codex: pass 'work' step dry-run blocked 'no limit'",
    "codex: pass fixes F1 step dry-run",
    "human edits src/lib.rs",
    "codex edits src/lib.rs",
    "codex edits secret.txt",
    "claude edits src/new.rs",
    "claude restores src/lib.rs",
    "base moves README.md",
    "test fails",
    "test passes",
    "test passes",
    "lint cannot run",
    "lint passes",
    "commit fails 'hook'",
    "commit works",
    "update fails 'conflict'",
    "update works",
    "codex ends 'with exit code 3'",
    "trouble 'no space left'",
    "wait 1m",
    "wait 6m",
    "clock jumps -10y",
    "clock jumps 10y",
    "reboot",
    "crash",
    "settle",
    "env codex",
    "head detached",
    "head back",
    "start",
];

/// What comes rarely, because it ends the bubble or comes out of the blue.
const RARE: &[&str] = &[
    "human: stop",
    "lost 'the repository is gone'",
    "raw workspace-ready",
    "raw start-failed",
    "raw snapshot-taken",
    "raw found-snapshot-taken",
    "raw checked",
    "raw checked-failed",
    "raw checked-could-not",
    "raw reproduced",
    "raw reproduced-failed",
    "raw reproduced-could-not",
    "raw turn-ready",
    "raw fix-tested",
    "raw fix-tested-not-red",
    "raw agent-ended",
    "raw commit-made",
    "raw commit-failed",
    "raw record-done",
    "raw update-made",
    "raw update-failed",
    "raw approve",
];

/// How the bubble is set up.
const SETUPS: &[&[&str]] = &[
    &[],
    &["given max_rounds 2"],
    &["given max_rounds 1", "given checks test, lint"],
    &["given agents codex, claude, gemini", "given checks test, lint"],
    &["given agents claude, claude", "given max_rounds 3"],
    &["given deny secret.txt", "given scripted"],
    &["given no checks", "given manual 'look at it'"],
    &["given risk src/**", "given max_rounds 4"],
    &["given document"],
    &["given thorough"],
    &["given thorough", "given agents codex, claude, gemini"],
    &["given lines 401", "given min_looks 3"],
];

/// Puts the agent and the verb in that fit the state.
fn resolve(line: &str, play: &ScriptRun) -> String {
    let turn = play.state.phase.turn();
    let holder = turn.map_or("codex", |turn| turn.agent.as_str());
    let reviews = turn.is_some_and(|turn| turn.seat == Seat::Reviewer);
    let (judges, accepts) = turn.map_or((false, false), |turn| (turn.seat == Seat::Judge, turn.acceptance));
    let hands_over = match play.state.rules.kind {
        _ if judges => "upholds F1",
        _ if accepts => "pass accepts './run' tests/task.py",
        BubbleKind::Document if reviews => "pass clean stepped",
        BubbleKind::Document => "pass 'work' step dry-run",
        _ if reviews => "pass clean",
        _ => "pass 'work'",
    };
    let goes_on = match play.state.phase.name() {
        StateName::Created => "start",
        StateName::WaitingHuman => "human: reply 'so be it' to 1",
        StateName::ReadyForApproval => "human: approve",
        StateName::ApprovedForCommit if owed(&play.state).is_empty() => "human: commit",
        StateName::ApprovedForCommit => "raw commit-made (hold)",
        _ => "human: resume",
    };
    let line = line.replace("HOLDER hands over", &format!("HOLDER: {hands_over}"));
    let line = line.replace("HOLDER", holder).replace("PERSON goes on", goes_on);
    line.replace("(hold) (hold)", "(hold)")
}

fn line() -> impl Strategy<Value = String> {
    let usual = proptest::sample::select(LINES);
    let rare = proptest::sample::select(RARE);
    let hold = prop_oneof![7 => Just(""), 1 => Just(" (hold)")];
    let onward = proptest::sample::select(ONWARD);
    (prop_oneof![24 => onward, 24 => usual, 1 => rare], hold).prop_map(|(line, hold)| format!("{line}{hold}"))
}

fn life(length: usize) -> impl Strategy<Value = Vec<String>> {
    let setup = proptest::sample::select(SETUPS);
    let start = proptest::sample::select(&["start", "start", "start (hold)"]);
    (setup, start, proptest::collection::vec(line(), 1..length)).prop_map(|(setup, start, mut lines)| {
        lines.insert(0, start.to_owned());
        setup.iter().map(|line| (*line).to_owned()).chain(lines).collect()
    })
}

fn lived(lines: &[String]) -> ScriptRun {
    let mut play = ScriptRun::new();
    for line in lines {
        let line = resolve(line, &play);
        play.line(&line);
    }
    play
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_commands_never_panic_and_every_invariant_holds(lines in life(80)) {
        lived(&lines);
    }

    #[test]
    fn the_log_alone_gives_the_state_and_the_cache_gives_it_back(lines in life(60)) {
        let play = lived(&lines);
        prop_assert_eq!(&play.refold(), &play.state);
        let json = serde_json::to_string(&play.state).unwrap();
        let cached: BubbleState = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&cached, &play.state);
    }

    #[test]
    fn a_bubble_that_owes_nothing_is_never_stuck(lines in life(80)) {
        let mut play = lived(&lines);
        play.line("settle");
        prop_assert_eq!(stuck(&play.state), None);
    }

    #[test]
    fn no_sequence_of_commands_commits_without_approval(lines in life(80)) {
        let mut play = lived(&lines);
        let approved = |play: &ScriptRun| play.log.iter().any(|envelope| envelope.event.body.kind() == MessageKind::ApprovalDecision);
        for verb in ["human: commit", "raw commit-made", "raw record-done", "human: merge"] {
            if !approved(&play) {
                play.line(verb);
            }
        }
        let committed = |body: &Body| matches!(body, Body::Lifecycle(Lifecycle::Committed { .. }) | Body::DonePackage(_));
        let commits = play.log.iter().any(|envelope| committed(&envelope.event.body));
        prop_assert!(approved(&play) || !commits);
    }

    #[test]
    fn a_refusal_changes_nothing_and_deciding_twice_gives_the_same(lines in life(40)) {
        let play = lived(&lines);
        for sample in samples(&play.state) {
            let mut other = play.clone();
            let decided = handle(&play.state, &sample.command, sample.now);
            prop_assert_eq!(&decided, &handle(&play.state, &sample.command, sample.now));
            let Sent::Refused(_) = other.send(&sample.command) else { continue };
            prop_assert_eq!(other.log.len(), play.log.len());
            prop_assert_eq!(&other.state, &play.state);
        }
    }

    #[test]
    fn final_states_absorb_everything(lines in life(20), ending in 0_usize..3) {
        let mut play = lived(&lines);
        play.line(["human: stop", "lost 'the disk'", "human: stop"][ending]);
        if !play.state.phase.is_final() {
            return Ok(());
        }
        let phase = play.state.phase.clone();
        for line in LINES.iter().chain(RARE) {
            let line = resolve(line, &play);
            play.line(&line);
            prop_assert_eq!(&play.state.phase, &phase);
            prop_assert!(owed(&play.state).is_empty() && next_deadline(&play.state, None).is_none());
        }
    }
}

#[test]
fn random_lives_reach_every_state_and_change_it_only_as_documented() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let documented = documented_moves();
    let mut seen = std::collections::HashSet::new();
    for _ in 0..200 {
        let lines = life(80).new_tree(&mut runner).unwrap().current();
        let mut play = ScriptRun::new();
        for line in &lines {
            let line = resolve(line, &play);
            play.line(&line);
            seen.insert(play.state.phase.name());
        }
        let unheard: Vec<_> = play.moves.difference(&documented).collect();
        assert!(unheard.is_empty(), "docs/state-machine.md does not show {unheard:?}");
    }
    assert_eq!(seen.len(), 10, "{seen:?}");
}
