//! Foreign prose as HTML: paragraphs, lists, code, and links to what it refers to. A little Markdown is understood; the
//! rest stays as it was typed.

use crate::safe::safe;
use crate::view::export::html::{Html, SHOWN};
use crate::view::export::links::Links;
use crate::view::package::references::item;

/// Adds one line of text.
pub(super) fn inline(html: &mut Html, text: &str, links: &Links<'_>) {
    let clean = safe(cut(text).0).into_owned();
    let mut code = Code { ticks: clean.split('`').count() - 1, open: false };
    let mut at = 0;
    for (reference, anchor) in links.find(&clean) {
        code.text(html, &clean[at..reference.at.start]);
        html.link("ref", &anchor, &clean[reference.at.clone()]);
        at = reference.at.end;
    }
    code.text(html, &clean[at..]);
    if code.open {
        html.close("code");
    }
}

/// Turns what stands between backticks into code; one that has no partner stays.
struct Code {
    ticks: usize,
    open: bool,
}

impl Code {
    fn text(&mut self, html: &mut Html, text: &str) {
        for (nth, part) in text.split('`').enumerate() {
            if nth > 0 {
                self.tick(html);
            }
            html.text(part);
        }
    }

    fn tick(&mut self, html: &mut Html) {
        self.ticks -= 1;
        match (self.open, self.ticks) {
            (true, _) => html.close("code"),
            (false, 0) => {
                html.text("`");
                return;
            }
            (false, _) => html.open("code", ""),
        };
        self.open = !self.open;
    }
}

/// Adds a text of several lines.
pub(super) fn blocks(html: &mut Html, text: &str, links: &Links<'_>) {
    let (shown, left_out) = cut(text);
    let clean = safe(shown);
    let mut open = Open::Nothing;
    for line in clean.lines() {
        open = block_line(html, open, line, links);
    }
    open.end(html);
    if left_out > 0 {
        html.element("p", "cut", &format!("{left_out} more bytes are left out here."));
    }
}

/// Which element the lines go into at present.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    Paragraph,
    List,
    Code,
}

impl Open {
    fn end(self, html: &mut Html) {
        match self {
            Self::Nothing => html,
            Self::Paragraph => html.close("p"),
            Self::List => html.raw("</li></ul>"),
            Self::Code => html.close("pre"),
        };
    }
}

fn block_line(html: &mut Html, open: Open, line: &str, links: &Links<'_>) -> Open {
    let bare = line.trim();
    let fence = bare.starts_with("```");
    let heading = bare.starts_with('#').then(|| bare.trim_start_matches('#').trim());
    match (open, item(bare)) {
        (Open::Code, _) if fence => {
            open.end(html);
            Open::Nothing
        }
        (Open::Code, _) => {
            html.text(line).raw("\n");
            open
        }
        _ if fence => {
            open.end(html);
            html.open("pre", "");
            Open::Code
        }
        _ if bare.is_empty() => {
            open.end(html);
            Open::Nothing
        }
        (_, Some(text)) => {
            if open == Open::List {
                html.raw("</li><li>");
            } else {
                open.end(html);
                html.raw("<ul><li>");
            }
            inline(html, text, links);
            Open::List
        }
        _ if heading.is_some() => {
            open.end(html);
            html.element("h4", "", heading.unwrap_or_default());
            Open::Nothing
        }
        (Open::Nothing, _) => {
            html.raw("<p>");
            inline(html, bare, links);
            Open::Paragraph
        }
        _ => {
            html.raw("\n");
            inline(html, bare, links);
            open
        }
    }
}

/// The beginning of a text, and how many bytes come after it.
pub(super) fn cut(text: &str) -> (&str, usize) {
    let end = text.char_indices().nth(SHOWN).map_or(text.len(), |(at, _)| at);
    (&text[..end], text.len() - end)
}
