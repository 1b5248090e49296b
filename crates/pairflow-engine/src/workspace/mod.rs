//! The worktrees and clones in which bubbles work: made, restored, moved, archived and removed.
//!
//! Every change of the list of worktrees happens under one kernel lock per repository. A call that fails removes what it
//! made, and nothing else.

mod archive;
mod checkout;
mod error;
mod place;
mod prepare;
mod restore;

pub use archive::{
    Archived, DeleteRequest, archives, clear_archive, delete, newest_archive, put_files_back, put_refs_back, remove,
};
pub use checkout::{Checkout, Scratch, SetUpFor, make_scratch, remove_checkout, remove_scratch, scratch_path};
pub use error::WorkspaceError;
pub use place::{DEFAULT_COUNT, Location, PortLease, default_path, lease, locate, release, worktrees_dir};
pub use prepare::{PreparedWorkspace, WorkspaceRequest, copy_included, discard, prepare};
pub use restore::{FormerLocation, move_here, relink, restore};
