//! Files of a bubble that agents and people read: briefs with the project's standards and diffs, the approval package,
//! and the references of messages. All of them are derived from the log and written again when it changes.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use pairflow_core::bubble::{BubbleState, advance};
use pairflow_core::facts::Seat;
use pairflow_core::hash::sha256;
use pairflow_core::ids::{AgentId, TreeId};
use pairflow_core::log::ApprovalRequest;
use pairflow_core::safe::{safe_line, steers};
use pairflow_core::view::brief::{BriefMaterial, ReviewDiff, Slice, Standard, brief, check_templates, standby};
use pairflow_core::view::package::again;
use pairflow_core::view::patch::{SLICE_LINES, changed_lines, cut_into_slices};

use crate::engine::{Bubble, Engine, EngineError};
use crate::git::{Git, GitCall, GitOutput, Repo, diff_text, line_diff};
use crate::workspace::scratch_path;

impl Bubble {
    /// Writes the brief of the present turn; nothing while no agent has one.
    ///
    /// Returns how many slices of the change its holder has to confirm.
    pub(crate) fn write_brief(&self, state: &BubbleState) -> Result<u32, EngineError> {
        let material = self.material(state)?;
        self.put_brief(state, &material)?;
        Ok(material.slices())
    }

    /// Writes the brief of a turn that is open already: what the person has said is in it, also where the repository
    /// cannot be read at the moment.
    pub(crate) fn renew_brief(&self, state: &BubbleState) -> Result<(), EngineError> {
        let there = state.evidence.workspace.as_ref().is_some_and(|record| std::path::Path::new(&record.path).is_dir());
        let material = if there { self.material(state).unwrap_or_default() } else { BriefMaterial::default() };
        self.put_brief(state, &material)
    }

    fn put_brief(&self, state: &BubbleState, material: &BriefMaterial) -> Result<(), EngineError> {
        if let (Some(text), Some(turn)) = (brief(state, material), state.phase.turn()) {
            self.log.project_artifact(&format!("brief-{}.md", turn.agent), text.as_bytes())?;
        }
        Ok(())
    }

    /// Writes what every agent without the turn is told.
    pub(crate) fn write_briefings(&self, state: &BubbleState) -> Result<(), EngineError> {
        let holder = state.phase.turn().map(|turn| &turn.agent);
        for agent in state.rules.agents.all().filter(|agent| Some(*agent) != holder) {
            if let Some(text) = standby(state, agent) {
                self.log.project_artifact(&format!("briefing-{agent}.md"), text.as_bytes())?;
            }
        }
        Ok(())
    }

    /// Returns the file in which an agent without the turn finds what the bubble is about.
    pub fn briefing(&self, agent: &AgentId) -> PathBuf {
        self.dir().join(format!("artifacts/briefing-{agent}.md"))
    }

    /// Gathers what the brief of the present turn needs, and writes the slices of a long difference.
    pub(super) fn material(&self, state: &BubbleState) -> Result<BriefMaterial, EngineError> {
        let turn = state.phase.turn().filter(|turn| turn.seat == Seat::Reviewer);
        let (Some(turn), Some(record), Some(tree)) = (turn, &state.evidence.workspace, state.tree()) else {
            return Ok(BriefMaterial::default());
        };
        let git = self.workspace(state)?.git();
        let place = |what: &str| format!("review/{}-{}-{what}", state.rounds.round, turn.agent);
        let since_last = match state.rounds.reviewed_by.get(&turn.agent).map(|reviewed| &reviewed.tree) {
            Some(seen) if seen == tree => Some(ReviewDiff::Inline(String::new())),
            Some(seen) => Some(self.lay_out_diff(&patch(&git, seen, tree)?, &place("since"))?),
            None => None,
        };
        Ok(BriefMaterial {
            standards: standards(&git, &record.base_tree, tree)?,
            since_last,
            whole: Some(self.lay_out_diff(&patch(&git, &record.base_tree, tree)?, &place("slice"))?),
            scratch: turn.acceptance.then(|| scratch_path(self.control.repo(), &self.id).display().to_string()),
        })
    }

    /// A difference as the brief has it: itself, or the files that it was cut into.
    fn lay_out_diff(&self, patch: &str, name: &str) -> Result<ReviewDiff, EngineError> {
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

    /// Returns exactly the package that was put up for approval.
    ///
    /// A file that is gone, or is not what was recorded, is made again out of the log.
    pub fn package(&self, request: &ApprovalRequest) -> Result<Vec<u8>, EngineError> {
        if let Ok(bytes) = self.artifacts().read(&request.package)
            && sha256(&bytes) == request.package_sha256
        {
            return Ok(bytes);
        }
        let bytes = self.package_of_log(request)?;
        // It can be made again the next time, too.
        let _ = self.log().project_artifact(&request.package, &bytes);
        Ok(bytes)
    }

    /// Renders the package of the acceptance that led to `request`, as it was then.
    fn package_of_log(&self, request: &ApprovalRequest) -> Result<Vec<u8>, EngineError> {
        let mut state = BubbleState::new(self.id.clone());
        let mut found = None;
        self.log().visit(&mut |envelope| {
            let text = again(&state, &envelope).filter(|text| sha256(text.as_bytes()) == request.package_sha256);
            found = text.or_else(|| found.take());
            advance(&mut state, &envelope);
        })?;
        found.map(String::into_bytes).ok_or_else(|| {
            let (id, name) = (&self.id, &request.package);
            EngineError::Effect(format!(
                "the package {name} of bubble {id} is missing or changed, and was made by another version of pairflow; request rework to get a new one: pairflow request-rework {id} --message '…'"
            ))
        })
    }

    /// Returns `given` in the form of `refs`; fails for files that are missing or outside.
    pub fn reference(&self, state: &BubbleState, given: &str) -> Result<String, EngineError> {
        // A name that steers a terminal, or breaks a line, could pass for something else wherever it is shown.
        if given.contains(|c: char| c == '\n' || c == '\t' || steers(c)) {
            let shown = safe_line(given, SHOWN);
            return Err(EngineError::BadInput(format!(
                "'{shown}' has control characters in its name; rename the file"
            )));
        }
        if given.starts_with("artifact://") {
            let found = self.artifacts().resolve(given).map_err(|error| EngineError::BadInput(error.to_string()))?;
            return if found.is_file() { Ok(given.to_owned()) } else { Err(missing(given)) };
        }
        if state.evidence.workspace.is_none() {
            return Err(missing(given));
        }
        let workspace = self.workspace(state)?;
        workspace.connected()?;
        let root = workspace.path.canonicalize().map_err(|_| missing(given))?;
        let artifacts = self.dir().join("artifacts");
        let path = root.join(given).canonicalize().map_err(|_| missing(given))?;
        if let Some(name) = beneath(&path, &artifacts) {
            return Ok(format!("artifact://{name}"));
        }
        beneath(&path, &root).filter(|_| path.is_file()).ok_or_else(|| {
            EngineError::BadInput(format!("'{given}' lies outside the worktree and the bubble's artifacts"))
        })
    }
}

/// The files in which projects say how work is done, the most binding first.
const STANDARDS: [&str; 5] =
    ["CONSTITUTION.md", "constitution.md", ".specify/memory/constitution.md", "AGENTS.md", "CLAUDE.md"];
/// How many lines of a standard are quoted, and how many bytes of it are read.
const QUOTED: (usize, usize) = (200, 32 * 1024);
/// The longest difference that is shown, in bytes.
const LONGEST: usize = 8 * 1024 * 1024;
/// The longest difference that is kept in the brief itself, in bytes.
const INLINE: usize = 128 * 1024;
/// The longest template of a repository, in bytes.
const TEMPLATE: usize = 32 * 1024;
/// The mode of a symbolic link.
const LINK: &str = "120000";

impl Engine {
    /// Returns the templates of briefs in `pairflow-templates/` of a branch, by name, if they can be used.
    pub fn repository_templates(repo: &Repo, branch: &str) -> Result<BTreeMap<String, String>, EngineError> {
        let (git, base) = (repo.git(), repo.resolve_branch(branch)?);
        let call = GitCall::new(["ls-tree", "-z", "--full-tree", &base.0, "--", "pairflow-templates/"]);
        let mut templates = BTreeMap::new();
        for (path, (mode, blob)) in tree_entries(&git.run(call)?) {
            let bytes = git.run(GitCall::new(["cat-file", "blob", &blob]).cut_at(TEMPLATE + 1))?.stdout;
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
        // Binary content has NUL bytes or is not UTF-8.
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
    let call = GitCall::new(["ls-tree", "-z", "--full-tree", &tree.0, "--"]);
    Ok(tree_entries(&git.run(STANDARDS.iter().fold(call, GitCall::arg))?))
}

/// The mode and the blob of each file that git listed, by path.
fn tree_entries(listed: &GitOutput) -> BTreeMap<String, (String, String)> {
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
    let read = |object: &str| git.run(GitCall::new(["cat-file", "blob", object]).accept(&[0, 128]).cut_at(bytes));
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

/// How much of a bad name is shown.
const SHOWN: usize = 80;

/// The path relative to `root`, if it lies beneath it.
fn beneath(path: &Path, root: &Path) -> Option<String> {
    let root = root.canonicalize().ok()?;
    let rest = path.strip_prefix(root).ok()?;
    let plain = rest.components().all(|part| matches!(part, Component::Normal(_)));
    plain.then(|| rest.to_str().map(str::to_owned)).flatten()
}

fn missing(given: &str) -> EngineError {
    EngineError::BadInput(format!("'{given}' is not a file of the worktree or of the bubble's artifacts"))
}
