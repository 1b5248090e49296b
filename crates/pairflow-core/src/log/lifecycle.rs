//! What became of the bubble itself: the payload of `LIFECYCLE`, and the workspace that it speaks of.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::facts::{Receipt, Seat, Severity};
use crate::ids::{AgentId, CommitId, TreeId};
use crate::rules::{ConfigChange, Rules};

/// What became of the bubble itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a fact is made, written and folded, one at a time")]
pub enum Lifecycle {
    /// The bubble exists.
    Created {
        /// The repository's root.
        repo: String,
        /// The text of the task.
        task: String,
        /// Its acceptance criteria.
        acceptance_criteria: Vec<String>,
        /// The configuration in force.
        rules: Box<Rules>,
        /// How the check commands were confirmed: `asked`, `yes`, `explicit`, `no_tests`, `trusted`, `before`.
        confirmed: String,
        /// Who commits, as git said at this moment. Older logs have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        identity: Option<CommitIdentity>,
    },
    /// The person adopted what git says now about who commits.
    IdentitySet {
        /// Who commits from here on.
        identity: CommitIdentity,
    },
    /// The person took over a bubble that somebody else's pairflow wrote, or that could not be told from such a one.
    ///
    /// What was checked, reviewed and approved before does not count, and nothing is done before the person resumes it.
    Adopted {
        /// The repository's root.
        repo: String,
        /// Why it was foreign.
        reason: String,
    },
    /// A start was asked for.
    StartRequested {
        /// The configuration in force from here on.
        rules: Box<Rules>,
    },
    /// A newer version of the policy's rules is in force from here on.
    PolicyMoved {
        /// The version.
        version: u32,
    },
    /// The acceptance tests could not be run, and go back to the agent that wrote them.
    AcceptanceReturned {
        /// Why.
        why: String,
    },
    /// Worktree and branch are there.
    WorkspaceReady {
        /// Where and from what.
        workspace: WorkspaceRecord,
    },
    /// The start did not work; the bubble can be started again.
    StartFailed {
        /// Why, with the next step.
        reason: String,
    },
    /// An agent may act.
    TurnOpened {
        /// The number of the turn, counted over the whole life of the bubble.
        turn: u32,
        /// Which seat it belongs to.
        seat: Seat,
        /// Which agent holds it.
        agent: AgentId,
        /// How many slices the change under review was cut into; none if it stands in the brief as a whole.
        #[serde(default, skip_serializing_if = "crate::log::body::is_zero")]
        slices: u32,
    },
    /// An agent process may now prove itself with this token.
    TokenMinted {
        /// Which agent.
        agent: AgentId,
        /// The SHA-256 of the token.
        token_sha256: String,
    },
    /// An agent's program was started, or told which session it has.
    AgentSession {
        /// Which agent.
        agent: AgentId,
        /// For which turn it was started; 0 before its first one.
        turn: u32,
        /// In which seat, if that was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seat: Option<Seat>,
        /// By which name the session can be taken up again, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
    },
    /// An agent's program was seen at work while another agent reviewed: who changed files in that turn is not known.
    AtWorkOutOfTurn {
        /// Which agent.
        agent: AgentId,
        /// In which turn.
        turn: u32,
    },
    /// The approved tree is about to be committed.
    CommitRequested {
        /// The message.
        message: String,
        /// Why files out of scope are committed nevertheless.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        override_scope: Option<String>,
        /// Whether the repository's own hooks run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hooks: bool,
        /// Who commits, if that was not known when the bubble was created.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        author: Option<Person>,
    },
    /// The commit was made.
    Committed {
        /// The commit.
        commit: CommitId,
        /// What the branch pointed to before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        old_tip: Option<CommitId>,
    },
    /// The commit could not be made; it can be tried again.
    CommitFailed {
        /// Why, with the next step.
        reason: String,
    },
    /// The base branch is to be merged into the worktree.
    UpdateRequested {
        /// The conflict that the person has resolved in the worktree; those files are taken as they are there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resolved: Option<Conflict>,
    },
    /// The base branch was merged into the worktree.
    Updated {
        /// The new base.
        base: CommitId,
        /// Its tree.
        base_tree: TreeId,
        /// Whether the work changes the same files from the same content to the same content as before, so that the
        /// clean reviews of it are kept.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        same_patch: bool,
    },
    /// The base branch could not be merged.
    UpdateFailed {
        /// Why, with the next step.
        reason: String,
        /// What a person has to resolve, if that is why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conflict: Option<Conflict>,
    },
    /// The person changed the configuration.
    Configured {
        /// Whether an open review waits until checks have run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        recheck: bool,
        /// The configuration in force from here on.
        rules: Box<Rules>,
        /// What changed.
        changes: Vec<ConfigChange>,
    },
    /// The bubble's commit reached the base branch.
    Merged {
        /// What the base branch points to now.
        commit: CommitId,
    },
    /// The person found a defect in the work after the bubble was done. Nothing follows from it.
    Escaped {
        /// How severe it is.
        severity: Severity,
        /// What is wrong.
        text: String,
    },
    /// An unrecoverable error ended the bubble.
    Failed {
        /// Why.
        reason: String,
    },
    /// The person stopped the bubble.
    Cancelled {
        /// Why, if said.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
}

/// A base that does not fit the bubble's work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// The base that was to be merged.
    pub base: CommitId,
    /// The files in which both sides changed the same lines.
    pub files: Vec<String>,
}

/// Where a bubble works, and what it was cut from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceRecord {
    /// The worktree's root.
    pub path: String,
    /// Its git directory.
    pub git_dir: String,
    /// The git directory that it shares with the repository (its own, for a clone).
    pub common_dir: String,
    /// The base commit.
    pub base: CommitId,
    /// The tree of the base commit.
    pub base_tree: TreeId,
    /// The first of the ports leased to the bubble.
    pub port: u16,
    /// How many ports are leased.
    pub ports: u16,
    /// What the setup command did, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Receipt>,
    /// Files copied because `.worktreeinclude` names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub included: Vec<String>,
    /// What the worktree stood on when it was ready.
    #[serde(default)]
    pub ground: Ground,
}

/// What a worktree stood on when it was ready for the first turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ground {
    /// The patterns of the repository's `info/exclude`; they stay in force, whatever becomes of that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excludes: Option<String>,
    /// The SHA-256 of the repository's `info/attributes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<String>,
    /// The tree, if it was not the base's: earlier work that goes on, or files that the setup command changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeId>,
    /// Files with conflict markers: earlier work and the base changed the same lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
}

/// Who makes the commit, how it is signed, and which hooks have a say in it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CommitIdentity {
    /// The author; nothing if git did not know one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Person>,
    /// The committer; nothing if git did not know one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committer: Option<Person>,
    /// How the commit is signed; nothing if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing: Option<Signing>,
    /// The repository's hooks; nothing if they could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<Hooks>,
}

/// A name and an address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
}

/// How a commit is signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signing {
    /// The format: `openpgp`, `ssh` or `x509`.
    pub format: String,
    /// The program that signs.
    pub program: String,
    /// The key; without one git chooses it by the committer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The hooks of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Hooks {
    /// They are files of the repository, so those of the base are run.
    Base {
        /// The directory, relative to the root.
        path: String,
    },
    /// They lie outside of the tree, and are run as long as nobody has changed them.
    Directory {
        /// The directory; relative to the root if it lies below it.
        path: String,
        /// Its files, by their paths below it.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        files: BTreeMap<String, HookFile>,
    },
}

/// One file among the hooks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookFile {
    /// The SHA-256 of its content.
    pub sha256: String,
    /// Whether it can be executed.
    pub executable: bool,
}

impl CommitIdentity {
    /// Says how `now` differs, one clause for each difference; nothing if it does not.
    pub fn differences(&self, now: &Self) -> Vec<String> {
        let mut found = Vec::new();
        let mut compare = |what: &str, was: String, is: String| {
            if was != is {
                found.push(format!("the {what} was {was}, is {is}"));
            }
        };
        compare("author", shown(self.author.as_ref()), shown(now.author.as_ref()));
        compare("committer", shown(self.committer.as_ref()), shown(now.committer.as_ref()));
        compare("signature", shown(self.signing.as_ref()), shown(now.signing.as_ref()));
        if let (Some(was), Some(is)) = (&self.hooks, &now.hooks) {
            compare("hooks directory", was.path().to_owned(), is.path().to_owned());
            let changed = was.changed(is);
            if !changed.is_empty() {
                found.push(format!("hooks were changed: {}", changed.join(", ")));
            }
        }
        found
    }
}

impl Hooks {
    /// Returns the directory.
    pub fn path(&self) -> &str {
        match self {
            Self::Base { path } | Self::Directory { path, .. } => path,
        }
    }

    /// Names the files that are not the same in `now`. Those of the base are compared nowhere: they are not read.
    pub fn changed(&self, now: &Self) -> Vec<String> {
        let (Self::Directory { path, files: was }, Self::Directory { path: there, files: is }) = (self, now) else {
            return Vec::new();
        };
        if path != there {
            return Vec::new();
        }
        let names = was.keys().chain(is.keys().filter(|name| !was.contains_key(*name)));
        names.filter(|name| was.get(*name) != is.get(*name)).cloned().collect()
    }
}

impl fmt::Display for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <{}>", self.name, self.email)
    }
}

impl fmt::Display for Signing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.as_deref().unwrap_or("chosen by the committer");
        write!(f, "{} by {} (key {key})", self.format, self.program)
    }
}

fn shown(value: Option<&impl fmt::Display>) -> String {
    value.map_or_else(|| "none".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(name: &str, hook: Option<&str>) -> CommitIdentity {
        let person = Some(Person { name: name.to_owned(), email: "ada@example.org".to_owned() });
        let file = |sha: &str| ("pre-commit".to_owned(), HookFile { sha256: sha.to_owned(), executable: true });
        let files = hook.map(file).into_iter().collect();
        let hooks = Some(Hooks::Directory { path: "/repo/.git/hooks".to_owned(), files });
        CommitIdentity { author: person.clone(), committer: person, signing: None, hooks }
    }

    #[test]
    fn an_unchanged_identity_has_no_differences() {
        assert!(identity("Ada", Some("1")).differences(&identity("Ada", Some("1"))).is_empty());
    }

    #[test]
    fn each_difference_says_what_was_and_what_is() {
        let was = identity("Ada", None);
        let signing = Signing { format: "ssh".to_owned(), program: "ssh-keygen".to_owned(), key: None };
        let now = CommitIdentity { signing: Some(signing), ..identity("Eve", Some("1")) };
        assert_eq!(
            was.differences(&now),
            [
                "the author was Ada <ada@example.org>, is Eve <ada@example.org>",
                "the committer was Ada <ada@example.org>, is Eve <ada@example.org>",
                "the signature was none, is ssh by ssh-keygen (key chosen by the committer)",
                "hooks were changed: pre-commit",
            ]
        );
    }

    #[test]
    fn a_hook_that_is_gone_or_not_executable_any_more_is_a_changed_one() {
        let hooks = |executable| {
            let file = HookFile { sha256: "1".to_owned(), executable };
            Hooks::Directory { path: "/h".to_owned(), files: [("commit-msg".to_owned(), file)].into() }
        };
        let none = Hooks::Directory { path: "/h".to_owned(), files: BTreeMap::new() };
        assert_eq!(hooks(true).changed(&none), ["commit-msg"]);
        assert_eq!(hooks(true).changed(&hooks(false)), ["commit-msg"]);
    }
}
