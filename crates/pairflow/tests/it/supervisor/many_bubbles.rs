//! Many bubbles at once: under one supervisor, started from many processes, each with nothing but its own.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command, Stdio};

use pairflow_testkit::home::{Home, Ran};
use pairflow_testkit::wait::wait_until;
use serde_json::Value;

use crate::support::bubbles::home;
use crate::support::log::{file, lines, state};

/// What the two agents of a bubble do: a first cut, a finding, a mend, and two clean reviews. Every word and every
/// file has the bubble's name in it.
const AGENTS: &str = "\
agents:
  codex:
    - - write: { path: ID.txt, text: ID draft }
      - pass: { summary: ID first cut }
    - - write: { path: ID.txt, text: ID done }
      - run: echo $PAIRFLOW_BUBBLE $PORT > ID.port
      - pass: { summary: ID mended }
    - - converged: { summary: ID nothing left, explain: \"## What changed\\nx\\n## Why\\nx\\n## Risks\\nnone\\n## Manual test plan\\nlook\\n\" }
  claude:
    - - pass: { summary: ID review, findings: ['P1:ID is a draft'] }
    - - pass: { summary: ID clean, no_findings: true }
";

/// Starts a command whose output is read later.
fn begun(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Makes all bubbles at once, from as many processes, and starts each as soon as it is made.
fn start_all(home: &Home, ids: &[String]) {
    let made: Vec<_> = ids
        .iter()
        .map(|id| {
            let script = home.root().join(format!("{id}.yaml"));
            std::fs::write(&script, AGENTS.replace("ID", id)).unwrap();
            begun(home.command(&["create", "--id", id, "--task", &format!("write {id}"), "--test", "true"]))
        })
        .collect();
    made.into_iter().for_each(|child| drop(Ran::of(&child.wait_with_output().unwrap()).ok()));
    let started: Vec<_> = ids
        .iter()
        .map(|id| {
            let script = home.root().join(format!("{id}.yaml"));
            begun(home.command(&["start", id, "--driver", "script", "--script", script.to_str().unwrap()]))
        })
        .collect();
    started.into_iter().for_each(|child| drop(Ran::of(&child.wait_with_output().unwrap()).ok()));
}

/// Waits until every bubble is in `wanted`.
#[track_caller]
fn all_in(home: &Home, ids: &[String], wanted: &str) {
    // By their files, because twenty bubbles need the processors more than the one who waits for them.
    wait_until(wanted, || {
        let states: Vec<_> = ids.iter().filter_map(|id| state(home, id)).collect();
        assert!(states.iter().all(|one| one != "WAITING_HUMAN" && one != "FAILED"), "{states:?}");
        states.iter().filter(|one| *one == wanted).count() == ids.len()
    });
    let listed = home.pairflow(&["list", "--json"]).ok().json();
    let rows = listed["bubbles"].as_array().unwrap();
    assert_eq!(rows.iter().filter(|row| row["state"] == wanted).count(), ids.len(), "{listed:#}");
}

/// Insists that nothing of any other bubble is in this one's log, files or commit.
#[track_caller]
fn is_its_own(home: &Home, id: &str, others: &[String]) {
    let log = lines(home, id);
    assert!(log.iter().all(|line| line["bubble_id"] == id));
    // Its own name may be the beginning of nobody else's, so whatever is found is foreign.
    let text = std::fs::read_to_string(file(home, id, "transcript.ndjson")).unwrap();
    let foreign: Vec<_> = others.iter().filter(|other| *other != id && text.contains(other.as_str())).collect();
    assert!(foreign.is_empty(), "{id} mentions {foreign:?}");
    let worktree = home.status(id)["worktree"].as_str().unwrap().to_owned();
    let mut names: Vec<_> =
        std::fs::read_dir(&worktree).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, [".git".to_owned(), "README.md".to_owned(), format!("{id}.port"), format!("{id}.txt")]);
    assert_eq!(home.git_in(worktree.as_ref(), &["show", &format!("HEAD:{id}.txt")]), format!("{id} done"));
    let committed = home.git_in(worktree.as_ref(), &["diff", "--name-only", "main", &format!("bubble/{id}")]);
    assert_eq!(committed, format!("{id}.port\n{id}.txt"));
}

/// Insists that no two bubbles share a port, and that every agent saw its own.
#[track_caller]
fn ports_are_disjoint(home: &Home, ids: &[String]) {
    let mut taken = BTreeMap::new();
    for id in ids {
        let log = lines(home, id);
        let ready = log.iter().find(|line| line["payload"]["event"] == "workspace_ready").unwrap();
        let workspace = &ready["payload"]["workspace"];
        let number = |value: &Value| value.as_u64().unwrap();
        let (first, count) = (number(&workspace["port"]), number(&workspace["ports"]));
        for port in first..first + count {
            assert_eq!(taken.insert(port, id.clone()), None, "port {port} of {id} is someone else's, too");
        }
        assert_eq!(home.git(&["show", &format!("bubble/{id}:{id}.port")]), format!("{id} {first}"));
    }
}

#[test]
fn twenty_bubbles_run_concurrently_under_one_supervisor_without_cross_contamination() {
    let home = home();
    let ids: Vec<String> = (0..20).map(|n| format!("crowd{n:02}")).collect();
    start_all(&home, &ids);
    assert_eq!(home.pairflow(&["supervisor", "status", "--json"]).ok().json()["running"], true);
    all_in(&home, &ids, "READY_FOR_APPROVAL");
    for verb in ["approve", "commit"] {
        let running: Vec<_> = ids.iter().map(|id| begun(home.command(&[verb, id, "--yes"]))).collect();
        running.into_iter().for_each(|child| drop(Ran::of(&child.wait_with_output().unwrap()).ok()));
    }
    all_in(&home, &ids, "DONE");
    ids.iter().for_each(|id| is_its_own(&home, id, &ids));
    ports_are_disjoint(&home, &ids);
    for id in [&ids[0], &ids[9], &ids[19]] {
        home.pairflow(&["verify", id]).ok();
    }
    home.pairflow(&["doctor", "--json"]).says("20, all logs are valid");
    let commits: BTreeSet<_> = ids.iter().map(|id| home.git(&["rev-parse", &format!("bubble/{id}")])).collect();
    assert_eq!(commits.len(), ids.len());
    assert_eq!(home.git(&["status", "--porcelain"]), "");
}

/// Phase 2 of the specification: as if from five terminals.
#[test]
fn five_bubbles_created_and_started_by_five_processes_at_once_do_not_collide() {
    let home = home();
    let ids: Vec<String> = (1..=5).map(|n| format!("shell{n}")).collect();
    let begin = |id: &String| {
        let args = ["create", "--id", id, "--task", &format!("write {id}"), "--test", "true", "--start"];
        begun(home.command(&args))
    };
    let running: Vec<_> = ids.iter().map(begin).collect();
    running.into_iter().for_each(|child| drop(Ran::of(&child.wait_with_output().unwrap()).ok()));
    let agents: Vec<_> = ids
        .iter()
        .map(|id| {
            home.wait_for_turn(id, "codex");
            home.agent(id, "codex")
        })
        .collect();
    let passes: Vec<_> = agents
        .iter()
        .zip(&ids)
        .map(|(agent, id)| {
            agent.write(format!("{id}.txt"), id);
            begun(agent.command(&["pass", "--summary", &format!("{id} first cut")]))
        })
        .collect();
    passes.into_iter().for_each(|child| drop(Ran::of(&child.wait_with_output().unwrap()).ok()));
    for (id, agent) in ids.iter().zip(&agents) {
        home.wait_for_turn(id, "claude");
        let log = lines(&home, id);
        assert!(log.iter().all(|line| line["bubble_id"] == id.as_str()));
        let summaries: Vec<_> =
            log.iter().filter(|line| line["type"] == "PASS").map(|line| &line["payload"]["summary"]).collect();
        assert_eq!(summaries, [&format!("{id} first cut")]);
        let written: Vec<_> = ids.iter().filter(|other| agent.worktree.join(format!("{other}.txt")).exists()).collect();
        assert_eq!(written, [id]);
        home.pairflow(&["verify", id]).ok();
    }
}

/// The same name for all: exactly one gets it, and it is whole.
#[test]
fn of_eight_processes_that_make_a_bubble_of_the_same_name_one_wins() {
    let home = home();
    let make =
        |n: u32| begun(home.command(&["create", "--id", "same", "--task", &format!("attempt {n}"), "--test", "true"]));
    let running: Vec<_> = (0..8).map(make).collect();
    let codes: Vec<_> = running.into_iter().map(|child| Ran::of(&child.wait_with_output().unwrap()).code).collect();
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert!(codes.iter().all(|code| [0, 1, 4].contains(code)), "{codes:?}");
    assert_eq!(lines(&home, "same").len(), 1);
    home.pairflow(&["verify", "same"]).ok();
}
