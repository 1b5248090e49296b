//! Lines made of pieces with a tone each, measured and cut to exact widths.

use crate::safe::{safe_line, width};
use crate::view::words;

/// How a text is meant. Which colour that is, if any, is decided where it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Ordinary text.
    #[default]
    Plain,
    /// Stands out.
    Strong,
    /// Less important than the text around it.
    Faint,
    /// Something is as it should be.
    Good,
    /// Someone should look.
    Warn,
    /// Something is wrong.
    Bad,
}

/// One line of a view. Its texts are safe to print.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StyledLine {
    /// The pieces, in order.
    pub pieces: Vec<(Tone, String)>,
}

impl StyledLine {
    /// Makes a line of one piece.
    pub(super) fn of(tone: Tone, text: impl AsRef<str>) -> Self {
        Self::default().add(tone, text)
    }

    /// Adds a piece; foreign text is cleaned here.
    pub(super) fn add(mut self, tone: Tone, text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        // Blanks at the ends are ours: they keep pieces apart.
        let (begin, end) = (text.len() - text.trim_start_matches(' ').len(), text.trim_end_matches(' ').len());
        let inner = safe_line(text, usize::MAX);
        let blanks = |count: usize| " ".repeat(count);
        let clean = match inner.is_empty() {
            true => blanks(text.len().min(begin)),
            false => format!("{}{inner}{}", blanks(begin), blanks(text.len() - end)),
        };
        self.pieces.push((tone, clean));
        self
    }

    /// Adds another line behind this one.
    pub(super) fn join(mut self, other: Self) -> Self {
        self.pieces.extend(other.pieces);
        self
    }

    /// Returns how many columns it takes.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| width(text)).sum()
    }

    /// Returns the line without how it is meant.
    pub fn text(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Cuts what does not fit into `columns`.
    pub(super) fn cut(self, columns: usize) -> Self {
        if self.width() <= columns {
            return self;
        }
        let mut left = columns;
        let mut kept = Vec::new();
        let last = self.pieces.len().saturating_sub(1);
        for (at, (tone, text)) in self.pieces.into_iter().enumerate() {
            let own = width(&text);
            // A piece that would fill the line to its end leaves no room for the mark that says that more follows.
            if own < left || (own == left && at == last) {
                left -= own;
                kept.push((tone, text));
                continue;
            }
            kept.push((tone, clipped(&text, left)));
            break;
        }
        Self { pieces: kept }
    }

    /// Cuts or fills it to exactly `columns`.
    pub(super) fn pad(self, columns: usize) -> Self {
        let mut line = self.cut(columns);
        let missing = columns.saturating_sub(line.width());
        if missing > 0 {
            line.pieces.push((Tone::Plain, " ".repeat(missing)));
        }
        line
    }
}

/// The beginning of a text with a mark that there is more, in at most `columns`.
fn clipped(text: &str, columns: usize) -> String {
    let (mut kept, mut used) = (String::new(), 0);
    for c in text.chars() {
        used += width(c.encode_utf8(&mut [0; 4]));
        if used >= columns {
            break;
        }
        kept.push(c);
    }
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// Breaks a text between words into lines of at most `columns`; what does not fit into `most` lines is cut.
pub(super) fn wrapped(text: &str, columns: usize, most: usize) -> Vec<String> {
    let mut lines = words::wrapped(&safe_line(text, usize::MAX), columns);
    if lines.len() > most {
        let rest = lines.split_off(most.saturating_sub(1)).join(" ");
        lines.push(rest);
    }
    lines.into_iter().map(|line| safe_line(&line, columns)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_to_its_columns_whatever_the_characters() {
        let line = || StyledLine::of(Tone::Strong, "日本語 ").add(Tone::Bad, "abc\u{1b}[31mdef");
        assert_eq!((line().text().as_str(), line().width()), ("日本語 abcdef", 13));
        assert_eq!(line().cut(13).text(), "日本語 abcdef");
        assert_eq!(line().cut(12).text(), "日本語 abcd…");
        assert_eq!(line().cut(7).text(), "日本語…");
        assert_eq!(line().cut(6).text(), "日本…");
        assert_eq!(line().cut(1).text(), "…");
        assert_eq!(line().cut(0).text(), "");
        for columns in 0..20 {
            assert_eq!(line().pad(columns).width(), columns);
        }
    }

    #[test]
    fn blanks_at_the_ends_stay_and_foreign_ones_inside_are_folded() {
        assert_eq!(StyledLine::of(Tone::Plain, "  a \n\t b  ").text(), "  a b  ");
        assert_eq!(StyledLine::of(Tone::Plain, "   ").text(), "   ");
        assert_eq!(StyledLine::of(Tone::Plain, "\u{202e}").text(), "");
    }

    #[test]
    fn texts_are_wrapped_between_words() {
        assert_eq!(wrapped("one two three four", 9, 9), ["one two", "three", "four"]);
        assert_eq!(wrapped("one two three four", 9, 2), ["one two", "three fo…"]);
        assert_eq!(wrapped("abcdefghij", 4, 3), ["abc…"]);
        assert_eq!(wrapped("", 4, 3), [""]);
    }
}
