//! With P0/P1 open the loop goes on: a person is asked at the cap, and not because words stand against words or because
//! a reviewer could have spoken earlier.

use pairflow_testkit::script::{ScriptRun, check, play};

fn asked(play: &ScriptRun) -> Vec<String> {
    play.state.gate.questions.iter().map(|open| open.question.clone()).collect()
}

/// A P1 without proof in every round, each answered before the next.
fn rounds(count: usize, more: &str) -> String {
    let first = format!("start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'fault 1'{more}");
    (2..=count).fold(first, |script, round| {
        let before = round - 1;
        let reply = format!("codex edits a.rs\ncodex: pass fixes F{before}");
        format!("{script}\n{reply}\nclaude: pass P1 'fault {round}'{more} confirms F{before}")
    })
}

#[test]
fn a_new_p1_in_the_second_review_goes_to_the_implementer() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         codex edits a.rs
         codex: pass fixes F1
         claude: pass P1 'leaks memory' confirms F1",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback [fixed]
         #5 RUNNING codex implementer round 3 open: F2 P1 leaks memory",
    );
}

#[test]
fn findings_without_proof_go_on_until_the_cap_and_are_then_put_to_the_person_once() {
    for more in ["", " late"] {
        for count in 1..8 {
            assert_eq!(asked(&play(&rounds(count, more))), [""; 0], "review {count}{more}");
        }
        let at_cap = play(&rounds(8, more));
        assert_eq!(asked(&at_cap).len(), 1, "{:?}", asked(&at_cap));
    }
}

#[test]
fn a_clean_review_one_short_of_convergence_is_followed_by_the_other_agents_review() {
    let reviewed = format!("{}\ncodex edits a.rs\ncodex: pass fixes F4\nclaude: pass clean", rounds(4, ""));
    let play = play(&reviewed);
    assert_eq!(asked(&play), [""; 0]);
    let turn = play.state.phase.turn().unwrap();
    assert_eq!((turn.agent.as_str(), turn.is_open(), play.state.rounds.spent.looks), ("codex", true, 5));
}

#[test]
fn two_reviewers_that_do_not_agree_go_on() {
    let play = play("start\ncodex edits a.rs\ncodex: pass\nclaude: pass clean\ncodex: pass P1 'no rollback'");
    assert_eq!((asked(&play).len(), play.state.phase.turn().unwrap().agent.as_str()), (0, "claude"));
}

#[test]
fn a_late_p1_blocks_like_any_other() {
    check(
        "start
         codex edits a.rs
         codex: pass
         claude: pass P1 'no rollback'
         codex edits b.rs
         codex: pass fixes F1
         claude: pass P1 'leaks memory' late confirms F1
         codex: pass
         claude: converged",
        "#1 RUNNING codex implementer round 1
         #2 RUNNING claude reviewer round 1
         #3 RUNNING codex implementer round 2 open: F1 P1 no rollback
         #4 RUNNING claude reviewer round 2 open: F1 P1 no rollback [fixed]
         #5 RUNNING codex implementer round 3 open: F2 P1 leaks memory
         #6 RUNNING claude reviewer round 3 open: F2 P1 leaks memory
         refused: not converged yet: a second clean review of this tree by another agent (clean so far: claude); the reviewer role has not alternated yet (round_role_history)",
    );
}

#[test]
fn a_claim_that_was_made_in_time_is_not_late_when_it_is_made_again() {
    let again = "codex edits b.rs\ncodex: pass fixes F1\nclaude: pass P1 'no rollback' late\n";
    let play =
        play(&format!("start\ncodex edits a.rs\ncodex: pass\nclaude: pass P1 'no rollback'\n{}", again.repeat(3)));
    assert_eq!(asked(&play), [""; 0]);
    assert!(!play.state.ledger.rows[0].late());
}
