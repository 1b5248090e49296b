//! The commit message that is suggested: the task's title, and what the implementers said last in each round.

use crate::bubble::BubbleState;
use crate::facts::Seat;
use crate::progress::HandoverSummary;
use crate::safe::safe_line;
use crate::view::words::{title, wrapped};

/// How many columns a line takes.
const COLUMNS: usize = 72;
/// How many columns of a summary are kept, all of its lines together.
const SUMMARY: usize = 6 * COLUMNS;
/// How many summaries there are at most, the newest.
const SUMMARIES: usize = 8;

/// Suggests a commit message: what was asked for, then what was done.
pub fn commit_message(state: &BubbleState) -> String {
    let subject = match title(&state.about.task) {
        "" => safe_line(&format!("Work on {}", state.rules.bubble_branch), COLUMNS),
        title => safe_line(title, COLUMNS),
    };
    let said = said(state);
    let body: Vec<String> = match said.as_slice() {
        [] => return subject,
        [one] => wrapped(one, COLUMNS),
        many => many.iter().flat_map(|one| item(one)).collect(),
    };
    format!("{subject}\n\n{}", body.join("\n"))
}

/// What the implementers said last in each round, each in one line; the same words are not repeated.
fn said(state: &BubbleState) -> Vec<String> {
    let mut last: Vec<&HandoverSummary> = Vec::new();
    for said in state.gate.summaries.iter().filter(|said| said.seat == Seat::Implementer) {
        if last.last().is_some_and(|before| before.round == said.round) {
            last.pop();
        }
        last.push(said);
    }
    let mut lines: Vec<String> = last.iter().map(|said| safe_line(&said.summary, SUMMARY)).collect();
    lines.retain(|line| !line.is_empty());
    lines.dedup();
    lines.split_off(lines.len().saturating_sub(SUMMARIES))
}

fn item(text: &str) -> Vec<String> {
    let lines = wrapped(text, COLUMNS - 2).into_iter().enumerate();
    lines.map(|(nth, line)| if nth == 0 { format!("- {line}") } else { format!("  {line}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::safe::width;

    fn state(task: &str, said: &[(u32, Seat, &str)]) -> BubbleState {
        let mut state = BubbleState::new("b1".parse().expect("the name is valid"));
        state.about.task = task.to_owned();
        state.rules.bubble_branch = "bubble/b1".to_owned();
        let agent = || "codex".parse().expect("the name is valid");
        state.gate.summaries.extend(said.iter().map(|(round, seat, summary)| HandoverSummary {
            round: *round,
            seat: *seat,
            agent: agent(),
            summary: (*summary).to_owned(),
        }));
        state
    }

    #[test]
    fn a_round_is_told_once_by_its_last_implementer() {
        let said = [
            (1, Seat::Implementer, "first try"),
            (1, Seat::Reviewer, "reviewed"),
            (2, Seat::Implementer, "second try"),
            (2, Seat::Implementer, "second try,\nwith a test"),
            (3, Seat::Implementer, "second try, with a test"),
        ];
        assert_eq!(
            commit_message(&state("# Fix it\n\nAll of it.", &said)),
            "Fix it\n\n- first try\n- second try, with a test"
        );
        assert_eq!(commit_message(&state("Fix it", &said[..1])), "Fix it\n\nfirst try");
    }

    #[test]
    fn lines_are_wrapped_and_there_are_not_too_many() {
        let long = "words and more words ".repeat(400);
        let rounds: Vec<_> = (1..=30).map(|round| (round, long.clone() + &round.to_string())).collect();
        let said: Vec<_> = rounds.iter().map(|(round, text)| (*round, Seat::Implementer, text.as_str())).collect();
        for said in [&said[..1], &said[..]] {
            let message = commit_message(&state(&"a long task ".repeat(50), said));
            assert!(message.lines().all(|line| width(line) <= COLUMNS), "{message}");
            assert!(message.lines().count() <= 2 + SUMMARIES * 7, "{message}");
        }
    }

    #[test]
    fn without_a_title_the_branch_is_named() {
        assert_eq!(commit_message(&state(" \n#\n", &[])), "Work on bubble/b1");
    }
}
