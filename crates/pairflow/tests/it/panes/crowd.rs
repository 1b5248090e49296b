//! The tmux driver with toy agents, many bubbles at once: nobody gets what is meant for another.

use pairflow_testkit::toys::{ToyBubble, is_told_only_its_own, live_together};

use crate::support::bubbles::{program, toys};

#[test]
fn bubbles_with_similar_names_and_in_two_repositories_run_side_by_side() {
    let machine = toys("", "");
    let conf = "set -g base-index 1\nset -g pane-base-index 1\nset -g default-command 'exec cat'\nset -g remain-on-exit off\n\
                set -g default-shell /bin/false\nset -g exit-empty on\nset -g mode-keys vi\nset -g prefix C-a\n";
    std::fs::write(machine.home.root().join("home/.tmux.conf"), conf).unwrap();
    let other = machine.repo("other");
    let repo = machine.home.repo.clone();
    let wanted = [(&repo, "a"), (&repo, "a-b"), (&repo, "a-b-c"), (&repo, "a_b"), (&other, "a")];
    let bubbles: Vec<ToyBubble<'_>> = std::thread::scope(|scope| {
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
        is_told_only_its_own(bubble);
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

#[test]
fn a_dozen_bubbles_at_once_get_to_their_approval_each_with_its_own_notices() {
    // `cargo xtask soak` does the same with fifty.
    live_together(&program(), 12);
}
