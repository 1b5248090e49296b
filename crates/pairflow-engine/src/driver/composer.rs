//! How a program's screen shows that the next line goes to its model: the only place where anything is ever typed.
//!
//! What does not look like it is not it. A dialog that nobody has heard of looks like anything else.

use serde::{Deserialize, Serialize};

/// The part of a screen in which a program takes its next prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Composer {
    /// What its first line begins with, in the very first column; one of them.
    pub marks: Vec<String>,
    /// Whether a rule stands right above it.
    pub ruled: bool,
    /// Whether the terminal's cursor is shown in it, and hidden while the program lets a person choose.
    pub cursor: bool,
}

/// What a pane shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Screen {
    /// The visible text.
    pub text: String,
    /// Whether the terminal's cursor is shown.
    pub cursor: bool,
}

/// What the last line below a prompt between rules has.
const FEET: [&str; 3] = ["⏵⏵", "for shortcuts", "esc to interrupt"];

impl Composer {
    /// Whether a prompt may be typed on `screen`. Programs show earlier prompts, and the choices of a dialog, with the
    /// same mark: it is the last one that counts, and what stands around it.
    pub fn is_on(&self, screen: &Screen) -> bool {
        let lines: Vec<&str> = screen.text.lines().collect();
        let lines = &lines[..lines.len() - self.status_line(&lines)];
        let Some(at) = lines.iter().rposition(|line| self.is_marked(line)) else { return false };
        let typed = self.after_mark(lines[at]).is_some_and(|text| !is_choice(text));
        let ruled = !self.ruled || at.checked_sub(1).is_some_and(|above| is_rule(lines[above]));
        // Below a second rule stands whatever a person has their program show there.
        let below = lines[at + 1..].iter().take_while(|line| !(self.ruled && is_rule(line)));
        let alone = below.into_iter().all(|line| line.is_empty() || line.starts_with(char::is_whitespace));
        typed && ruled && alone && (screen.cursor || !self.cursor)
    }

    /// How many lines at the end of the screen are what a person has their program show below a second rule, if that
    /// looks like a prompt. Whatever stands below it and is not the program's own foot makes it a menu.
    fn status_line(&self, lines: &[&str]) -> usize {
        let Some(rule) = lines.iter().rposition(|line| self.ruled && is_rule(line)) else { return 0 };
        let mut below = lines[rule + 1..].iter().filter(|line| !line.trim().is_empty());
        let text =
            |line: &&&str| self.after_mark(line.trim_start_matches(is_edge)).is_some_and(|text| !is_choice(text));
        let status = below.next().filter(|line| line.starts_with(' ')).filter(text);
        let foot = |line: &&str| FEET.iter().any(|words| line.contains(words));
        if status.is_some() && below.all(foot) { lines.len() - rule - 1 } else { 0 }
    }

    fn is_marked(&self, line: &str) -> bool {
        self.after_mark(line.trim_start_matches(is_edge)).is_some()
    }

    /// What follows the mark in a line that begins with one.
    fn after_mark<'a>(&self, line: &'a str) -> Option<&'a str> {
        let text = self.marks.iter().find_map(|mark| line.strip_prefix(mark.as_str()))?;
        (text.is_empty() || text.starts_with(char::is_whitespace)).then_some(text)
    }
}

/// Whether a character may stand before the mark of a line: a blank, or the side of a box.
fn is_edge(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{2500}'..='\u{257f}')
}

/// Whether a text is one of several to choose from: `1. Yes`.
fn is_choice(text: &str) -> bool {
    let text = text.trim_start();
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < text.len() && rest.starts_with(['.', ')'])
}

fn is_rule(line: &str) -> bool {
    line.starts_with("───")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shows(composer: &Composer, text: &str, cursor: bool) -> bool {
        composer.is_on(&Screen { text: text.to_owned(), cursor })
    }

    fn bare() -> Composer {
        Composer { marks: vec!["›".to_owned()], ruled: false, cursor: true }
    }

    fn between_rules() -> Composer {
        Composer { marks: vec!["❯".to_owned(), ">".to_owned()], ruled: true, cursor: false }
    }

    #[test]
    fn it_is_the_last_mark_that_counts_in_the_first_column() {
        for there in ["›", "› fix it", "old\n› one\n• two\n› three\n  more of it\n\n  and more\n\n  a foot"] {
            assert!(shows(&bare(), there, true), "{there}");
            assert!(!shows(&bare(), there, false), "the cursor is hidden while a person is to choose: {there}");
        }
        for not in [
            "",
            "words",
            "›fix it",
            "› 1. Yes",
            "› 12) Yes",
            " › fix it",
            "│ › fix it",
            "› fix it\n• at work",
            "› fix it\n  Which?\n  › Red\n    Blue",
        ] {
            assert!(!shows(&bare(), not, true), "{not}");
        }
    }

    #[test]
    fn what_stands_between_rules_needs_the_upper_one_and_may_be_cut_off() {
        for there in [
            "───────\n❯",
            "❯ old\n● done\n─── name ───\n> new\n  more of it",
            "───────\n❯ new\n───────\nanything\n  else",
            "───────\n❯ new\n───────\n  ❯ main  3 files\n  ⏵⏵ accept edits on",
        ] {
            assert!(shows(&between_rules(), there, false), "{there}");
        }
        for not in [
            "❯",
            "❯ old\n● done",
            "───────\n Which?\n❯ Red\n  Blue",
            "───────\n❯ new\nWhich?",
            "───────\n❯ new\n───────\n Which?\n ❯ Red",
            "───────\n❯ 1. Red\n───────",
            "───────\n❯ new\n───────\n ❯ 1. Red\n   2. Blue",
            "───────\n❯ new\n───────\n ❯ Red\n   Blue",
        ] {
            assert!(!shows(&between_rules(), not, false), "{not}");
        }
    }
}
