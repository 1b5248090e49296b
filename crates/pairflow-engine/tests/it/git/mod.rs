//! Repositories and worktrees: snapshots, commits, and settings that must not count.

mod commit;
mod evil;
mod settings;
mod snapshot;
mod trust;
mod workspace;
