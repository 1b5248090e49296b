//! The socket of one seat: it listens as long as this value lives.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use pairflow_core::ids::AgentId;

use super::call::SeatCall;
use super::serve::Seat;
use crate::engine::Bubble;
use crate::local_socket::{Server, ServerOptions};

/// What the callers of one seat get.
const LIMITS: ServerOptions = ServerOptions { name: "seat", callers: 32, write: Duration::from_secs(5) };

/// A seat's socket. Dropped, it takes no more callers and its file is gone; callers that are being served are served.
#[derive(Debug)]
pub struct SeatSocket(Server);

impl SeatSocket {
    /// Listens at `path` for the agent `agent` of `bubble`. Verbs are applied; events of hooks go to `out`.
    ///
    /// Its opener has the bubble in care, so a socket that is there already has no owner.
    pub fn open(bubble: Arc<Bubble>, agent: AgentId, path: PathBuf, out: Sender<SeatCall>) -> io::Result<Self> {
        let seat = Seat { bubble, agent, out };
        Server::open(path, LIMITS, move |stream| seat.serve(stream)).map(Self)
    }

    /// Returns where it listens.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}
