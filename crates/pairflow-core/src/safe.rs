//! Makes foreign text fit to be shown on a terminal.
//!
//! Whatever an agent, a file or a log says may contain sequences that move the cursor, retitle the window, reorder
//! the line or hide part of it. Everything that is printed goes through this room; nothing that could steer a terminal
//! or mislead a reader's eye comes out of it.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

use unicode_width::UnicodeWidthChar;

/// Returns `text` without anything that steers a terminal: only visible characters, line feeds and tabs are left.
///
/// Removed are control characters (7-bit and 8-bit), escape sequences with their arguments, carriage returns, and
/// characters that reorder or have no width. An escape string without an end loses its introducer only, so that it
/// cannot hide what follows.
pub fn safe(text: &str) -> Cow<'_, str> {
    if !text.chars().any(steers) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut rest),
            '\u{2028}' | '\u{2029}' => clean.push('\n'),
            c if steers(c) => {}
            c => clean.push(c),
        }
    }
    Cow::Owned(clean)
}

/// Returns a change as it is to be reviewed: whatever steers a terminal, reorders a line or has no width is named where
/// it stands, such as `^[` and `<U+202E>`. A carriage return at the end of a line is left out.
pub fn revealed(text: &str) -> Cow<'_, str> {
    if !text.chars().any(steers) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\r' if rest.peek().is_none_or(|next| *next == '\n') => {}
            '\0'..='\u{1f}' if steers(c) => clean.extend(['^', char::from(c as u8 + b'@')]),
            '\u{7f}' => clean.push_str("^?"),
            c if steers(c) => clean.push_str(&format!("<U+{:04X}>", u32::from(c))),
            c => clean.push(c),
        }
    }
    Cow::Owned(clean)
}

/// Returns the bytes of a change as they are to be reviewed; what is no UTF-8 becomes a replacement character.
pub fn revealed_bytes(bytes: &[u8]) -> String {
    revealed(&String::from_utf8_lossy(bytes)).into_owned()
}

/// Returns `text` as one safe line of at most `columns` columns; runs of white space become one space, and what does
/// not fit is replaced by `…`.
pub fn safe_line(text: &str, columns: usize) -> String {
    let clean = safe(text);
    cut(clean.split_whitespace().collect::<Vec<_>>().join(" "), columns)
}

/// Returns `text`, such as a command that a person decides on, as one line that no other text is shown as. Nothing is
/// collapsed or left out: what could be overlooked stands there as a sign or by its number, see [`legend`].
pub fn exact_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let mut before: Option<char> = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let apart = |near: Option<&char>| near.is_some_and(|near| !near.is_whitespace());
        match c {
            ' ' if apart(before.as_ref()) && apart(rest.peek()) => line.push(' '),
            ' ' => line.push('␣'),
            '\t' => line.push('⇥'),
            '\n' => line.push('⏎'),
            // What looks like one of our own signs is not one.
            '␣' | '⇥' | '⏎' => name(&mut line, c),
            '<' if rest.clone().take(2).eq("U+".chars()) => name(&mut line, c),
            c if steers(c) || c.is_whitespace() || is_unseen(c) => name(&mut line, c),
            c => line.push(c),
        }
        before = Some(c);
    }
    line
}

/// Explains the signs in a line of [`exact_line`]: ` (␣ blank, ⏎ line break)`; nothing if there are none.
pub fn legend(line: &str) -> String {
    let signs = [('␣', "blank"), ('⇥', "tab"), ('⏎', "line break")].into_iter();
    let used: Vec<_> =
        signs.filter(|(sign, _)| line.contains(*sign)).map(|(sign, name)| format!("{sign} {name}")).collect();
    if used.is_empty() { String::new() } else { format!(" ({})", used.join(", ")) }
}

fn name(line: &mut String, c: char) {
    line.push_str(&format!("<U+{:04X}>", u32::from(c)));
}

/// Whether `c` takes no ink although it is neither a control nor white space: variation selectors, the empty pattern of
/// Braille.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{2800}')
}

/// Returns a line without what does not fit into `columns`, for which there is a `…`.
pub fn cut(line: String, columns: usize) -> String {
    if width(&line) <= columns {
        return line;
    }
    let mut cut = String::new();
    let mut used = 0;
    for c in line.chars() {
        used += columns_of(c);
        if used > columns.saturating_sub(1) {
            break;
        }
        cut.push(c);
    }
    cut.truncate(cut.trim_end().len());
    if columns > 0 {
        cut.push('…');
    }
    cut
}

/// Whether `c` must not reach a terminal: controls but line feed and tab, bidirectional controls, invisible characters.
pub fn steers(c: char) -> bool {
    matches!(c,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Returns how many columns `text` takes on a terminal.
pub fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Each character counts for itself, so that a text can be cut after any of them.
fn columns_of(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Skips what follows an escape character and belongs to it.
fn skip_escape(rest: &mut Peekable<Chars<'_>>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_control_sequence(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            skip_string(rest);
        }
        Some(' '..='/') => {
            while rest.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            rest.next_if(|c| matches!(c, '0'..='~'));
        }
        Some('0'..='~') => {
            rest.next();
        }
        _ => {}
    }
}

/// Skips the parameters and the final character of a control sequence.
fn skip_control_sequence(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|c| matches!(c, '0'..='?')).is_some() {}
    while rest.next_if(|c| matches!(c, ' '..='/')).is_some() {}
    rest.next_if(|c| matches!(c, '@'..='~'));
}

/// Skips a string sequence (title, device control, …) up to its end, or nothing if it has none.
fn skip_string(rest: &mut Peekable<Chars<'_>>) {
    // Any other control character ends the search: a terminal gives up there too, and every character is then looked
    // at a bounded number of times, however many sequences are left open.
    let mut ahead = rest.clone();
    while let Some(c) = ahead.next() {
        match c {
            '\u{7}' | '\u{9c}' => break,
            '\u{1b}' if ahead.next_if_eq(&'\\').is_some() => break,
            c if c == '\n' || c.is_control() => return,
            _ if ahead.peek().is_none() => return,
            _ => {}
        }
    }
    *rest = ahead;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_text_is_left_alone_and_not_copied() {
        for text in ["", "hello", "two\nlines\tand a tab", "Zażółć gęślą jaźń", "日本語", "e\u{301}", "✔️"]
        {
            assert!(matches!(safe(text), Cow::Borrowed(same) if same == text), "{text:?}");
        }
    }

    #[test]
    fn sequences_are_removed_with_their_arguments() {
        let cases = [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}[2J\u{1b}[1;1Hgone", "gone"),
            ("\u{9b}31mred", "red"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]52;c;cm0gLXJmIC8=\u{1b}\\text", "text"),
            ("\u{9d}0;title\u{9c}text", "text"),
            ("\u{1b}Pq#0;2;0;0;0\u{1b}\\a", "a"),
            ("\u{90}q\u{9c}a", "a"),
            ("\u{1b}_apc\u{1b}\\b\u{1b}^pm\u{1b}\\c\u{1b}Xsos\u{1b}\\d", "bcd"),
            ("\u{1b}(B\u{1b}cx\u{1b}7", "x"),
            ("\u{1b}[?1049hx", "x"),
            ("\u{1b}", ""),
            ("a\u{1b}\u{1b}[1mb", "ab"),
        ];
        for (text, clean) in cases {
            assert_eq!(safe(text), clean, "{text:?}");
        }
    }

    #[test]
    fn an_open_string_sequence_hides_nothing() {
        assert_eq!(safe("\u{1b}]0;rm -rf /"), "0;rm -rf /");
        assert_eq!(safe("\u{1b}Pabc\nnext line"), "abc\nnext line");
        assert_eq!(safe("\u{9f}abc\u{1b}[1mdef"), "abcdef");
    }

    #[test]
    fn controls_and_invisible_characters_are_removed() {
        assert_eq!(safe("a\rb\r\nc"), "ab\nc");
        assert_eq!(safe("a\u{8}\u{7f}\0b\u{85}c"), "abc");
        assert_eq!(safe("user\u{202e}nimda\u{2066}x\u{200f}"), "usernimdax");
        assert_eq!(safe("a\u{200b}b\u{feff}c\u{2060}d\u{e0041}e\u{ad}f"), "abcdef");
        assert_eq!(safe("a\u{2028}b"), "a\nb");
    }

    #[test]
    fn a_change_hides_nothing_from_its_reviewer() {
        let cases = [
            ("if admin\u{202e} // check", "if admin<U+202E> // check"),
            ("x\u{200b}y\u{e0041}", "x<U+200B>y<U+E0041>"),
            ("\u{1b}[8mhidden()\u{7f}\u{9b}", "^[[8mhidden()^?<U+009B>"),
            ("one\r\ntwo\r", "one\ntwo"),
            ("a\rb\0", "a^Mb^@"),
            ("a\tb\u{2028}c", "a\tb<U+2028>c"),
        ];
        for (text, shown) in cases {
            assert_eq!(revealed(text), shown, "{text:?}");
            assert_eq!(revealed_bytes(text.as_bytes()), shown, "{text:?}");
        }
        assert!(matches!(revealed("plain\n\ttext"), Cow::Borrowed(_)));
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_such() {
        assert_eq!(revealed_bytes(b"a\xffb\x9bc"), "a\u{fffd}b\u{fffd}c");
    }

    #[test]
    fn a_line_is_folded_and_cut_to_its_width() {
        assert_eq!(safe_line("one\n\n  two\tthree ", 80), "one two three");
        assert_eq!(safe_line("abcdef", 6), "abcdef");
        assert_eq!(safe_line("abcdefg", 6), "abcde…");
        assert_eq!(safe_line("abcd efg", 6), "abcd…");
        assert_eq!(safe_line("日本語日本語", 7), "日本語…");
        assert_eq!(safe_line("abc", 0), "");
        assert_eq!(safe_line("\u{1b}[31mabc", 3), "abc");
    }

    #[test]
    fn a_line_to_decide_on_shows_every_character() {
        let cases = [
            ("rm -rf build", "rm -rf build"),
            ("rm  -rf a", "rm␣␣-rf a"),
            (" ls ", "␣ls␣"),
            ("true # \nrm -rf ~\n", "true #␣⏎rm -rf ~⏎"),
            ("a\tb", "a⇥b"),
            ("a ⏎ b", "a <U+23CE> b"),
            ("a\r\u{1b}[8mb\0", "a<U+000D><U+001B>[8mb<U+0000>"),
            ("ls \u{202e}txt", "ls <U+202E>txt"),
            ("ls \u{a0}x\u{3000}y", "ls␣<U+00A0>x<U+3000>y"),
            ("ok\u{fe0f}\u{2800}\u{200b}", "ok<U+FE0F><U+2800><U+200B>"),
            ("echo '<U+202E>' <U >", "echo '<U+003C>U+202E>' <U >"),
            ("日本 é", "日本 é"),
        ];
        for (text, shown) in cases {
            assert_eq!(exact_line(text), shown, "{text:?}");
        }
        assert_eq!(legend("rm -rf build"), "");
        assert_eq!(legend("a␣␣b⏎c"), " (␣ blank, ⏎ line break)");
    }

    #[test]
    fn many_open_sequences_cost_no_more_than_their_length() {
        let bomb = "\u{1b}]x".repeat(200_000) + &"\u{9d}y".repeat(200_000);
        assert_eq!(safe(&bomb).len(), 400_000);
    }

    /// Five thousand texts put together out of everything that is known to be harmful, and some that is not.
    #[test]
    fn nothing_harmful_survives_in_a_corpus_of_5000_texts() {
        let mut dice = 0x2545_f491_4f6c_dd1d_u64;
        let mut roll = |sides: usize| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            usize::try_from(dice % sides as u64).unwrap()
        };
        for case in 0..5000 {
            let length = 1 + roll(24);
            let text: String = (0..length).map(|_| PIECES[roll(PIECES.len())]).collect();
            let clean = safe(&text);
            assert!(!clean.chars().any(steers), "case {case}: {text:?} became {clean:?}");
            assert_eq!(safe(&clean), clean, "case {case}: cleaning twice must change nothing");
            let line = safe_line(&text, 40);
            assert!(width(&line) <= 40 && !line.contains(['\n', '\t']), "case {case}: {line:?}");
        }
    }

    const PIECES: &[&str] = &[
        "\u{1b}",
        "\u{1b}[",
        "\u{1b}]",
        "\u{1b}P",
        "\u{1b}_",
        "\u{1b}^",
        "\u{1b}X",
        "\u{1b}\\",
        "\u{1b}(",
        "\u{9b}",
        "\u{9d}",
        "\u{90}",
        "\u{9c}",
        "\u{98}",
        "\u{9e}",
        "\u{9f}",
        "\u{85}",
        "\u{7}",
        "\u{8}",
        "\r",
        "\r\n",
        "\n",
        "\t",
        "\0",
        "\u{7f}",
        "\u{202a}",
        "\u{202e}",
        "\u{2066}",
        "\u{2069}",
        "\u{200b}",
        "\u{200d}",
        "\u{200e}",
        "\u{feff}",
        "\u{e0001}",
        "\u{61c}",
        "\u{2028}",
        "31m",
        "2J",
        "0;title",
        "?25l",
        "52;c;AAAA",
        ";",
        "m",
        "hello",
        " ",
        "日本",
        "é",
        "👩‍👩‍👧",
        "P1:no rollback",
    ];

    proptest! {
        #[test]
        fn no_control_or_bidi_character_survives(text in any::<String>()) {
            let clean = safe(&text);
            prop_assert!(!clean.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            prop_assert!(!clean.chars().any(steers));
            prop_assert!(!revealed(&text).chars().any(steers));
        }

        #[test]
        fn text_without_anything_harmful_is_unchanged(text in "[ -~\\n\\tà-üα-ω一-十]{0,80}") {
            prop_assert_eq!(safe(&text), text.as_str());
        }

        #[test]
        fn no_view_can_collapse_a_line_to_decide_on_and_no_two_texts_share_one(
            one in "[ \\t\\n<U+⏎␣0-9a\u{202e}\u{a0}>]{0,12}",
            other in "[ \\t\\n<U+⏎␣0-9a\u{202e}\u{a0}>]{0,12}",
        ) {
            let line = exact_line(&one);
            prop_assert_eq!(safe_line(&line, usize::MAX), line.as_str());
            prop_assert_eq!(line == exact_line(&other), one == other);
        }

        #[test]
        fn bytes_never_let_a_control_through(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(!revealed_bytes(&bytes).chars().any(steers));
        }
    }
}
