//! A note that something is left to do names an issue, or is not written.

use super::tree::{File, Problem, Tree};

/// The words, put together here so that this file does not report itself.
const WORDS: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];

/// Reports notes that no issue backs.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    tree.files.iter().filter(|file| file.path.ends_with(".rs")).flat_map(notes).collect()
}

fn notes(file: &File) -> impl Iterator<Item = Problem> {
    file.text.lines().enumerate().filter_map(|(index, line)| {
        let word = WORDS.iter().find(|word| has_word(line, word))?;
        let sentence = format!("{word} without an issue: write `{word}(#12)`, or do it");
        (!names_issue(line)).then(|| file.problem(index + 1, sentence))
    })
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word)
}

fn names_issue(line: &str) -> bool {
    line.split('#').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_without_an_issue_number_is_reported() {
        let text =
            format!("//! A.\n// {0} later\n// {0}(#12): later\n// the {0}S list\n// {1}: #x\n", WORDS[0], WORDS[1]);
        let lines: Vec<usize> = check(&Tree::of(&[("crates/a/src/b.rs", &text)])).iter().map(|p| p.line).collect();
        assert_eq!(lines, [2, 5]);
    }
}
