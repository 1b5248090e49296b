//! Plays a script and compares what came of it with what was expected.

use std::path::Path;

use super::play::Play;

/// Plays a script.
pub fn play(script: &str) -> Play {
    let mut play = Play::new();
    for line in script.lines() {
        play.line(line);
    }
    play
}

/// Plays a script and compares what came of each line with `expected`; runs of spaces count as one.
#[track_caller]
pub fn check(script: &str, expected: &str) {
    let play = play(script);
    assert_eq!(play.refold(), play.state, "the log alone must give the same state");
    let json = serde_json::to_string(&play.state).expect("a state is always writable as JSON");
    assert_eq!(serde_json::from_str(&json).ok(), Some(play.state.clone()), "the state cache must give the same state");
    let wanted: Vec<_> = expected.lines().map(squeeze).filter(|line| !line.is_empty()).collect();
    let got: Vec<_> = play.lines.iter().map(|line| squeeze(line)).collect();
    assert!(
        got == wanted,
        "the script came to something else:\n{}\nin full:\n{}\n",
        diff(&wanted, &got),
        got.join("\n")
    );
}

/// Compares a generated document with the file at `path`; with `UPDATE_DOCS=1` the file is rewritten instead.
#[track_caller]
pub fn compare_document(path: &Path, text: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        return;
    }
    let stored =
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let (wanted, got): (Vec<_>, Vec<_>) =
        (stored.lines().map(str::to_owned).collect(), text.lines().map(str::to_owned).collect());
    let same = stored == text;
    assert!(same, "{} is out of date; rewrite it with UPDATE_DOCS=1:\n{}", path.display(), diff(&wanted, &got));
}

fn squeeze(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Shows the lines that differ, place by place.
fn diff(wanted: &[String], got: &[String]) -> String {
    let length = wanted.len().max(got.len());
    let differing = (0..length).filter(|at| wanted.get(*at) != got.get(*at));
    let show = |at: usize| {
        let of = |lines: &[String]| lines.get(at).cloned().unwrap_or_else(|| "(nothing)".to_owned());
        format!("  line {}\n    expected: {}\n    came:     {}", at + 1, of(wanted), of(got))
    };
    differing.take(20).map(show).collect::<Vec<_>>().join("\n")
}
