//! Links from the package to its evidence, as Markdown: `artifact://…` for diffs and receipts, `ledger://…` for findings.

use crate::bubble::BubbleState;
use crate::ids::FindingId;
use crate::view::package::references::{Known, Target};
use crate::view::package::statements::Statement;
use crate::view::words::one_line;

/// A state, with what can be linked to in it.
pub(super) struct Linked<'a> {
    pub(super) state: &'a BubbleState,
    known: Known<'a>,
}

impl<'a> Linked<'a> {
    /// Reads off a state what can be linked to.
    pub(super) fn of(state: &'a BubbleState) -> Self {
        Self { state, known: Known::of(state) }
    }

    /// Returns an agent's statement with links to what it refers to, or with the mark that it has no evidence.
    pub(super) fn marked(&self, statement: &Statement) -> String {
        let both = format!("{}\n{}", statement.text, one_line(&statement.code));
        let links = self.links(&both);
        let text = inert(&statement.text);
        let mark = if links.is_empty() { "(no evidence)".to_owned() } else { format!("({})", links.join(", ")) };
        if text.is_empty() { mark } else { format!("{text} {mark}") }
    }

    /// Returns our own words, then foreign ones with links to what those refer to.
    pub(super) fn with(&self, own: &str, text: &str) -> String {
        let links = self.links(text);
        let links = if links.is_empty() { String::new() } else { format!(" ({})", links.join(", ")) };
        format!("{own}{}{links}", inert(text))
    }

    fn links(&self, text: &str) -> Vec<String> {
        let mut links = Vec::new();
        for reference in self.known.references(text) {
            let link = match reference.to {
                Target::Finding(id) => Some(row_link(id)),
                Target::Place(path, line) => Some(self.file(path, line)),
                Target::Check(name) => self.receipt(name),
            };
            links.extend(link.filter(|link| !links.contains(link)));
        }
        links
    }

    /// Returns a changed file as a link to the newest diff that shows it.
    pub(super) fn file(&self, path: &str, line: Option<u32>) -> String {
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        let name = format!("{}{line}", inert(path));
        match self.rounds(path).last() {
            Some(round) => diff_link(&name, *round),
            None => name,
        }
    }

    /// Returns the rounds that changed a file, as far as they were counted.
    pub(super) fn rounds(&self, path: &str) -> &[u32] {
        self.state.evidence.touched.get(path).map_or(&[], Vec::as_slice)
    }

    /// Returns a link to what a check printed on the accepted tree; nothing if there is no receipt.
    pub(super) fn receipt(&self, check: &str) -> Option<String> {
        let ran = self.state.evidence.superseded.iter().chain(&self.state.evidence.receipts);
        let newest = ran.rev().find(|receipt| receipt.check == check)?;
        let target = newest.output.as_deref().filter(|output| output.starts_with("artifact://"));
        Some(match target {
            Some(target) => format!("[receipt of {}]({})", inert(check), one_line(target)),
            None => format!("receipt of {} on tree {}", inert(check), newest.tree.short()),
        })
    }
}

/// Returns where the difference of a round is kept.
pub(super) fn diff(round: u32) -> String {
    format!("artifact://round-{round:03}.diff")
}

/// Returns a link to the difference of a round; `name` has to be inert.
pub(super) fn diff_link(name: &str, round: u32) -> String {
    format!("[{name}]({})", diff(round))
}

/// Returns a link to a row of the ledger.
pub(super) fn row_link(id: FindingId) -> String {
    format!("[{id}](ledger://{id})")
}

/// Returns foreign text as one line that cannot set a link or a tag.
pub(super) fn inert(text: &str) -> String {
    let mut line = String::new();
    for c in one_line(text).chars() {
        if matches!(c, '[' | ']' | '<' | '\\') {
            line.push('\\');
        }
        line.push(c);
    }
    line
}
