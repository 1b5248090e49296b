//! What pairflow finds out about a reviewer's findings before they are recorded: the text of the line that each is about,
//! and whether the same reviewer had reviewed that line before.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use pairflow_core::bubble::BubbleState;
use pairflow_core::facts::Finding;
use pairflow_core::gates::diff::HunkHeader;
use pairflow_core::ids::{AgentId, TreeId};

use crate::engine::{Bubble, EngineError};
use crate::git::{Git, bare_line_diff};

/// The largest file in which a line is looked up, in bytes.
const LARGEST: u64 = 8 * 1024 * 1024;
/// How much of a line is kept, in characters.
const ANCHOR: usize = 300;
/// The longest diff of one file that is looked at, in bytes.
const DIFF: usize = 4 * 1024 * 1024;

impl Bubble {
    /// Completes the findings of `by` with what the worktree and the earlier reviews say about them.
    pub fn locate(
        &self,
        state: &BubbleState,
        by: &AgentId,
        findings: Vec<Finding>,
    ) -> Result<Vec<Finding>, EngineError> {
        if findings.is_empty() || state.evidence.workspace.is_none() {
            return Ok(findings);
        }
        let workspace = self.workspace(state)?;
        // Whether the worktree can be handed over is decided elsewhere; here nothing is read from another one.
        let ours = workspace.connected().is_ok();
        let git = workspace.git();
        let before = Before { state, by, git: &git, diffs: RefCell::default() };
        let located = findings.into_iter().map(|finding| Finding {
            anchor: ours.then(|| anchor(&workspace.path, &finding)).flatten().unwrap_or_default(),
            seen: before.saw(&finding),
            ..finding
        });
        Ok(located.collect())
    }
}

/// The text of the line that a finding is about.
fn anchor(root: &Path, finding: &Finding) -> Option<String> {
    let (file, line) = (finding.file.as_deref()?, usize::try_from(finding.line?).ok()?);
    let path = root.join(file);
    path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
    let bytes = crate::regular::read_up_to(&path, LARGEST).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().nth(line.checked_sub(1)?)?;
    Some(line.trim().chars().take(ANCHOR).collect())
}

/// What an agent has reviewed before.
struct Before<'a> {
    state: &'a BubbleState,
    by: &'a AgentId,
    git: &'a Git,
    /// What changed in each file since; nothing where that cannot be told. A review names few files, often.
    diffs: RefCell<BTreeMap<String, Option<String>>>,
}

impl Before<'_> {
    /// The round in which this agent had reviewed what `finding` is about, if it is unchanged since.
    fn saw(&self, finding: &Finding) -> Option<u32> {
        let last = self.state.rounds.reviewed_by.get(self.by)?;
        let now = self.state.tree()?;
        let unchanged = last.tree == *now || self.unchanged(&last.tree, now, finding);
        unchanged.then_some(last.round)
    }

    /// Whether the line, or else the file, is the same in both trees. What cannot be compared counts as changed.
    fn unchanged(&self, then: &TreeId, now: &TreeId, finding: &Finding) -> bool {
        let Some(file) = &finding.file else { return false };
        let mut diffs = self.diffs.borrow_mut();
        let diff = diffs.entry(file.clone()).or_insert_with(|| self.diff(then, now, file));
        let Some(text) = diff else { return false };
        match finding.line {
            _ if text.is_empty() => true,
            None => false,
            Some(line) => !text.lines().filter_map(HunkHeader::read).any(|hunk| hunk.new.contain(line)),
        }
    }

    /// The diff of one file between two trees; nothing if it cannot be had whole.
    fn diff(&self, then: &TreeId, now: &TreeId, file: &str) -> Option<String> {
        let diff = bare_line_diff(self.git, (then, now), file, DIFF).ok().filter(|diff| !diff.cut)?;
        Some(String::from_utf8_lossy(&diff.stdout).into_owned())
    }
}
