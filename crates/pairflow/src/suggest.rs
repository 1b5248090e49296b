//! Finds what was probably meant by a mistyped word.

/// Returns the candidate that is nearest to `word`, if it is near enough to be meant by it.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (word.len() > 2 && candidate.starts_with(word), effort(word, candidate), candidate))
        .filter(|(begins, effort, _)| *begins || *effort <= limit)
        // A name that is only half typed is no mistake.
        .min_by_key(|(begins, effort, _)| (!begins, *effort))
        .map(|(_, _, candidate)| candidate)
}

/// Counts the insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
fn effort(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let differs = usize::from(from[i - 1] != to[j - 1]);
            let mut best = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + differs);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                best = best.min(before_last[j - 2] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERBS: [&str; 5] = ["status", "start", "stop", "pass", "request-rework"];

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        let cases = [("staus", "status"), ("strat", "start"), ("psas", "pass"), ("request-rewrok", "request-rework")];
        for (typed, meant) in cases {
            assert_eq!(nearest(typed, VERBS), Some(meant), "{typed}");
        }
        assert_eq!(nearest("request", VERBS), Some("request-rework"));
        assert_eq!(nearest("stat", VERBS), Some("status"), "a beginning beats one letter too few");
    }

    #[test]
    fn nothing_is_suggested_for_something_else_altogether() {
        assert_eq!(nearest("frobnicate", VERBS), None);
        assert_eq!(nearest("", VERBS), None);
    }
}
