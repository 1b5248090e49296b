//! Repositories and worktrees: snapshots, commits, and settings that must not count.

mod commit;
mod hostile;
mod workspace;
