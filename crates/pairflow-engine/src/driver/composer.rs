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
    /// The hints that stand there while nothing is typed, for a terminal on which they are not faint.
    #[serde(default)]
    pub hints: Vec<String>,
}

/// What a pane shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PaneScreen {
    /// The visible text.
    pub text: String,
    /// The same lines without what is faint: a hint that stands where nothing was typed yet.
    typed: String,
    /// Whether the terminal's cursor is shown.
    pub cursor: bool,
}

impl PaneScreen {
    /// Reads what a terminal shows, with the escape sequences of its colours and weights.
    pub fn read(styled: &str, cursor: bool) -> Self {
        let lines: Vec<Vec<Cell>> = cells(styled);
        let shown = |line: &Vec<Cell>| line.iter().map(|cell| cell.c).collect::<String>().trim_end().to_owned();
        let typed = |line: &Vec<Cell>| {
            // A program that draws its own cursor draws it over the first letter of a hint.
            let hints =
                |at: usize| line[at].faint || (line[at].inverse && line.get(at + 1).is_some_and(|next| next.faint));
            let typed = (0..line.len()).map(|at| if hints(at) { ' ' } else { line[at].c }).collect::<String>();
            typed.trim_end().to_owned()
        };
        let all = |each: &dyn Fn(&Vec<Cell>) -> String| lines.iter().map(each).collect::<Vec<_>>().join("\n");
        Self { text: all(&shown).trim_end().to_owned(), typed: all(&typed), cursor }
    }
}

/// One character of a screen, and how it is drawn.
struct Cell {
    c: char,
    faint: bool,
    inverse: bool,
}

/// Takes a screen apart. Of all escape sequences only those of weights matter; tmux writes no others but links.
fn cells(styled: &str) -> Vec<Vec<Cell>> {
    let (mut lines, mut line) = (Vec::new(), Vec::new());
    let (mut faint, mut inverse) = (false, false);
    let mut rest = styled.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => match rest.next() {
                Some('[') => {
                    let sequence: String = rest.by_ref().take_while(|c| !('@'..='~').contains(c)).collect();
                    (faint, inverse) = weights(&sequence, (faint, inverse));
                }
                Some(']') => skip_link(&mut rest),
                _ => {}
            },
            '\n' => lines.push(std::mem::take(&mut line)),
            c if c.is_control() => {}
            c => line.push(Cell { c, faint, inverse }),
        }
    }
    lines.push(line);
    lines
}

/// A link ends with a bell, or with a backslash after another escape.
fn skip_link(rest: &mut std::str::Chars<'_>) {
    while let Some(c) = rest.next() {
        if c == '\u{7}' || (c == '\u{1b}' && rest.next() == Some('\\')) {
            return;
        }
    }
}

/// What follows from the numbers of a sequence for what is faint, and what is inverse.
fn weights(numbers: &str, mut now: (bool, bool)) -> (bool, bool) {
    let mut numbers = numbers.split(';');
    while let Some(number) = numbers.next() {
        match number {
            "" | "0" => now = (false, false),
            "2" => now.0 = true,
            "22" => now.0 = false,
            "7" => now.1 = true,
            "27" => now.1 = false,
            // The numbers of a colour mean nothing else.
            "38" | "48" | "58" => {
                let more = if numbers.next() == Some("5") { 1 } else { 3 };
                numbers.by_ref().take(more).for_each(drop);
            }
            _ => {}
        }
    }
    now
}

/// What the last line below a prompt between rules has.
const FEET: [&str; 3] = ["⏵⏵", "for shortcuts", "esc to interrupt"];

impl Composer {
    /// Returns what is typed where `screen` takes the next prompt; nothing if it takes none. Programs show earlier
    /// prompts, and the choices of a dialog, with the same mark: it is the last one that counts, and what stands around it.
    pub fn input(&self, screen: &PaneScreen) -> Option<String> {
        let lines: Vec<&str> = screen.text.lines().collect();
        let lines = &lines[..lines.len() - self.status_line(&lines)];
        let at = lines.iter().rposition(|line| self.is_marked(line))?;
        let typed = self.after_mark(lines[at]).is_some_and(|text| !is_choice(text));
        let ruled = !self.ruled || at.checked_sub(1).is_some_and(|above| is_rule(lines[above]));
        // Below a second rule stands whatever a person has their program show there.
        let below = lines[at + 1..].iter().take_while(|line| !(self.ruled && is_rule(line)));
        let alone = below.into_iter().all(|line| line.is_empty() || line.starts_with(char::is_whitespace));
        let takes = typed && ruled && alone && (screen.cursor || !self.cursor);
        takes.then(|| self.typed(&screen.typed.lines().collect::<Vec<_>>(), (at, lines.len())))
    }

    /// What is typed in the lines from the one with the mark on. Without rules, what stands below the last empty line is
    /// the program's own.
    fn typed(&self, lines: &[&str], (at, end): (usize, usize)) -> String {
        let lines = &lines[at..end.min(lines.len())];
        let below = &lines[1..];
        let end = match self.ruled {
            true => below.iter().position(|line| is_rule(line)),
            false => below.iter().rposition(|line| line.trim().is_empty()),
        };
        let first = self.after_mark(lines[0]).unwrap_or_default();
        let all = std::iter::once(first).chain(below[..end.unwrap_or(below.len())].iter().copied());
        let typed = all.map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
        if self.hints.contains(&typed) { String::new() } else { typed }
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
        composer.input(&PaneScreen::read(text, cursor)).is_some()
    }

    fn typed(composer: &Composer, styled: &str) -> String {
        composer.input(&PaneScreen::read(styled, true)).unwrap_or_else(|| panic!("no prompt: {styled}"))
    }

    #[test]
    fn hints_are_not_typed_and_everything_else_is() {
        for (screen, text) in [
            (
                "\u{1b}[1m›\u{1b}[0m \u{1b}[2mAsk Codex to do anything\n\u{1b}[0m\n  model · /work\n  ? for shortcuts",
                "",
            ),
            ("›\n\n  model · /work", ""),
            ("› x\n\n  model · /work", "x"),
            ("› \u{1b}[38;5;2m/clear\u{1b}[39m \n\n  model · /work", "/clear"),
            ("› \u{1b}[38;2;2;2;2m/mo\n\n  model", "/mo"),
            ("›\n  second\n\n  model", "second"),
            ("›\n\n  third\n\n  model", "third"),
            ("› [pairflow 7] Round 1: you\n  are\n\n  model", "[pairflow 7] Round 1: you\nare"),
            ("›", ""),
            ("› Ask me\n\n  model", ""),
            ("› Ask me more\n\n  model", "Ask me more"),
        ] {
            assert_eq!(typed(&bare(), screen), text, "{screen:?}");
        }
        for (screen, text) in [
            ("───────\n❯\u{a0}\u{1b}[7m \u{1b}[0m\n───────\n  ⏵⏵ accept edits on", ""),
            ("───────\n❯ \u{1b}[7mP\u{1b}[0;2mress up to edit\u{1b}[0m\n───────", ""),
            ("───────\n❯ \u{1b}[7mx\u{1b}[0m   \n───────", "x"),
            ("───────\n❯ /mo\u{1b}[7m \u{1b}[0m\u{1b}[2mdel\u{1b}[0m\n───────\n  ⏵⏵", "/mo"),
            ("───────\n❯\n  second\u{1b}[7m \u{1b}[0m\n───────", "second"),
            ("───────\n❯ 154 155\n  163", "154 155\n163"),
            ("───────\n❯\n───────\nanything\n  else", ""),
        ] {
            assert_eq!(typed(&between_rules(), screen), text, "{screen:?}");
        }
    }

    fn bare() -> Composer {
        let hints = vec!["Ask me".to_owned()];
        Composer { marks: vec!["›".to_owned()], ruled: false, cursor: true, hints }
    }

    fn between_rules() -> Composer {
        Composer { marks: vec!["❯".to_owned(), ">".to_owned()], ruled: true, cursor: false, hints: Vec::new() }
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
