//! Where bubbles work: made, found again after a crash, archived and removed.
//!
//! Everything that changes the list of worktrees happens under one kernel lock per repository. Whatever a failed call
//! made, it takes away again; whatever it did not make, it leaves alone.

mod archive;
mod checkout;
mod error;
mod place;
mod prepare;
mod restore;

pub use archive::{
    Archived, DeleteRequest, clear_archive, delete, newest_archive, put_files_back, put_refs_back, remove,
};
pub use checkout::{Checkout, Scratch, SetUpFor, remove_checkout};
pub use error::WorkspaceError;
pub use place::{DEFAULT_COUNT, Location, PortLease, default_path, lease, locate, release, worktrees_dir};
pub use prepare::{PreparedWorkspace, WorkspaceRequest, copy_included, discard, prepare};
pub use restore::{FormerLocation, move_here, relink, restore};
