//! A page of our own Markdown as plain text for a terminal, without marks and with wrapped lines.
//!
//! Quotations stay quotations, so that no foreign text can pass for ours.

use crate::view::words::wrapped;

/// The schemes of the references that only programs follow.
const OWN_SCHEMES: [&str; 3] = ["artifact://", "ledger://", "receipt://"];

/// One line of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainLine {
    /// What it says.
    pub text: String,
    /// Whether it is a heading.
    pub heading: bool,
}

/// Returns a page as plain lines of at most `columns`; without a limit lines are not broken. Fenced blocks are indented
/// and never broken.
pub fn plain(markdown: &str, columns: Option<usize>) -> Vec<PlainLine> {
    let mut lines: Vec<PlainLine> = Vec::new();
    let mut fence: Option<&str> = None;
    for line in markdown.lines() {
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match fence {
            Some(open) if line == open => fence = None,
            Some(_) => lines.push(text(format!("    {line}"))),
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => lines.extend(one(line, columns)),
        }
    }
    lines
}

fn one(line: &str, columns: Option<usize>) -> Vec<PlainLine> {
    if let Some(title) = line.strip_prefix("## ").or_else(|| line.strip_prefix("# ")) {
        return vec![PlainLine { text: bare(title), heading: true }];
    }
    let (first, rest, said) = match marker(line) {
        ">" => ("> ".to_owned(), "> ".to_owned(), line[1..].trim_start().to_owned()),
        mark => (mark.to_owned(), " ".repeat(mark.len()), bare(&line[mark.len()..])),
    };
    let Some(columns) = columns else { return vec![text((first + &said).trim_end().to_owned())] };
    let pieces = wrapped(&said, columns.saturating_sub(first.len()).max(1));
    let begin = |at: usize| if at == 0 { &first } else { &rest };
    pieces.iter().enumerate().map(|(at, piece)| text((begin(at).clone() + piece).trim_end().to_owned())).collect()
}

/// The mark that a line begins with: of a quotation, or of an entry of a list with its number.
fn marker(line: &str) -> &str {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    match line {
        _ if line.starts_with('>') => ">",
        _ if line.starts_with("- ") => &line[..2],
        _ if (1..=4).contains(&digits) && line[digits..].starts_with(". ") => &line[..digits + 2],
        _ => "",
    }
}

/// Takes marks out of a line of our own: backticks and asterisks in pairs, and the targets of references.
fn bare(line: &str) -> String {
    let mut out = String::new();
    let mut left = line;
    while let Some((before, label, after)) = reference(left) {
        out.push_str(before);
        out.push_str(label);
        left = after;
    }
    out.push_str(left);
    for mark in ["**", "`"] {
        if out.matches(mark).count() % 2 == 0 {
            out = out.replace(mark, "");
        }
    }
    out
}

/// Finds the first reference of ours, `[label](scheme://…)`.
fn reference(text: &str) -> Option<(&str, &str, &str)> {
    let (at, scheme) =
        OWN_SCHEMES.iter().filter_map(|scheme| Some((text.find(&format!("]({scheme}"))?, scheme))).min()?;
    let open = text[..at].rfind('[')?;
    let target = at + 2;
    let end = target + scheme.len() + text[target + scheme.len()..].find(')')?;
    Some((&text[..open], &text[open + 1..at], &text[end + 1..]))
}

fn text(text: String) -> PlainLine {
    PlainLine { text, heading: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(markdown: &str, columns: Option<usize>) -> Vec<String> {
        let mark = |line: PlainLine| if line.heading { format!("*{}*", line.text) } else { line.text };
        plain(markdown, columns).into_iter().map(mark).collect()
    }

    #[test]
    fn marks_are_gone_and_headings_stand_out() {
        let page = "# Package of `demo`\n\n**Missing**: nothing.\n- open finding: [F2](ledger://F2) P2 slow\n1. `./test` (test): passed\n```text\n- kept  as it is\n```";
        let wanted = [
            "*Package of demo*",
            "",
            "Missing: nothing.",
            "- open finding: F2 P2 slow",
            "1. ./test (test): passed",
            "    - kept  as it is",
        ];
        assert_eq!(shown(page, None), wanted);
        assert_eq!(
            shown("see [x](https://example.org) and a lone `", None),
            ["see [x](https://example.org) and a lone `"]
        );
    }

    #[test]
    fn words_are_wrapped_under_their_mark_and_quotations_stay_quotations() {
        assert_eq!(shown("- one two three four", Some(11)), ["- one two", "  three", "  four"]);
        assert_eq!(
            shown("> # Package of x\n>\n> one two three", Some(10)),
            ["> #", "> Package", "> of x", ">", "> one two", "> three"]
        );
        assert_eq!(shown("a-word-that-is-too-long for it", Some(8)), ["a-word-that-is-too-long", "for it"]);
    }
}
