//! How often weakened tests are noticed, and how often honest changes are reported.
//!
//! The corpus is in `test_changes/*.txt`. A case has a title after `##`, a label, the reason for it, and files after `@@`
//! with every line of before (` ` and `-`) and after (` ` and `+`). A label is `honest` or the kind of report that a
//! reviewer should see. Cases are written from how people change tests, not from what the product can detect.

use std::fmt::Write as _;

use pairflow_core::gates::weakened;
use similar::TextDiff;

const CORPUS: [(&str, &str); 4] = [
    ("rust", include_str!("test_changes/rust.txt")),
    ("js", include_str!("test_changes/js.txt")),
    ("python", include_str!("test_changes/python.txt")),
    ("go", include_str!("test_changes/go.txt")),
];

struct Case<'a> {
    title: &'a str,
    label: &'a str,
    diff: String,
}

fn case(text: &str) -> Case<'_> {
    let (head, files) = text.split_once("\n@@ ").unwrap();
    let (title, head) = head.split_once('\n').unwrap();
    let (label, why) = head.split_once('\n').unwrap();
    assert!(why.starts_with("why: "), "{title}");
    let label = label.strip_prefix("label: ").unwrap();
    Case { title, label, diff: files.split("\n@@ ").map(file_diff).collect() }
}

/// Makes the diff of one file from its annotated lines, as `git diff -U3` prints it.
fn file_diff(file: &str) -> String {
    let (path, lines) = file.split_once('\n').unwrap();
    let side = |mark: char| -> String {
        let kept = lines.lines().filter(|line| line.starts_with([' ', mark]));
        kept.map(|line| format!("{}\n", &line[1..])).collect()
    };
    let (before, after) = (side('-'), side('+'));
    let name = |text: &str, prefix: &str| if text.is_empty() { "/dev/null".into() } else { format!("{prefix}/{path}") };
    let mut diff = format!("diff --git a/{path} b/{path}\n--- {}\n+++ {}\n", name(&before, "a"), name(&after, "b"));
    let changes = TextDiff::from_lines(&before, &after);
    for hunk in changes.unified_diff().context_radius(3).iter_hunks() {
        let above = before.lines().take(hunk.ops()[0].old_range().start);
        let heading = above.filter(|line| line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')).last();
        let text = hunk.to_string();
        let (header, body) = text.split_once('\n').unwrap();
        write!(diff, "{header} {}\n{body}", heading.unwrap_or_default()).unwrap();
    }
    diff
}

#[derive(Default)]
struct Score {
    found: usize,
    missed: usize,
    false_alarms: usize,
    right_kind: usize,
}

impl Score {
    /// Returns the share of reported cases that deserve it, in percent.
    fn precision(&self) -> usize {
        self.found * 100 / (self.found + self.false_alarms)
    }

    /// Returns the share of weakened cases that are reported, in percent.
    fn recall(&self) -> usize {
        self.found * 100 / (self.found + self.missed)
    }
}

#[test]
fn weakened_tests_are_noticed_and_honest_changes_are_not_reported() {
    let mut score = Score::default();
    let mut wrong = String::new();
    let mut count = 0;
    for (language, text) in CORPUS {
        for case in text.split("\n## ").map(|text| case(text.trim_start_matches("## "))) {
            count += 1;
            let reports = weakened(&case.diff);
            let kinds: Vec<String> = reports
                .iter()
                .map(|one| serde_json::to_value(one.kind).unwrap().as_str().unwrap().to_owned())
                .collect();
            let said: Vec<_> = reports.iter().zip(&kinds).map(|(one, kind)| format!("{kind} {}", one.what)).collect();
            match (case.label == "honest", reports.is_empty()) {
                (true, true) => {}
                (true, false) => {
                    score.false_alarms += 1;
                    writeln!(wrong, "{language}, false alarm: {}: {said:?}", case.title).unwrap();
                }
                (false, true) => {
                    score.missed += 1;
                    writeln!(wrong, "{language}, missed ({}): {}", case.label, case.title).unwrap();
                }
                (false, false) => {
                    score.found += 1;
                    let right = kinds.iter().any(|kind| kind == case.label);
                    score.right_kind += usize::from(right);
                    if !right {
                        writeln!(wrong, "{language}, other kind ({}): {}: {said:?}", case.label, case.title).unwrap();
                    }
                }
            }
        }
    }
    let figures = format!(
        "{count} cases, precision {} %, recall {} %, right kind {} of {}\n{wrong}",
        score.precision(),
        score.recall(),
        score.right_kind,
        score.found
    );
    assert!(count >= 60, "{figures}");
    assert!(score.precision() >= 98, "{figures}");
    assert!(score.recall() >= 94, "{figures}");
    assert!(score.right_kind >= 49, "{figures}");
}
