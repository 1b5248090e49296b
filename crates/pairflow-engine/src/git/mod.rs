//! Everything that is asked of git, through one function.
//!
//! [`Git`] pins the directories, silences whatever a repository could make git run, and bounds time and output; the
//! other files here are the questions: where a repository is, what a tree looks like, how a commit and a merge are made.
//! Nothing in here knows the log or the loop.

mod apart;
mod blocked;
mod commit;
mod diff;
mod error;
mod excludes;
mod head;
mod hooks;
mod identity;
mod index;
mod merge;
mod pins;
mod repo;
mod run;
mod seed;
mod snapshot;
mod update;
mod version;
mod workspace;

pub(crate) use commit::show_in_index;
pub use commit::{CommitRequest, Committed, commit};
pub(crate) use diff::bare_line_diff;
pub use diff::{changes, diff_stat, diff_text, exact_patch, line_diff, same_change};
pub use error::GitError;
pub use excludes::ignore_changes;
pub(crate) use excludes::{attributes_hash, exclude_patterns};
pub use head::{Head, head};
pub use hooks::{commit_hooks, hooks_changed_by_work};
pub use identity::commit_identity;
pub(crate) use index::forget_index;
pub use merge::{
    Advanced, How, MergePlan, MergeRequest, MergedTree, commits_between, conflicts, merge, merge_tree, plan_merge,
};
pub(crate) use merge::{checked_out_at, clean_checkout, merge_marked};
pub use repo::{Repo, exclude_own_files, insist_on_plain_path, is_ancestor};
pub(crate) use repo::{linked, replace, resolve, unique};
pub(crate) use run::insist_on_recent;
pub use run::{Call, Git, Output, version};
pub use seed::seed;
pub(crate) use snapshot::{NEWEST, is_reread, own_commit, relay};
pub use snapshot::{Taken, keep, observe, take};
pub(crate) use update::{ByHand, bring_to, force_to, is_untouched, join_by_hand, tree_of, would_update};
pub use update::{Updated, Wanted, update};
pub use version::{OLDEST_GIT, is_recent};
pub use workspace::Workspace;
