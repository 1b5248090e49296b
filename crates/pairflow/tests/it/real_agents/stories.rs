//! Whole bubbles with the real Claude Code and the real Codex in panes, against the mock model. A pair of real agents
//! costs seconds of both cores, so there are few of these; the same by the hundred: `cargo xtask soak`.

use std::path::Path;

use pairflow_testkit::pair::{self, Pair};

use crate::support::bubbles::program;

fn dir() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn a_whole_bubble_runs_with_the_real_clis_from_the_briefing_to_the_commit() {
    let pair = Pair::of_stories(program(), dir());
    pair::live_in_turn(&pair, &["whole".to_owned()]);
    let begun = pair.model_script().begun();
    assert!(begun.values().all(|times| *times == 1), "no notice twice: {begun:?}");
    assert_eq!(begun.len(), 6, "{begun:?}");
}

#[test]
fn a_thorough_bubble_settles_a_dispute_with_the_real_clis() {
    let pair = Pair::of_disputes(program(), dir());
    pair::settle_dispute(&pair, "disputed");
}

#[test]
fn notices_reach_each_of_the_real_programs_once() {
    let pair = Pair::of_questions(program(), dir());
    // Five of them are what the models do in turn: answer at length, stay busy, wait.
    for (kind, told) in pair::tell(&pair, 5) {
        assert_eq!((told.once, told.twice), (6, 0), "{kind:?}: {told:?}");
    }
}

#[test]
fn a_story_survives_kills_of_the_tmux_server_and_the_supervisor() {
    let pair = Pair::of_stories(program(), dir());
    let killed = pair::survive(&pair, 5, 1);
    assert!(killed.servers > 0 && killed.supervisors > 0, "{killed:?}");
    assert!(killed.kept > 0 && killed.promised > 0 && killed.acknowledged > 0, "{killed:?}");
    assert_eq!(killed.handovers, 5 * killed.stories, "{killed:?}");
}
