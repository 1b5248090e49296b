//! What a reviewer's brief shows of the repository: the project's standards as the base has them, and the differences, long
//! ones cut into files of their own.

use std::collections::BTreeMap;

use pairflow_core::bubble::BubbleState;
use pairflow_core::facts::Seat;
use pairflow_core::ids::{AgentId, TreeId};
use pairflow_core::view::brief::{BriefMaterial, ReviewDiff, Slice, Standard, check_templates};
use pairflow_core::view::patch::{SLICE_LINES, changed_lines, cut_into_slices};

use crate::engine::{Bubble, Engine, EngineError};
use crate::git::{Call, Git, Output, Repo, diff_text, line_diff};

/// The files in which projects say how work is done, the most binding first.
const STANDARDS: [&str; 5] =
    ["CONSTITUTION.md", "constitution.md", ".specify/memory/constitution.md", "AGENTS.md", "CLAUDE.md"];
/// How many lines of a standard are quoted, and how many bytes of it are read.
const QUOTED: (usize, usize) = (200, 32 * 1024);
/// The longest difference that is shown, in bytes.
const LONGEST: usize = 8 * 1024 * 1024;
/// The longest difference that stands in the brief itself, in bytes.
const INLINE: usize = 128 * 1024;
/// The longest template of a repository, in bytes.
const TEMPLATE: usize = 32 * 1024;
/// The mode of a symbolic link.
const LINK: &str = "120000";

impl Bubble {
    /// Gathers what the brief of the present turn needs, and writes the slices of a long difference.
    pub(super) fn material(&self, state: &BubbleState) -> Result<BriefMaterial, EngineError> {
        let turn = state.phase.turn().filter(|turn| turn.seat == Seat::Reviewer);
        let (Some(turn), Some(record), Some(tree)) = (turn, &state.evidence.workspace, state.tree()) else {
            return Ok(BriefMaterial::default());
        };
        let git = self.workspace(state)?.git();
        let place = |what: &str| format!("review/{}-{}-{what}", state.rounds.round, turn.agent);
        let since_last = match seen_before(state, &turn.agent) {
            Some(seen) if seen == tree => Some(ReviewDiff::Inline(String::new())),
            Some(seen) => Some(self.laid_out(&patch(&git, seen, tree)?, &place("since"))?),
            None => None,
        };
        Ok(BriefMaterial {
            standards: standards(&git, &record.base_tree, tree)?,
            since_last,
            whole: Some(self.laid_out(&patch(&git, &record.base_tree, tree)?, &place("slice"))?),
        })
    }

    /// A difference as the brief has it: itself, or the files that it was cut into.
    fn laid_out(&self, patch: &str, name: &str) -> Result<ReviewDiff, EngineError> {
        if changed_lines(patch) <= SLICE_LINES && patch.len() <= INLINE {
            return Ok(ReviewDiff::Inline(patch.to_owned()));
        }
        let mut slices = Vec::new();
        for (at, slice) in cut_into_slices(patch).into_iter().enumerate() {
            let name = format!("{name}-{}.diff", at + 1);
            self.log.project_artifact(&name, slice.text.as_bytes())?;
            let path = self.dir().join("artifacts").join(&name).display().to_string();
            slices.push(Slice { path, files: slice.files, changed: slice.changed });
        }
        Ok(ReviewDiff::Slices(slices))
    }
}

impl Engine {
    /// Returns the templates of briefs in `pairflow-templates/` of a branch, by name, if they can be used.
    pub fn repository_templates(repo: &Repo, branch: &str) -> Result<BTreeMap<String, String>, EngineError> {
        let (git, base) = (repo.git(), repo.resolve_branch(branch)?);
        let call = Call::new(["ls-tree", "-z", "--full-tree", &base.0, "--", "pairflow-templates/"]);
        let mut templates = BTreeMap::new();
        for (path, (mode, blob)) in tree_entries(&git.run(call)?) {
            let bytes = git.run(Call::new(["cat-file", "blob", &blob]).cut_at(TEMPLATE + 1))?.stdout;
            let text = String::from_utf8(bytes).ok().filter(|text| text.len() <= TEMPLATE && mode != LINK);
            let unfit =
                || EngineError::BadInput(format!("{path} on {branch} is not a text file of at most {TEMPLATE} bytes"));
            let name = path.trim_start_matches("pairflow-templates/").to_owned();
            templates.insert(name, text.ok_or_else(unfit)?);
        }
        check_templates(&templates).map_err(EngineError::BadInput)?;
        Ok(templates)
    }
}

/// The tree that an agent reviewed last.
fn seen_before<'a>(state: &'a BubbleState, agent: &AgentId) -> Option<&'a TreeId> {
    state.rounds.reviewed_by.get(agent).map(|reviewed| &reviewed.tree)
}

/// The difference between two trees as text. A file that only an attribute calls binary is shown all the same: nothing
/// that an agent writes into `.gitattributes` hides its work from the reviewer.
fn patch(git: &Git, from: &TreeId, to: &TreeId) -> Result<String, EngineError> {
    let mut patch = String::from_utf8_lossy(&diff_text(git, from, to, LONGEST)?).into_owned();
    let binary = |line: &&str| line.starts_with("Binary files ");
    if !patch.lines().any(|line| binary(&line)) {
        return Ok(patch);
    }
    let called = crate::git::changes(git, from, to)?.into_iter().filter(|file| file.added.is_none());
    let called: Vec<_> = called.map(|file| file.path).collect();
    for paths in called.chunks(100) {
        let paths: Vec<_> = paths.iter().map(String::as_str).collect();
        let read = line_diff(git, (from, to), &paths, LONGEST)?;
        let text = String::from_utf8_lossy(&read.stdout);
        let files = text.split("\ndiff --git ").map(|file| file.strip_prefix("diff --git ").unwrap_or(file));
        // What is no text has a byte of zero, or is none in UTF-8.
        let readable = files.filter(|file| !file.is_empty() && !file.contains(['\0', '\u{fffd}']));
        readable.for_each(|file| patch.push_str(&format!("diff --git {}\n", file.trim_end_matches('\n'))));
        if patch.len() > LONGEST {
            break;
        }
    }
    Ok(patch)
}

/// The standards of the base, with what the work does to them.
fn standards(git: &Git, base: &TreeId, tree: &TreeId) -> Result<Vec<Standard>, EngineError> {
    let before = entries(git, base)?;
    let now = if before.is_empty() { BTreeMap::new() } else { entries(git, tree)? };
    let mut standards: Vec<Standard> = Vec::new();
    for path in STANDARDS {
        let Some((mode, blob)) = before.get(path) else { continue };
        let Some((text, cut)) = text(git, base, (path, mode, blob))? else { continue };
        let told = standards.iter().any(|other| other.text == text);
        if !told && !text.trim().is_empty() {
            standards.push(Standard { path: path.to_owned(), text, cut, changed: now.get(path) != before.get(path) });
        }
    }
    Ok(standards)
}

/// The mode and the blob of each standard that a tree has, by path.
fn entries(git: &Git, tree: &TreeId) -> Result<BTreeMap<String, (String, String)>, EngineError> {
    let call = Call::new(["ls-tree", "-z", "--full-tree", &tree.0, "--"]);
    Ok(tree_entries(&git.run(STANDARDS.iter().fold(call, Call::arg))?))
}

/// The mode and the blob of each file that git listed, by path.
fn tree_entries(listed: &Output) -> BTreeMap<String, (String, String)> {
    let entry = |part: &[u8]| {
        let line = String::from_utf8_lossy(part).into_owned();
        let (facts, path) = line.split_once('\t')?;
        let mut facts = facts.split(' ');
        let (mode, kind, blob) = (facts.next()?, facts.next()?, facts.next()?);
        (kind == "blob").then(|| (path.to_owned(), (mode.to_owned(), blob.to_owned())))
    };
    listed.parts().filter_map(entry).collect()
}

/// The beginning of a standard, and whether there is more of it; a link is followed within its own directory.
fn text(
    git: &Git,
    base: &TreeId,
    (path, mode, blob): (&str, &str, &str),
) -> Result<Option<(String, bool)>, EngineError> {
    let (lines, bytes) = QUOTED;
    let read = |object: &str| git.run(Call::new(["cat-file", "blob", object]).accept(&[0, 128]).cut_at(bytes));
    let mut answer = read(blob)?;
    if mode == LINK {
        let target = String::from_utf8_lossy(&answer.stdout).into_owned();
        if target.contains(['/', '\n', '\0']) || target.starts_with("..") {
            return Ok(None);
        }
        let beside = path.rsplit_once('/').map_or(target.clone(), |(dir, _)| format!("{dir}/{target}"));
        answer = read(&format!("{base}:{beside}"))?;
    }
    let whole = String::from_utf8_lossy(&answer.stdout).into_owned();
    let quoted: Vec<_> = whole.lines().take(lines).collect();
    let cut = answer.cut || whole.lines().count() > lines;
    Ok((answer.code == 0).then(|| (quoted.join("\n"), cut)))
}
