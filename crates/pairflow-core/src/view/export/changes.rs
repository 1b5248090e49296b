//! Patches: files, hunks and coloured lines, as many as there is room for.

use crate::safe::revealed;
use crate::view::export::contents::View;
use crate::view::export::html::{Html, section};
use crate::view::export::links::{file_anchor, hunk_anchor};
use crate::view::export::patch::{FilePatch, Patch};
use crate::view::words::count;

/// The longest page, in bytes. What would make it longer is left out with a note.
const LONGEST: usize = 12 * 1024 * 1024;
/// How many lines of the whole patch are shown.
const WHOLE: usize = 12_000;
/// How many lines of all rounds together are shown.
const ROUNDS: usize = 12_000;
/// How many files of one patch are shown.
const FILES: usize = 500;
/// How many characters of a line are shown.
const COLUMNS: usize = 400;

/// A patch of at most so many lines is shown unfolded.
const SHORT: usize = 400;

/// How many lines there is room for yet.
pub(super) struct Room {
    lines: usize,
    unfolded: bool,
}

pub(super) fn render(html: &mut Html, view: &View<'_>) {
    section(html, "changes", "Changes");
    let id = &view.export.facts.state().id;
    if let Some(why) = &view.export.patches.missing {
        html.raw("<p class=\"wrong\">The changes cannot be shown: ").text(why).raw("</p>\n");
    } else if view.whole.files.is_empty() {
        html.raw("<p class=\"dim\">Nothing was changed.</p>\n");
    } else {
        html.raw("<p class=\"dim\">From the base to the newest snapshot.</p>\n");
        table(html, view.whole);
        Room { lines: WHOLE, unfolded: view.whole.lines() <= SHORT }.files(
            html,
            view.whole,
            None,
            &format!("pairflow diff {id}"),
        );
    }
    html.raw("</section>\n");
}

fn table(html: &mut Html, patch: &Patch<'_>) {
    html.raw("<div class=\"wide\"><table class=\"files\"><tbody>\n");
    for (file, number) in patch.files.iter().zip(1..).take(FILES) {
        let (added, removed) = file.counts();
        html.raw("<tr><td>").link("path", &file_anchor(None, number), &file.path);
        html.raw("</td><td class=\"plus\">").text(&format!("+{added}"));
        html.raw("</td><td class=\"minus\">").text(&format!("-{removed}")).raw("</td></tr>\n");
    }
    html.raw("</tbody></table></div>\n");
}

impl Room {
    /// The room for the patches of all rounds.
    pub(super) fn of_rounds() -> Self {
        Self { lines: ROUNDS, unfolded: true }
    }

    /// Adds the files of a patch; `command` shows all of it.
    pub(super) fn files(&mut self, html: &mut Html, patch: &Patch<'_>, round: Option<u32>, command: &str) {
        let before = self.lines;
        for (file, number) in patch.files.iter().zip(1..).take(FILES) {
            self.file(html, file, round, number);
        }
        let left_out = patch.lines().saturating_sub(before - self.lines);
        if left_out > 0 || patch.files.len() > FILES {
            let are = if left_out == 1 { "is" } else { "are" };
            html.raw("<p class=\"cut\">").text(&format!("{} {are} left out here; ", count(left_out, "line")));
            html.element("code", "", command).raw(" shows all of it.</p>\n");
        }
    }

    fn file(&mut self, html: &mut Html, file: &FilePatch<'_>, round: Option<u32>, number: usize) {
        let (added, removed) = file.counts();
        let tag = if self.unfolded { "details open" } else { "details" };
        html.open_at(tag, "file", &file_anchor(round, number));
        html.raw("<summary>").element("code", "path", &file.path).raw(" <span class=\"plus\">");
        html.text(&format!("+{added}"))
            .raw("</span> <span class=\"minus\">")
            .text(&format!("-{removed}"))
            .raw("</span>");
        file.notes.iter().for_each(|note| {
            html.raw(" ").element("span", "dim", note);
        });
        html.raw("</summary>\n");
        for (hunk, nth) in file.hunks.iter().zip(1..) {
            if self.lines == 0 || html.len() > LONGEST {
                break;
            }
            html.open_at("pre", "hunk", &hunk_anchor(round, number, nth))
                .element("span", "at", cut(hunk.head))
                .raw("\n");
            let shown = hunk.lines.len().min(self.lines);
            hunk.lines[..shown].iter().for_each(|text| line(html, text));
            self.lines -= shown;
            html.raw("</pre>\n");
        }
        html.raw("</details>\n");
    }
}

fn line(html: &mut Html, text: &str) {
    let shown = revealed(cut(text));
    match text.as_bytes().first() {
        Some(b'+') => html.element("ins", "", &shown),
        Some(b'-') => html.element("del", "", &shown),
        Some(b' ') => html.element("span", "", &shown),
        _ => html.element("i", "", &shown),
    };
    html.raw("\n");
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(COLUMNS).map_or(text, |(at, _)| &text[..at])
}
