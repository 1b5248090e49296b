//! A dispute: the implementer disputes, the reviewer insists, a judge decides, and a person has the last word.

use pairflow_testkit::home::{Agent, Home};
use serde_json::json;

use crate::support::bubbles::{handed_over, home, quiet};
use crate::support::log::lines_of;
use crate::support::seat::seat;
use crate::support::terminal::on_terminal;

/// Waits until an agent has an open turn in this seat.
#[track_caller]
fn in_seat(home: &Home, id: &str, agent: &str, role: &str) {
    home.wait_for(id, |status| {
        status["active_agent"] == agent && status["active_role"] == role && status["turn_state"] == "open"
    });
}

/// Makes a bubble in which claude insists on F1, which codex disputes, and is to judge it.
#[track_caller]
fn contested<'a>(home: &'a Home, id: &str) -> (Agent<'a>, Agent<'a>) {
    let (codex, claude) = handed_over(home, id);
    claude.pairflow(&["pass", "--summary", "half of it", "--finding", "P1:done.txt is not closed"]).ok();
    in_seat(home, id, "codex", "implementer");
    codex.pairflow(&["pass", "--summary", "it is", "--dispute", "F1", "--reason", "the shell closes it"]).ok();
    in_seat(home, id, "claude", "reviewer");
    claude.pairflow(&["pass", "--summary", "I insist", "--reopen", "F1"]).ok();
    in_seat(home, id, "claude", "judge");
    (codex, claude)
}

const REASON: [&str; 2] = ["--reason", "a redirection is closed when the command ends"];

#[test]
fn a_judge_decides_the_dispute_and_does_nothing_else() {
    let home = home();
    let (codex, claude) = contested(&home, "b1");
    let judge = "next: pairflow judge F1 --uphold|--dismiss --reason '…'";
    claude.pairflow(&["pass", "--summary", "clean", "--no-findings"]).ends(1).says("hands no work over").says(judge);
    claude.converged("nothing left").ends(1).says(judge);
    let [reason, why] = REASON;
    codex.pairflow(&["judge", "F1", "--uphold", reason, why]).ends(1).says("claude");
    claude
        .pairflow(&["judge", "F9", "--uphold", reason, why])
        .ends(1)
        .says("F9 is not the dispute to decide; it is F1");
    claude.pairflow(&["judge", "F1", reason, why]).ends(2).says("--uphold");
    claude.pairflow(&["judge", "F1", "--uphold", "--dismiss", reason, why]).ends(2).says("cannot be used with");
    claude.pairflow(&["judge", "F1", "--uphold"]).ends(2).says("--reason");
    claude.pairflow(&["judge", "F1", "--uphold", "--reason", " "]).ends(2).says("the text is empty");

    let said = ["orchestra", "judge", "F1", "--dismiss", reason, why, "--json"];
    let recorded = claude.pairflow(&said).ok().json();
    assert_eq!((&recorded["schema"], &recorded["repeated"]), (&json!("pairflow.recorded/1"), &json!(false)));
    let judgement = json!({"finding": "F1", "ruling": "dismissed", "reason": why});
    let line = lines_of(&home, "b1", "PASS").pop().unwrap();
    assert_eq!((&line["payload"]["judgement"], &line["sender"]), (&judgement, &json!("claude")));
    // A decision is no review: a new look follows.
    in_seat(&home, "b1", "claude", "reviewer");
    home.pairflow(&["findings", "b1"]).ok().says("dismissed");
    claude.pairflow(&["judge", "F1", "--uphold", reason, why]).ends(1).says("no dispute waits for claude");
    home.pairflow(&["judge", "F1", "--uphold", reason, why]).ends(1).says("this command is for agents");
}

#[test]
fn a_judge_behind_a_socket_is_recorded_once() {
    let home = home();
    let (_, claude) = contested(&home, "b1");
    drop(claude);
    quiet(&home);
    let judge = seat(&home, "b1", "claude");
    let [reason, why] = REASON;
    let said = ["judge", "F1", "--uphold", reason, why, "--key", "k1"];
    judge.pairflow(&said).ok().says("F1 upheld in bubble b1");
    judge.pairflow(&said).ok().says("Already recorded");
    judge.pairflow(&["judge", "F1", "--dismiss", reason, why, "--key", "k1"]).ends(1).says("the key 'k1'");
    let judged = lines_of(&home, "b1", "PASS").iter().filter(|line| line["payload"]["judgement"].is_object()).count();
    assert_eq!(judged, 1);
}

#[test]
fn a_person_sides_with_either_agent_or_edits_the_work() {
    let home = home();
    let (codex, claude) = contested(&home, "b1");
    home.pairflow(&["reply", "b1", "--decision", "side-with-finding"]).ends(1);
    let [reason, why] = REASON;
    claude.pairflow(&["judge", "F1", "--uphold", reason, why]).ok();
    in_seat(&home, "b1", "codex", "implementer");
    let dispute = ["pass", "--summary", "no", "--dispute", "F1", "--reason", "the shell still closes it"];
    codex.pairflow(&dispute).ok();
    home.wait_for_state("b1", "WAITING_HUMAN");

    let keys = "f=side with the finding  i=side with the implementer  c=continue";
    let (code, text) = on_terminal(home.command(&["next", "--color", "never"]), &[("e=edit myself", "e")]);
    assert_eq!(code, 0, "{text}");
    let flat = text.replace('\n', " ");
    assert!(flat.contains(keys), "{text}");
    assert!(flat.contains("edit the files in") && flat.contains("pairflow resume b1"), "{text}");
    assert_eq!(home.status("b1")["paused"], true);
    home.pairflow(&["resume", "b1"]).ends(1);

    let (code, text) = on_terminal(home.command(&["next", "--color", "never"]), &[("f=side with", "f")]);
    assert_eq!(code, 0, "{text}");
    let reply = lines_of(&home, "b1", "HUMAN_REPLY").pop().unwrap();
    assert_eq!(reply["payload"]["decision"], "side_with_finding");
    home.pairflow(&["resume", "b1"]).ok();
    in_seat(&home, "b1", "codex", "implementer");
    codex.pairflow(&dispute).ends(1).says("the person decided that F1 holds");
    codex.pairflow(&["ask-human", "--question", "which way?"]).ok();
    home.pairflow(&["reply", "b1", "--decision", "side-with-implementer"])
        .ends(1)
        .says("this question does not take that decision")
        .says("next: pairflow inbox b1");
}

#[test]
fn a_fix_names_its_test_or_says_why_there_is_none() {
    let home = home();
    let (codex, claude) = handed_over(&home, "b1");
    let found = ["--finding", "P1:done.txt is not closed", "--finding", "P1:its name is wrong"];
    claude.pairflow(&[&["pass", "--summary", "two"][..], &found].concat()).ok();
    in_seat(&home, "b1", "codex", "implementer");
    let pass = |more: &[&str]| codex.pairflow(&[&["pass", "--summary", "fixed"][..], more].concat());
    pass(&["--test", "F1=true"]).ends(2).says("--fixed");
    pass(&["--fixed", "F1", "--test", "F1"]).ends(2).says("FINDING=TEXT");
    pass(&["--fixed", "F1", "--test", "F1="]).ends(2).says("the text is empty");
    pass(&["--fixed", "F1", "--untestable", "X=why"]).ends(2).says("'X'");
    pass(&["--fixed", "F1", "--test", "F2=true"])
        .ends(1)
        .says("F2 is not among them")
        .says("next: pairflow pass --summary '…' --fixed F1 --test F1='…'");
    pass(&["--fixed", "F1", "--no-acceptance"]).ends(1).says("belong to the turn before the first implementation");
    codex.write("fix.txt", "fixed\n");
    let said = ["--fixed", "F1", "--fixed", "F2", "--test", "F1=test -f fix.txt", "--untestable", "F2=a name = a name"];
    pass(&said).ok();
    let answers = lines_of(&home, "b1", "PASS").pop().unwrap()["payload"]["answers"].clone();
    assert_eq!(answers["tests"], json!([{"finding": "F1", "command": "test -f fix.txt"}]), "{answers}");
    assert_eq!(answers["untestable"], json!([{"finding": "F2", "reason": "a name = a name"}]));
}
