//! The last lines of an output, as harmless text: what is shown of it in a log, a package or a prompt.

use std::iter::Peekable;
use std::str::Chars;

/// Returns at most the last `lines` lines and `chars` characters of `output`, without escape sequences and
/// control characters.
pub fn tail(output: &[u8], lines: usize, chars: usize) -> String {
    // Escape sequences may be longer than what they colour, hence the generous window.
    let window = &output[output.len().saturating_sub(chars.saturating_mul(16))..];
    let text = plain(&String::from_utf8_lossy(window));
    let kept: Vec<&str> = text.trim_end().lines().rev().take(lines).collect();
    let joined = kept.into_iter().rev().collect::<Vec<_>>().join("\n");
    let surplus = joined.chars().count().saturating_sub(chars);
    joined.chars().skip(surplus).collect()
}

fn plain(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_to_final(&mut rest),
            '\n' | '\t' => kept.push(c),
            c if c.is_control() || hides(c) => {}
            c => kept.push(c),
        }
    }
    kept
}

fn skip_escape(rest: &mut Peekable<Chars<'_>>) {
    match rest.next() {
        Some('[') => skip_to_final(rest),
        Some(']' | 'P' | 'X' | '^' | '_') => skip_string(rest),
        // Escapes with intermediate bytes, such as the choice of a character set, end with one more character.
        Some('\u{20}'..='\u{2f}') => {
            rest.next();
        }
        _ => {}
    }
}

fn skip_to_final(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|c| matches!(c, '\u{20}'..='\u{3f}')).is_some() {}
    rest.next_if(|c| matches!(c, '\u{40}'..='\u{7e}'));
}

fn skip_string(rest: &mut Peekable<Chars<'_>>) {
    // A string that is never closed must not swallow what follows: it ends with its line.
    while let Some(c) = rest.next_if(|c| *c != '\n') {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                rest.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

/// Whether `c` reorders or hides the text around it.
fn hides(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_kept() {
        let output = (1..=100).map(|n| format!("line {n}\n")).collect::<String>();
        assert_eq!(tail(output.as_bytes(), 2, 2000), "line 99\nline 100");
    }

    #[test]
    fn a_single_endless_line_is_cut_to_its_last_characters() {
        let output = format!("{}end", "ä".repeat(100_000));
        let kept = tail(output.as_bytes(), 20, 2000);
        assert_eq!(kept.chars().count(), 2000);
        assert!(kept.ends_with("ääend"));
    }

    #[test]
    fn escape_sequences_and_control_characters_vanish() {
        let nasty = "\u{1b}[31mred\u{1b}[0m \u{1b}]52;c;aGk=\u{7}\u{1b}]8;;http://x\u{1b}\\link\u{8}\u{0}\u{9b}2J\u{202e}x\r\n\u{1b}(Bok\tend";
        assert_eq!(tail(nasty.as_bytes(), 20, 2000), "red linkx\nok\tend");
    }

    #[test]
    fn an_unclosed_sequence_does_not_swallow_the_next_line() {
        assert_eq!(tail(b"a\x1b]0;title\nFAILED", 20, 2000), "a\nFAILED");
        assert_eq!(tail(b"\xff\xfe", 20, 2000), "\u{fffd}\u{fffd}");
        assert_eq!(tail(b"", 20, 2000), "");
    }
}
