//! The one commit of a bubble: exactly the approved tree, on the recorded base, by the person.
//!
//! The branch moves by compare-and-swap together with the refs that remember the old tip and our own commit, so a crash
//! leaves either nothing or everything; asking again finds the commit that is already there.

use std::path::PathBuf;

use pairflow_core::ids::{CommitId, TreeId};
use pairflow_core::log::{CommitIdentity, Person, Signing};

use super::identity::RunnableHooks;
use super::{
    Git, GitCall, GitError, GitHead, Repo, Worktree, commit_identity, fetch_from_clone, head, is_ancestor, resolve,
};

/// What is to be committed.
#[derive(Debug, Clone)]
pub struct CommitRequest<'a> {
    /// Where. Its `base` becomes the only parent.
    pub workspace: &'a Worktree,
    /// The approved tree.
    pub tree: &'a TreeId,
    /// The bubble's branch.
    pub branch: &'a str,
    /// The message.
    pub message: &'a str,
    /// Whether the repository's own hooks have a say.
    pub hooks: bool,
    /// Who commits, as recorded; the rest is taken from git's configuration now.
    pub identity: Option<&'a CommitIdentity>,
}

/// A commit that is on the bubble's branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BubbleCommit {
    /// The commit.
    pub commit: CommitId,
    /// What agents had committed on the branch before; kept at `refs/pairflow/<id>/old-tip`.
    pub old_tip: Option<CommitId>,
    /// Whether the worktree's index now shows only edits that came later. It does not when the worktree is on another
    /// branch or its index is in use.
    pub index_refreshed: bool,
}

/// How long git waits for another process that moves the branch, in milliseconds.
const REF_PATIENCE: &str = "5000";

/// Makes the commit, or finds it if it is already there.
pub fn commit(request: &CommitRequest<'_>) -> Result<BubbleCommit, GitError> {
    request.workspace.connected()?;
    let git = request.workspace.git();
    let message = normalize_message(request.message)?;
    let branch = format!("refs/heads/{}", request.branch);
    let tip = resolve(&git, &branch)?;
    let identity = resolve_identity(request.identity, &request.workspace.repo()?)?;
    let making = CommitAttempt { request, git: &git, branch: &branch, identity: &identity };
    let commit = match &tip {
        Some(tip) if making.is_made(tip, &message)? => tip.clone(),
        tip => making.make(tip.as_ref(), message)?,
    };
    if request.workspace.is_clone() {
        deliver(request, &branch, &commit)?;
    }
    let old_tip = resolve(&git, &request.workspace.private_ref("old-tip"))?;
    let index_refreshed = refresh_index(request, &git).is_ok_and(|done| done);
    Ok(BubbleCommit { commit, old_tip, index_refreshed })
}

/// Returns who commits: as recorded, and where nothing is recorded, by git's configuration now.
pub(super) fn resolve_identity(recorded: Option<&CommitIdentity>, repo: &Repo) -> Result<CommitIdentity, GitError> {
    let Some(recorded) = recorded else { return commit_identity(repo) };
    if recorded.author.is_some() && recorded.committer.is_some() {
        return Ok(recorded.clone());
    }
    let now = commit_identity(repo)?;
    let (author, committer) = (recorded.author.clone().or(now.author), recorded.committer.clone().or(now.committer));
    Ok(CommitIdentity { author, committer, ..recorded.clone() })
}

/// Commits a tree as the person, signed if the person signs commits.
pub(super) fn commit_as_person(
    git: &Git,
    tree: &TreeId,
    parents: &[&CommitId],
    message: String,
    identity: &CommitIdentity,
) -> Result<CommitId, GitError> {
    let (Some(author), Some(committer)) = (&identity.author, &identity.committer) else {
        return Err(GitError::NoIdentity);
    };
    let mut call = GitCall::new(["commit-tree", &tree.0, "-F", "-"]).input(message).durable();
    call = call.env("GIT_AUTHOR_NAME", &author.name).env("GIT_AUTHOR_EMAIL", &author.email);
    call = call.env("GIT_COMMITTER_NAME", &committer.name).env("GIT_COMMITTER_EMAIL", &committer.email);
    if let Some(signing) = &identity.signing {
        call = sign(git, call, signing, committer)?;
    }
    let made = git.run(parents.iter().fold(call, |call, parent| call.arg("-p").arg(&parent.0)));
    let signs = identity.signing.is_some();
    let made = made.map_err(|error| match error {
        GitError::Failed { stderr: said, .. } if signs => GitError::NotSigned(said),
        GitError::TimedOut { secs, .. } if signs => {
            GitError::NotSigned(format!("the signing program did not end within {secs} seconds"))
        }
        other => other,
    });
    made?.commit()
}

/// Has a commit signed as recorded, whatever the configuration says by now.
fn sign(git: &Git, call: GitCall, signing: &Signing, committer: &Person) -> Result<GitCall, GitError> {
    let Signing { format, program, key } = signing;
    let call = call.setting("gpg.format", format).setting(&format!("gpg.{format}.program"), program);
    match key {
        Some(key) => Ok(call.arg(format!("-S{key}"))),
        None if format != "ssh" => Ok(call.arg(format!("-S{committer}"))),
        // Only git knows the usual key, and it would take one that was set since.
        None => {
            match git.run(GitCall::new(["config", "--get", "user.signingKey"]).unpinned_config().accept(&[0, 1]))?.code
            {
                0 => Err(GitError::NotSigned("user.signingKey was set after the bubble was created".to_owned())),
                _ => Ok(call.arg("-S")),
            }
        }
    }
}

/// One attempt to make the commit.
struct CommitAttempt<'a> {
    request: &'a CommitRequest<'a>,
    git: &'a Git,
    branch: &'a str,
    identity: &'a CommitIdentity,
}

impl CommitAttempt<'_> {
    /// Whether `tip` is this very commit, made by an attempt whose end was not recorded.
    fn is_made(&self, tip: &CommitId, message: &str) -> Result<bool, GitError> {
        let (request, git) = (self.request, self.git);
        let format = "--format=%T%n%P%n%an <%ae>%n%cn <%ce>%n%B";
        let shown = git.run(GitCall::new(["show", "-s", "--no-show-signature", "--no-mailmap", format, &tip.0]))?;
        let shown = String::from_utf8_lossy(&shown.stdout);
        let mut parts = shown.splitn(5, '\n');
        let mut next = |expected: Option<String>| expected.as_deref() == parts.next();
        let same = next(Some(request.tree.0.clone())) && next(Some(request.workspace.base.0.clone()));
        let by = |person: &Option<Person>| person.as_ref().map(ToString::to_string);
        if !same || !next(by(&self.identity.author)) || !next(by(&self.identity.committer)) {
            return Ok(false);
        }
        if self.identity.signing.is_some() && !is_signed(git, tip)? {
            return Ok(false);
        }
        let same_message = parts.next().is_some_and(|found| found.trim_end() == message.trim_end());
        // A hook may have changed the message, so then it is our own note that tells.
        let noted = || resolve(git, &request.workspace.private_ref("commit"));
        Ok(same_message || request.hooks && noted()?.as_ref() == Some(tip))
    }

    fn make(&self, tip: Option<&CommitId>, message: String) -> Result<CommitId, GitError> {
        let (request, git, branch) = (self.request, self.git, self.branch);
        let message = if request.hooks { self.ask_hooks(message)? } else { message };
        let original = message.clone();
        let base = &request.workspace.base;
        let commit = commit_as_person(git, request.tree, &[base], message, self.identity)?;
        let zero = CommitId("0".repeat(base.0.len()));
        let mut moves = format!("start\nupdate {branch} {commit} {}\n", tip.unwrap_or(&zero));
        moves += &format!("update {} {commit}\n", request.workspace.private_ref("commit"));
        if let Some(tip) = tip.filter(|tip| *tip != base)
            && !is_ancestor(git, tip, base)?
        {
            moves += &format!("update {} {tip}\n", request.workspace.private_ref("old-tip"));
        }
        moves += "prepare\ncommit\n";
        let moved = git.run(
            GitCall::new(["update-ref", "-m", "pairflow: commit", "--stdin"])
                .input(moves)
                .setting("core.filesRefLockTimeout", REF_PATIENCE)
                .durable(),
        );
        let Err(error) = moved else { return Ok(commit) };
        // The git of an attempt that was killed may live a moment longer than it, and have made the very same commit.
        match resolve(git, branch).ok().flatten() {
            Some(found) if self.is_made(&found, &original).is_ok_and(|made| made) => Ok(found),
            _ => Err(moved_error(git, branch, tip.unwrap_or(&zero), error)),
        }
    }

    /// Runs the hooks on exactly what is to be committed, and returns the message that they leave.
    fn ask_hooks(&self, message: String) -> Result<String, GitError> {
        let CommitRequest { workspace, tree, .. } = *self.request;
        let hooks = RunnableHooks::of(workspace, self.identity.hooks.as_ref())?;
        let files = workspace.private_dir("commit-")?;
        let (index, text) = (files.path().join("index"), files.path().join("COMMIT_EDITMSG"));
        let git = workspace.git_inside();
        git.run(GitCall::new(["read-tree", &tree.0]).index(&index))?;
        git.run(GitCall::new(["update-index", "-q", "--refresh"]).index(&index).accept(&[0, 1]))?;
        crate::regular::write(&text, message).map_err(GitError::io("write", &text))?;
        let run = |hook: &'static str, args: &[&PathBuf]| {
            let call = GitCall::new(["hook", "run", "--ignore-missing", hook])
                .index(&index)
                .setting("core.hooksPath", hooks.path())
                .filtered_env();
            let call = args.iter().fold(call.arg("--"), GitCall::arg).env("GIT_LITERAL_PATHSPECS", "0");
            git.run(call.within(std::time::Duration::from_secs(600))).map_err(|error| match error {
                GitError::Failed { stderr, .. } => GitError::HookRefused { hook, output: stderr },
                other => other,
            })
        };
        run("pre-commit", &[])?;
        if git.run(GitCall::new(["write-tree"]).index(&index))?.tree()? != *tree {
            return Err(GitError::HookChangedTree);
        }
        run("commit-msg", &[&text])?;
        let message = crate::regular::read_text(&text).map_err(GitError::io("read", &text))?;
        normalize_message(&message)
    }
}

/// Whether a commit has a signature, good or bad.
fn is_signed(git: &Git, commit: &CommitId) -> Result<bool, GitError> {
    let shown = git.run(GitCall::new(["cat-file", "commit", &commit.0]))?;
    let headers = String::from_utf8_lossy(&shown.stdout);
    Ok(headers.lines().take_while(|line| !line.is_empty()).any(|line| line.starts_with("gpgsig")))
}

/// Says that a branch moved, if that is why a compare-and-swap failed.
pub(super) fn moved_error(git: &Git, branch: &str, expected: &CommitId, error: GitError) -> GitError {
    match resolve(git, branch) {
        Ok(found) if found.as_ref() != Some(expected) => {
            let branch = branch.trim_start_matches("refs/heads/").to_owned();
            GitError::BranchMoved { branch, expected: expected.clone(), found }
        }
        _ => error,
    }
}

/// Fetches the commit of a clone into the repository, on a branch that must not exist yet.
fn deliver(request: &CommitRequest<'_>, branch: &str, commit: &CommitId) -> Result<(), GitError> {
    let note = request.workspace.private_ref("commit");
    fetch_from_clone(request.workspace, branch, &note, &commit.0)?;
    let git = request.workspace.repo()?.git();
    match resolve(&git, branch)? {
        Some(tip) if tip == *commit => Ok(()),
        Some(tip) => Err(GitError::BranchTaken { branch: request.branch.to_owned(), tip }),
        None => {
            let zero = "0".repeat(commit.0.len());
            git.run(GitCall::new(["update-ref", branch, &commit.0, &zero]).durable()).map(drop)
        }
    }
}

/// Makes the worktree's index show the new commit, so that `git status` lists later edits only. No file is touched.
fn refresh_index(request: &CommitRequest<'_>, git: &Git) -> Result<bool, GitError> {
    let workspace = request.workspace;
    if head(&workspace.git_dir) != GitHead::Branch(request.branch.to_owned()) {
        return Ok(false);
    }
    show_in_index(workspace, git, &request.tree.0)?;
    Ok(true)
}

/// Sets the worktree's own index to a tree, without touching a file.
pub(crate) fn show_in_index(workspace: &Worktree, git: &Git, tree: &str) -> Result<(), GitError> {
    git.run(GitCall::new(["read-tree", "--reset", tree]).index(&workspace.index()).whole())?;
    let refresh = GitCall::new(["update-index", "-q", "--refresh"]).index(&workspace.index());
    git.run(refresh.accept(&[0, 1])).map(drop)
}

fn normalize_message(message: &str) -> Result<String, GitError> {
    let message = message.trim();
    if message.is_empty() { Err(GitError::EmptyMessage) } else { Ok(format!("{message}\n")) }
}
