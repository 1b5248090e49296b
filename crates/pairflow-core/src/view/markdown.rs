//! A page of Markdown in which foreign text cannot pass for ours: it is quoted, fenced or kept on one line.

use crate::safe::{revealed, safe};

/// A page that is being written.
pub(crate) struct Page(String);

impl Page {
    /// Begins a page.
    pub(crate) fn new(title: &str) -> Self {
        Self(format!("# {title}\n\n"))
    }

    /// Begins a section.
    pub(crate) fn section(&mut self, title: &str) {
        self.0.push_str("\n## ");
        self.line(title);
        self.0.push('\n');
    }

    /// Adds a line of our own words; foreign ones in it have to be on one line already.
    pub(crate) fn line(&mut self, text: &str) {
        self.0.push_str(&safe(text));
        self.0.push('\n');
    }

    /// Adds an entry of a list.
    pub(crate) fn item(&mut self, text: &str) {
        self.0.push_str("- ");
        self.line(text);
    }

    /// Adds entries of a list.
    pub(crate) fn items(&mut self, texts: impl IntoIterator<Item = String>) {
        texts.into_iter().for_each(|text| self.item(&text));
    }

    /// Adds foreign text as a quotation.
    pub(crate) fn quote(&mut self, text: &str) {
        for line in safe(text).trim().lines() {
            self.0.push_str(if line.is_empty() { ">" } else { "> " });
            self.line(line);
        }
    }

    /// Adds foreign text that keeps its spacing, such as the output of a program.
    pub(crate) fn block(&mut self, text: &str) {
        let text = safe(text);
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        self.0.push_str(&fence);
        self.line("text");
        self.line(text.trim_end());
        self.line(&fence);
    }

    /// Adds a change; nothing in it is hidden from its reviewer.
    pub(crate) fn patch(&mut self, text: &str) {
        let shown = revealed(text);
        if shown.as_ref() != text.replace("\r\n", "\n") {
            self.line(
                "It has characters that are not visible or reorder the line; they are named here, such as <U+202E>.",
            );
            self.line("");
        }
        self.block(&shown);
    }

    /// Returns the page.
    pub(crate) fn finish(self) -> String {
        self.0
    }
}
