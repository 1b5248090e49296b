//! `pairflow wait`: an agent or a person blocks until there is something to do, and is told what.

use std::process::{Child, Command, Stdio};

use pairflow_testkit::home::Ran;
use serde_json::json;

use crate::support::bubbles::{handed_over, home, quiet, ready, started};

/// Starts a command whose end is looked at later.
fn begin(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn end(child: Child) -> Ran {
    Ran::of(&child.wait_with_output().unwrap())
}

#[test]
fn an_agent_that_waits_gets_its_turn_when_the_other_hands_over() {
    let home = home();
    started(&home, "b1");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    let waiting = begin(claude.command(&["wait", "--for", "turn"]));
    codex.write("done.txt", "done\n");
    codex.pairflow(&["pass", "--summary", "first cut"]).ok();
    let told = end(waiting).ok().says("It is your turn in bubble b1, as reviewer of round 1.");
    assert!(told.stderr.contains("next: pairflow brief b1"), "{told:?}");
    claude.pairflow(&["brief"]).ok().says("--no-findings");
    // Nothing is to be waited for where it is there already.
    let own = claude.pairflow(&["wait", "b1", "--json"]).ok().json();
    assert_eq!((&own["schema"], &own["reached"]), (&json!("pairflow.wait/1"), &json!("turn")));
    assert_eq!((&own["next"], &own["active_agent"]), (&json!("pairflow brief b1"), &json!("claude")));
    codex.pairflow(&["wait", "b2"]).ends(1).says("works in bubble b1");
}

#[test]
fn an_agent_that_asked_waits_for_the_answer_and_reads_it() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    codex.pairflow(&["ask-human", "--question", "tabs or spaces?"]).ok().says("next: pairflow wait b1 --for answer");
    home.pairflow(&["wait", "b1"]).ok().says("tabs or spaces?").says("next: pairflow inbox b1");
    let waiting = begin(codex.command(&["wait", "--for", "answer"]));
    home.pairflow(&["reply", "b1", "--message", "spaces, four of them"]).ok();
    end(waiting).ok().says("Answer: spaces, four of them").says("next: pairflow brief b1");
    let again = codex.pairflow(&["wait", "--for", "answer", "--json"]).ok().json();
    assert_eq!((&again["reached"], &again["answer"]), (&json!("answer"), &json!("spaces, four of them")));
}

#[test]
fn a_wait_that_is_over_time_has_an_exit_code_of_its_own() {
    let home = home();
    started(&home, "b1");
    let claude = home.agent("b1", "claude");
    claude
        .pairflow(&["wait", "--for", "turn", "--timeout", "0"])
        .ends(6)
        .says("codex has the turn in bubble b1, as implementer of round 1.")
        .says("next: pairflow wait --for turn --timeout 0");
    let error = home.pairflow(&["wait", "b1", "--for", "approval", "--timeout", "1", "--json"]).ends(6).json();
    assert_eq!((&error["error"]["code"], &error["error"]["kind"]), (&json!(6), &json!("timed_out")));
}

#[test]
fn what_can_never_come_ends_a_wait_at_once() {
    let home = home();
    started(&home, "b1");
    let codex = home.agent("b1", "codex");
    let claude = home.agent("b1", "claude");
    let waiting = begin(claude.command(&["wait", "--for", "turn"]));
    home.pairflow(&["stop", "b1", "--yes"]).ok();
    end(waiting).ends(1).says("bubble b1 is CANCELLED: there is no further turn.");
    for goal in ["turn", "answer", "approval"] {
        codex.pairflow(&["wait", "--for", goal]).ends(1).says("bubble b1 is CANCELLED");
        home.pairflow(&["wait", "b1", "--for", goal]).ends(1).says("next: pairflow status b1");
    }
    // A bubble that is deleted under the waiter's eyes is cancelled first, then gone.
    handed_over(&home, "b2");
    let waiting = begin(home.command(&["wait", "b2", "--for", "approval"]));
    home.pairflow(&["delete", "b2", "--yes"]).ok();
    assert_ne!(end(waiting).code, 0);
}

#[test]
fn a_person_waits_for_work_to_approve() {
    let home = home();
    ready(&home, "b1");
    home.pairflow(&["wait", "b1"]).ok().says("Bubble b1 waits for approval.").says("next: pairflow ok b1");
    home.pairflow(&["ok", "b1", "--yes"]).ok();
    home.wait_for_state("b1", "DONE");
    home.pairflow(&["wait", "b1", "--for", "approval"]).ok().says("Bubble b1 is DONE");
    home.pairflow(&["wait", "b1", "--for", "turn"]).ends(1).says("there is no further turn");
}

#[test]
fn what_an_agent_is_refused_until_later_names_the_command_that_waits() {
    let home = home();
    started(&home, "b1");
    let (codex, claude) = (home.agent("b1", "codex"), home.agent("b1", "claude"));
    claude.pairflow(&["pass", "--summary", "x", "--no-findings"]).ends(1).says("next: pairflow wait b1 --for turn");
    codex.pairflow(&["ask-human", "--question", "q0?"]).ok();
    codex.pairflow(&["pass", "--summary", "x"]).ends(1).says("next: pairflow wait b1 --for turn");
    for n in 1..20 {
        codex.pairflow(&["ask-human", "--question", &format!("q{n}?")]).ok();
    }
    codex.pairflow(&["ask-human", "--question", "one more?"]).ends(1).says("next: pairflow wait b1 --for answer");
    quiet(&home);
    codex.pairflow(&["wait", "--timeout", "0"]).ends(6).says("no supervisor is running");
}
