//! The task in force is the newest one that was given, with its criteria and its scope.

use pairflow_core::bubble::evolve;
use pairflow_core::ids::Party;
use pairflow_core::log::{Body, Envelope, Event, Task};
use pairflow_core::rules::Scope;
use pairflow_core::view::brief::{BriefMaterial, brief};
use pairflow_testkit::script::play;

#[test]
fn a_newer_task_is_the_one_in_force() {
    let play = play("given task 'Fix the race'\ngiven criterion 'two logins get two tokens'\nstart");
    let scope = Scope { allow: vec!["src/**".to_owned()], deny: vec!["src/gen/**".to_owned()] };
    let task = Task { task: "Drop the cache".to_owned(), acceptance_criteria: vec!["no cache".to_owned()], scope };
    let mut event = Event::own(play.state.rounds.round, Body::Task(task));
    event.recipient = Party::Agent("codex".parse().unwrap());
    let last = play.log.last().unwrap();
    let replanned = Envelope { seq: last.seq + 1, event, ..last.clone() };
    let state = evolve(play.state.clone(), &replanned);
    assert_eq!(
        (state.about.task.as_str(), state.about.acceptance_criteria.as_slice()),
        ("Drop the cache", ["no cache".to_owned()].as_slice())
    );
    assert!(state.rules.scope.admits("src/lib.rs") && !state.rules.scope.admits("src/gen/a.rs"));
    let told = brief(&state, &BriefMaterial::default()).unwrap();
    assert!(told.contains("Drop the cache") && told.contains("no cache") && told.contains("src/gen/**"), "{told}");
    assert!(!told.contains("Fix the race") && !told.contains("two tokens"), "{told}");
    assert_eq!(state.phase, play.state.phase, "the turn goes on");
}
