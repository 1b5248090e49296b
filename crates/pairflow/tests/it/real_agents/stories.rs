//! Whole bubbles with the real Claude Code and the real Codex in panes, against the mock model: stories, notices by the
//! dozen, and kills. The same at the sizes of a release: `cargo xtask soak panes`.

use std::path::Path;

use pairflow_testkit::pair::{self, Pair};

const PROGRAM: &str = env!("CARGO_BIN_EXE_pairflow");

fn dir() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn a_whole_bubble_runs_with_the_real_clis_from_the_briefing_to_the_commit_three_times() {
    let pair = Pair::of_stories(PROGRAM, dir());
    pair::live_in_turn(&pair, &["whole-1", "whole-2", "whole-3"].map(str::to_owned));
    let begun = pair.minds().begun();
    assert!(begun.values().all(|times| *times == 1), "no notice twice: {begun:?}");
    assert_eq!(begun.len(), 3 * 6, "{begun:?}");
}

#[test]
fn five_bubbles_whose_ids_begin_alike_run_side_by_side_with_the_real_programs() {
    let pair = Pair::of_stories(PROGRAM, dir());
    let ids: Vec<_> = (1..=5).map(|times| "five".repeat(times)).collect();
    pair::live_together(&pair, &ids);
    let begun = pair.minds().begun();
    assert!(begun.values().all(|times| *times == 1), "no notice twice: {begun:?}");
    assert_eq!(begun.len(), 6 * 6, "{begun:?}");
}

#[test]
fn fifty_notices_reach_each_of_the_real_programs_once() {
    let pair = Pair::of_questions(PROGRAM, dir());
    for (kind, told) in pair::tell(&pair, 50) {
        assert_eq!((told.once, told.twice), (51, 0), "{kind:?}: {told:?}");
    }
}

#[test]
fn stories_survive_kills_of_the_tmux_server_and_the_supervisor() {
    let pair = Pair::of_stories(PROGRAM, dir());
    let killed = pair::survive(&pair, 15, 1);
    assert!(killed.servers > 0 && killed.supervisors > 0, "{killed:?}");
    assert!(killed.kept > 0 && killed.promised > 0 && killed.acknowledged > 0, "{killed:?}");
    assert_eq!(killed.handovers, 5 * killed.stories, "{killed:?}");
}
