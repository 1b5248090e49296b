//! Patches: files, hunks and coloured lines, up to a limit.

use maud::{Markup, html};

use crate::safe::revealed;
use crate::view::export::text::{PageContext, SafeText, file_anchor, hunk_anchor, link};
use crate::view::patch::{FilePatch, PatchHunk};
use crate::view::words::count;

/// How many bytes the hunks of the whole patch take, and those of all rounds together.
const BYTES: usize = 6 * 1024 * 1024;
/// How many lines of the whole patch are shown, and of all rounds together.
const LINES: usize = 12_000;
/// How many files of one patch are shown.
const FILES: usize = 500;
/// How many characters of a line are shown.
const COLUMNS: usize = 400;
/// A patch of at most so many lines is shown unfolded.
const SHORT: usize = 400;

pub(super) fn render(page: &PageContext<'_>) -> Markup {
    let lines: usize = page.whole.iter().map(FilePatch::lines).sum();
    let command = format!("pairflow diff {}", page.export.facts.state().id);
    html! {
        section id="changes" {
            h2 { "Changes" }
            @if let Some(why) = &page.export.patches.missing {
                p.wrong { "The changes cannot be shown: " (SafeText(why)) }
            } @else if page.whole.is_empty() {
                p.dim { "Nothing was changed." }
            } @else {
                p.dim { "From the base to the newest snapshot." }
                div.wide { table.files { tbody {
                    @for (file, number) in page.whole.iter().zip(1..).take(FILES) {
                        @let (added, removed) = file.counts();
                        tr {
                            td { (link(Some("path"), &file_anchor(None, number), &file.path)) }
                            td.plus { "+" (added) } td.minus { "-" (removed) }
                        }
                    }
                } } }
                (DiffBudget::new(lines <= SHORT).files(page.whole, None, &command))
            }
        }
    }
}

/// How much more of a patch is shown.
pub(super) struct DiffBudget {
    lines: usize,
    bytes: usize,
    unfolded: bool,
}

impl DiffBudget {
    pub(super) fn new(unfolded: bool) -> Self {
        Self { lines: LINES, bytes: BYTES, unfolded }
    }

    /// The files of a patch; `command` shows all of it.
    pub(super) fn files(&mut self, files: &[FilePatch<'_>], round: Option<u32>, command: &str) -> Markup {
        let before = self.lines;
        let shown: Vec<_> =
            files.iter().zip(1..).take(FILES).map(|(file, number)| self.file(file, round, number)).collect();
        let left_out = files.iter().map(FilePatch::lines).sum::<usize>().saturating_sub(before - self.lines);
        html! {
            @for file in shown { (file) }
            @if left_out > 0 || files.len() > FILES {
                p.cut {
                    (count(left_out, "line")) @if left_out == 1 { " is" } @else { " are" } " left out here; "
                    code { (command) } " shows all of it."
                }
            }
        }
    }

    fn file(&mut self, file: &FilePatch<'_>, round: Option<u32>, number: usize) -> Markup {
        let (added, removed) = file.counts();
        html! {
            details.file open[self.unfolded] id=(file_anchor(round, number)) {
                summary {
                    code.path { (SafeText(&file.path)) } " " span.plus { "+" (added) } " " span.minus { "-" (removed) }
                    @for note in file.notes() { " " span.dim { (SafeText(note)) } }
                }
                @for (hunk, nth) in file.hunks.iter().zip(1..) {
                    @if self.lines > 0 && self.bytes > 0 { (self.hunk(hunk, &hunk_anchor(round, number, nth))) }
                }
            }
        }
    }

    fn hunk(&mut self, hunk: &PatchHunk<'_>, anchor: &str) -> Markup {
        let shown = hunk.lines.len().min(self.lines);
        let markup = html! {
            pre.hunk id=(anchor) {
                span.at { (SafeText(cut(hunk.head))) } "\n"
                @for text in &hunk.lines[..shown] {
                    @let line = revealed(cut(text));
                    @match text.as_bytes().first() {
                        Some(b'+') => ins { (SafeText(&line)) },
                        Some(b'-') => del { (SafeText(&line)) },
                        Some(b' ') => span { (SafeText(&line)) },
                        _ => i { (SafeText(&line)) },
                    }
                    "\n"
                }
            }
        };
        self.lines -= shown;
        self.bytes = self.bytes.saturating_sub(markup.0.len());
        markup
    }
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(COLUMNS).map_or(text, |(at, _)| &text[..at])
}
