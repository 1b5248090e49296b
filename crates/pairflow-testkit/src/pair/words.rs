//! What is said in a story. It carries the name of the bubble, so that each story shows that its own words arrived.

use crate::model::Kind;

/// What the second reviewer asks the person.
pub(super) const QUESTION: &str = "Is larger better?";

/// What is said in the story of one bubble.
pub(super) struct Words {
    /// The work that is wanted.
    pub(super) task: String,
    /// What has to be true of it.
    pub(super) criterion: String,
    /// The finding of the first review.
    pub(super) finding: String,
    /// What the person answers.
    pub(super) answer: String,
    /// By what the answer is known, wherever it is quoted.
    pub(super) answered: String,
    /// Who hands over in which round, and with which words.
    pub(super) handovers: [(&'static str, u64, String); 5],
}

impl Words {
    /// Returns what is said in the bubble `id`. After each name something follows, because one may begin with another.
    pub(super) fn of(id: &str) -> Self {
        let (criterion, answered) = (format!("it rolls back in {id}."), format!("besser als {id}:"));
        Self {
            task: format!("Write work.txt\n\n## Acceptance criteria\n- {criterion}"),
            criterion,
            finding: format!("no rollback in {id} when the write fails: 50% of \"rows\" stay, größer 漢字"),
            answer: format!("Ja, größer ist {answered} $HOME, #{{pane_id}} and `id` stay as they are"),
            answered,
            handovers: [
                ("codex", 1, format!("first cut of {id}.")),
                ("claude", 1, format!("looked at {id}.")),
                ("codex", 2, format!("rolled back in {id}.")),
                ("claude", 2, format!("all is well with {id}.")),
                ("codex", 2, format!("agreed on {id}.")),
            ],
        }
    }

    /// Returns what each of the agents is told, word for word: by the person, and by the other one.
    pub(super) fn told(&self) -> [(Kind, String); 7] {
        let [first, looked, fixed, ..] = self.handovers.each_ref().map(|(_, _, summary)| summary.clone());
        let note = format!("{QUESTION} -> {}", self.answer);
        [
            (Kind::Codex, self.criterion.clone()),
            (Kind::Codex, looked),
            (Kind::Codex, self.finding.clone()),
            (Kind::Codex, note),
            (Kind::Claude, self.criterion.clone()),
            (Kind::Claude, first),
            (Kind::Claude, fixed),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_one_story_are_in_no_other() {
        let ids = ["five", "fivefive", "fivefivefive", "run-1", "run-10", "run-11", "1", "11"];
        let others = |id: &str| ids.into_iter().filter(|other| *other != id).collect::<Vec<_>>();
        for (id, other) in ids.into_iter().flat_map(|id| others(id).into_iter().map(move |other| (id, other))) {
            let (own, foreign) = (Words::of(id), Words::of(other));
            assert!(!foreign.answer.contains(&own.answered), "{id} and {other}");
            for (_, text) in own.told() {
                assert!(!foreign.told().iter().any(|(_, words)| words.contains(&text)), "{text} is in that of {other}");
            }
        }
    }
}
