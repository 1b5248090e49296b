//! The phrases that several views share: who, how many, how long, how it ended.

use crate::bubble::BubbleState;
use crate::facts::{Certificate, Finding, RowState};
use crate::facts::{Counted, FileChange, Outcome, Receipt};
use crate::findings::Row;
use crate::gates::{TestChange, TestChangeKind};
use crate::ids::Party;
use crate::log::QuestionKind;
use crate::policy::Unmet;
use crate::rules::BubbleKind;
use crate::safe::{safe_line, width};
pub(crate) use crate::text::counted as count;
use crate::time::Timestamp;

/// How many columns an agent's text may take where it has to stay on one line of a page.
const ONE_LINE: usize = 4000;

/// What is said instead of a count-down while no supervisor runs.
pub const UNCOUNTED: &str = "timeouts are paused: no supervisor is running";

/// Returns a criterion of convergence as people read it: without the name of a field, which only programs know.
pub fn criterion(unmet: &Unmet) -> String {
    match unmet {
        Unmet::NoAlternation => "the reviewer role has not alternated yet".to_owned(),
        other => other.to_string(),
    }
}

/// Returns foreign text as one safe line of a page.
pub(crate) fn one_line(text: &str) -> String {
    safe_line(text, ONE_LINE)
}

/// Quotes a text for a shell, if it needs that.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Returns what people call a party.
pub(crate) fn called(party: &Party) -> String {
    match party {
        Party::Orchestrator => "pairflow".to_owned(),
        other => other.to_string(),
    }
}

/// Returns the first line of a task that says something, without the marks of a heading.
pub fn title(task: &str) -> &str {
    let said = task.lines().map(|line| line.trim().trim_start_matches('#').trim());
    said.into_iter().find(|line| !line.is_empty()).unwrap_or_default()
}

/// Returns "2 of 8, 3 of 4 looks" for a round; once a person has granted a fresh budget, what is used of its rounds.
pub(crate) fn spent(round: u32, rounds: u32, most: u32, (had, needed): (u32, Option<u32>)) -> String {
    let looks = looks(had, needed);
    match round == rounds {
        true if rounds > most => format!("{round}, the limit is {most}, {looks}"),
        true => format!("{round} of {most}, {looks}"),
        false => format!("{round}, {rounds} of {most} since you decided, {looks}"),
    }
}

/// Returns "2 of 3 looks"; without a number that is needed, how many there were.
pub(crate) fn looks(had: u32, needed: Option<u32>) -> String {
    match needed {
        Some(needed) if had <= needed => format!("{had} of {}", count(needed, "look")),
        Some(needed) => format!("{}, {needed} needed", count(had, "look")),
        None => count(had, "look"),
    }
}

/// Returns how many looks the work needs; nothing before there is any, or where nobody counts them.
pub(crate) fn looks_needed(state: &BubbleState) -> Option<u32> {
    let needed = || state.policy().looks_needed(state.facts());
    state.evidence.snapshot.as_ref().map(|_| needed()).filter(|needed| *needed > 0)
}

/// Returns what is known of a finding beside its state: "unproven", "upheld by claude".
pub fn asides(row: &Row, kind: BubbleKind) -> Vec<String> {
    let fix = row.fix_evidence().filter(|_| kind != BubbleKind::Document);
    let fix = fix.map(|fix| if fix.shown { "shown" } else { "unproven" }.to_owned());
    let ruling = row.ruling.as_ref().map(|(ruling, by)| match row.state {
        RowState::Dismissed => format!("by {by}"),
        _ => format!("{ruling} by {by}"),
    });
    fix.into_iter().chain(ruling).collect()
}

/// Returns "2 files +10 -1" for so many files, lines added and lines removed.
pub(crate) fn changes((files, added, removed): (u64, u64, u64)) -> String {
    format!("{} +{added} -{removed}", count(files, "file"))
}

/// Returns where the rest of a list of files is that had to be cut; nothing if it is whole.
pub(crate) fn rest(listed: usize, whole: Option<&Counted>) -> Option<String> {
    let (more, list) = whole.map(|whole| (whole.files.saturating_sub(listed as u64), &whole.list))?;
    (more > 0).then(|| format!("and {more} more; the whole list is {list}"))
}

/// Returns "M src/a.rs +10 -1".
pub(crate) fn change(file: &FileChange) -> String {
    let path = one_line(&file.path);
    match (file.added, file.removed) {
        (None, None) => format!("{} {path} (binary)", file.status),
        (added, removed) => format!("{} {path} +{} -{}", file.status, added.unwrap_or(0), removed.unwrap_or(0)),
    }
}

/// Returns "skipped in a_test.py:12: test_login".
pub(crate) fn weakened(change: &TestChange) -> String {
    let kind = match change.kind {
        TestChangeKind::Deleted => "deleted",
        TestChangeKind::Skipped => "skipped",
        TestChangeKind::Weakened => "weakened",
        TestChangeKind::Expectation => "expects something else",
        TestChangeKind::Unread => "not fully read",
    };
    format!("{kind} in {}:{}: {}", one_line(&change.path), change.line, one_line(&change.what))
}

/// Breaks a text between words into lines of so many columns; a word that is wider than a line stays whole here.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a line from the start");
        if line.is_empty() {
            line.push_str(word);
        } else if width(line) + 1 + width(word) > columns {
            lines.push(word.to_owned());
        } else {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines
}

/// Returns lines up to the first that is cut, so that what follows the cut does not pass for the rest.
pub(crate) fn up_to_cut(mut lines: Vec<String>) -> Vec<String> {
    let end = lines.iter().position(|line| line.ends_with('…')).map_or(lines.len(), |at| at + 1);
    lines.truncate(end);
    lines
}

/// Returns "0.4 s".
pub(crate) fn seconds(millis: u64) -> String {
    match millis {
        0..60_000 => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
        _ => span(millis / 1000),
    }
}

/// Returns "4 min 12 s".
pub fn span(secs: u64) -> String {
    match secs {
        0..60 => format!("{secs} s"),
        60..3600 => format!("{} min {} s", secs / 60, secs % 60),
        _ => format!("{} h {} min", secs / 3600, secs % 3600 / 60),
    }
}

/// Returns how long before `now` the time `then` was, in one number: "12 s", "3 min", "5 h" or "2 d".
pub fn age(then: Timestamp, now: Timestamp) -> String {
    let secs = now.millis().saturating_sub(then.millis()).max(0) / 1000;
    match secs {
        0..60 => format!("{secs} s"),
        60..3600 => format!("{} min", secs / 60),
        3600..86_400 => format!("{} h", secs / 3600),
        _ => format!("{} d", secs / 86_400),
    }
}

/// Returns how a check ended, as the end of a sentence: "passed in 0.4 s".
pub(crate) fn ended(receipt: &Receipt) -> String {
    let took = seconds(receipt.duration_ms);
    match &receipt.outcome {
        Outcome::Passed => format!("passed in {took}"),
        Outcome::Failed { timed_out: true, .. } => format!("failed: out of time after {took}"),
        Outcome::Failed { exit: Some(code), .. } => format!("failed with exit code {code} after {took}"),
        Outcome::Failed { exit: None, .. } => format!("failed, ended by a signal after {took}"),
        Outcome::CouldNotCheck { why } => format!("could not be run: {}", one_line(why)),
    }
}

/// Returns "F1 P1 no rollback".
pub(crate) fn claim(finding: &Finding) -> String {
    let id = finding.id.map(|id| format!("{id} ")).unwrap_or_default();
    format!("{id}{} {}", finding.severity, one_line(&finding.title))
}

/// Returns who reviewed clean: "claude and codex", or nothing.
pub(crate) fn reviewers(certificate: &Certificate) -> Option<String> {
    let mut names: Vec<_> = Vec::new();
    for review in &certificate.reviews {
        if !names.contains(&review.agent.as_str()) {
            names.push(review.agent.as_str());
        }
    }
    (!names.is_empty()).then(|| names.join(" and "))
}

/// Returns what people call a kind of question.
pub(crate) fn question_kind(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Question => "question",
        QuestionKind::Watchdog => "silence",
        QuestionKind::AgentEnded => "agent ended",
        QuestionKind::TieBreak => "rounds used up",
        QuestionKind::Reversal => "reversal",
        QuestionKind::Deadlock => "no agreement",
        QuestionKind::Comprehension => "comprehension",
        QuestionKind::CouldNotCheck => "could not check",
        QuestionKind::Failing => "fails again",
        QuestionKind::Baseline => "fails on the base",
        QuestionKind::Differs => "fails in a fresh checkout",
        QuestionKind::Trouble => "trouble",
        QuestionKind::LongTurn => "long turn",
        QuestionKind::Idle => "idle",
        QuestionKind::Undelivered => "not delivered",
        QuestionKind::Permission | QuestionKind::Permit => "permission",
        QuestionKind::Dialog => "dialog",
        QuestionKind::Limit => "usage limit",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_one_number_and_never_negative() {
        let at = Timestamp::from_millis;
        let ages = [(0, "0 s"), (59_999, "59 s"), (60_000, "1 min"), (7_200_000, "2 h"), (172_800_000, "2 d")];
        for (millis, told) in ages {
            assert_eq!(age(at(1_000_000), at(1_000_000 + millis)), told);
        }
        assert_eq!(age(at(5_000), at(1_000)), "0 s", "a clock that was set back");
    }
}
