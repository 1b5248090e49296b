//! The tmux driver with toy agents, many bubbles at once: nobody gets what is meant for another.

use crate::support::panes::{Machine, Own};

/// How many bubbles of a crowd are started, or stopped, at the same time.
const WORKERS: usize = 4;

#[test]
fn bubbles_with_similar_names_and_in_two_repositories_run_side_by_side() {
    let machine = Machine::new("", "");
    let conf = "set -g base-index 1\nset -g pane-base-index 1\nset -g default-command 'exec cat'\nset -g remain-on-exit off\n\
                set -g default-shell /bin/false\nset -g exit-empty on\nset -g mode-keys vi\nset -g prefix C-a\n";
    std::fs::write(machine.home.root().join("home/.tmux.conf"), conf).unwrap();
    let other = machine.repo("other");
    let repo = machine.home.repo.clone();
    let wanted = [(&repo, "a"), (&repo, "a-b"), (&repo, "a-b-c"), (&repo, "a_b"), (&other, "a")];
    let bubbles: Vec<Own<'_>> = std::thread::scope(|scope| {
        let started = wanted.map(|(repo, id)| scope.spawn(|| machine.start_in(repo, id, "Write work.txt")));
        started.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let mut names = Vec::new();
    for bubble in &bubbles {
        bubble.wait_for_state("READY_FOR_APPROVAL");
        assert_eq!(bubble.tags(), ["pairflow.view", "claude", "codex"], "{}", bubble.everything());
        assert_eq!(
            bubble.tmux(&["show-options", "-gv", "pane-base-index"]).unwrap(),
            "1",
            "the person's own settings hold"
        );
        names.push(bubble.session().unwrap()["session"].as_str().unwrap().to_owned());
        is_told_its_own(bubble);
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), bubbles.len(), "{names:?}");
    // Those that are left are not touched by the end of one whose name they begin with.
    for (at, bubble) in bubbles.iter().enumerate() {
        bubble.stop();
        for left in &bubbles[at + 1..] {
            assert_eq!(left.tags().len(), 3, "{} after the end of {}", left.id, bubble.id);
        }
    }
}

/// Every prompt of both toys names their own bubble, and no notice came twice.
#[track_caller]
fn is_told_its_own(bubble: &Own<'_>) {
    for (agent, least) in [("codex", 2), ("claude", 2)] {
        let notes = bubble.notes(agent);
        assert!(notes.len() >= least, "{agent} of {}: {notes:?}", bubble.id);
        assert!(notes.iter().all(|note| note.whose == bubble.id), "{agent} of {}: {notes:?}", bubble.id);
        let mut numbers: Vec<_> = notes.iter().map(|note| note.number).collect();
        numbers.sort();
        numbers.dedup();
        assert_eq!(numbers.len(), notes.len(), "a notice came twice to {agent} of {}: {notes:?}", bubble.id);
    }
}

#[test]
fn fifty_bubbles_at_once_get_to_their_approval_each_with_its_own_notices() {
    const BUBBLES: usize = 50;
    let machine = Machine::new("", "");
    let ids: Vec<String> = (0..BUBBLES).map(|number| format!("b{number}")).collect();
    let bubbles = side_by_side(&ids, |id| machine.start(id));
    for bubble in &bubbles {
        bubble.wait_for_state("READY_FOR_APPROVAL");
        is_told_its_own(bubble);
    }
    side_by_side(&bubbles, Own::stop);
}

/// Does the same with all of `items`, a few at a time.
fn side_by_side<'a, T: Sync, R: Send>(items: &'a [T], work: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
    let work = &work;
    std::thread::scope(|scope| {
        let parts = items.chunks(items.len().div_ceil(WORKERS));
        let parts: Vec<_> = parts.map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<_>>())).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}
