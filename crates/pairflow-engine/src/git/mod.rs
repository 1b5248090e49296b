//! All calls of git go through one function.
//!
//! [`Git`] pins the directories, switches off whatever a repository could make git run, and bounds time and output. The
//! other files build on it: repositories, worktrees, snapshots, commits and merges. Nothing here knows the log or the
//! loop.

mod commit;
mod error;
mod identity;
mod isolation;
mod merge;
mod repo;
mod run;
mod snapshot;
mod update;
mod workspace;

pub(crate) use commit::show_in_index;
pub use commit::{BubbleCommit, CommitRequest, commit};
pub use error::GitError;
pub use identity::{commit_hooks, commit_identity, hooks_changed_by_work};
pub use merge::{
    MergeKind, MergeOutcome, MergePlan, MergeRequest, MergedTree, commits_between, conflicts, merge, merge_tree,
    plan_merge,
};
pub(crate) use merge::{checked_out_at, clean_checkout, merge_marked};
pub use repo::{GitHead, Repo, exclude_own_files, head, insist_on_plain_path, is_ancestor, loose_tip, seed};
pub(crate) use repo::{fetch, linked, resolve, tree_of, update_refs};
pub(crate) use run::insist_on_recent;
pub use run::{Git, GitCall, GitOutput, OLDEST_GIT, is_recent, version};
pub use snapshot::{
    KeptSnapshot, changes, diff_stat, diff_text, exact_patch, keep, line_diff, observe, same_change, take,
};
pub(crate) use snapshot::{NEWEST, bare_line_diff, fetch_from_clone, is_reread, lay_over, own_commit};
pub(crate) use update::{ManualMerge, bring_to, force_to, is_untouched, join_by_hand, would_update};
pub use update::{UpdateRequest, Updated, update};
pub use workspace::{Worktree, ignore_changes};
pub(crate) use workspace::{attributes_hash, exclude_patterns, forget_index};
