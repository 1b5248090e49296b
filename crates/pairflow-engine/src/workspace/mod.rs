//! Where bubbles work: made, found again after a crash, archived and removed.
//!
//! Everything that changes the list of worktrees happens under one kernel lock per repository. Whatever a failed call
//! made, it takes away again; whatever it did not make, it leaves alone.

mod archive;
mod checkout;
mod error;
mod include;
mod link;
mod locate;
mod mark;
mod moved;
mod place;
mod ports;
mod prepare;
mod restore;
mod scratch;

pub use archive::{
    Archived, DeleteRequest, clear_archive, delete, newest_archive, put_files_back, put_refs_back, remove,
};
pub use checkout::{Checkout, SetUpFor, remove_checkout};
pub use error::WorkspaceError;
pub use include::copy_included;
pub use locate::{Place, locate};
pub use moved::{Former, move_here};
pub use place::{default_path, worktrees_dir};
pub use ports::{DEFAULT_COUNT, Lease, PortsError, lease, release};
pub use prepare::{Prepared, Request, discard, prepare};
pub use restore::{relink, restore};
pub use scratch::Scratch;
