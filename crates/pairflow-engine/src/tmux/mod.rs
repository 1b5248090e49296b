//! A tmux server of our own: a thin wrapper that says exactly what it means. It knows sessions, panes and bytes; what
//! is in a pane, and why, is not known here.
//!
//! **One server, one socket.** Every call names the socket, starts from a cleared environment and has a time limit, so
//! neither `$TMUX` of the caller nor a server that hangs can matter. Targets are pane ids (`%3`) and exact session
//! names (`=name`), never indexes: `base-index` changes nothing, and `pf-a` is never taken for `pf-a-b`.
//!
//! **The person's configuration** is read by the new server, because people who attach want their own keys. What we rely
//! on is then set on our own session, where a configuration that is read again does not reach it. Hooks are taken off
//! the server, since they may do anything; sessions that the configuration itself makes are closed. When no usable
//! session comes of all this, the server is ended and another one is started without any configuration.
//!
//! **Words of a command** never meet a shell: tmux runs two words or more as they are, and only a single one through the
//! default shell. The directory goes in as that of the client, because tmux expands formats in `-c`.
//!
//! **Input** always comes from a paste buffer. Found by experiment with tmux 3.3a:
//! - `paste-buffer` reaches the program also while the pane is in copy mode (or any other mode), and leaves mode and
//!   cursor alone; `send-keys` goes to the mode. So Enter is pasted, too: a line feed, which tmux turns into the carriage
//!   return of the Enter key when `-r` is not given.
//! - In a mode `-p` puts no brackets around the text, for tmux asks the mode's screen whether they are wanted. A
//!   single line without control characters, which is all that is accepted here, means the same without them.
//! - Pasting into a pane whose program has ended kills the whole server. So the server itself looks first, in the same
//!   breath (`if-shell -F`).
//! - Codex takes an Enter that comes right after a burst of text for a line break of that text: leave 200 ms or more
//!   between [`Tmux::paste`] and [`Tmux::enter`]. That wait is the caller's.
//!
//! **A program that ignores a hang-up** outlives its pane: [`Tmux::respawn`], [`Tmux::kill_server`] and a person's `kill-pane`
//! send SIGHUP and no more. Process ids are in [`Tmux::panes`], and [`crate::process::when_gone`] tells of an end.

mod client;
mod error;
mod pane;
mod pane_io;
mod server;
mod session;

pub use error::{BadPaneId, PaneId, TmuxError};
pub use pane::Pane;
pub use server::Tmux;
pub use session::{Ensured, SessionPlan};
