//! Seats whose sockets the test itself keeps open, where otherwise the supervisor does, and callers of them.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use pairflow_core::ids::AgentId;
use pairflow_engine::agent_socket::{AgentSocket, HookEvent};
use pairflow_engine::clock::SystemClock;
use pairflow_engine::engine::{Bubble, Engine, UserDirs};
use pairflow_engine::store::RealDisk;
use pairflow_testkit::home::{Home, Ran};
use pairflow_testkit::wait::PATIENCE;

/// One seat of a bubble, with its socket open.
pub(crate) struct Seat<'a> {
    home: &'a Home,
    bubble: String,
    agent: String,
    pub(crate) worktree: PathBuf,
    pub(crate) path: PathBuf,
    pub(crate) socket: Option<AgentSocket>,
    pub(crate) calls: Receiver<HookEvent>,
}

/// Opens the socket of one seat.
#[track_caller]
pub(crate) fn seat<'a>(home: &'a Home, bubble: &str, agent: &str) -> Seat<'a> {
    let status = home.status(bubble);
    let worktree = status["worktree"].as_str().map_or_else(|| home.repo.clone(), PathBuf::from);
    let opened = opened(home, bubble);
    let path = opened.control.seat_socket(&opened.id, &agent.parse().unwrap());
    let (out, calls) = channel();
    let socket =
        AgentSocket::open(Arc::new(opened), agent.parse().unwrap(), path.clone(), move |event| out.send(event).is_ok())
            .unwrap();
    Seat { home, bubble: bubble.to_owned(), agent: agent.to_owned(), worktree, path, socket: Some(socket), calls }
}

/// Opens a bubble as the supervisor does.
#[track_caller]
pub(crate) fn opened(home: &Home, bubble: &str) -> Bubble {
    let dir = |name: &str| home.root().canonicalize().unwrap().join(name);
    let dirs = UserDirs::find(|name| match name {
        "XDG_RUNTIME_DIR" => Some(dir("run").into()),
        "XDG_STATE_HOME" => Some(dir("state").into()),
        "XDG_CONFIG_HOME" => Some(dir("config").into()),
        _ => None,
    });
    let engine = Engine::new(Arc::new(RealDisk), Arc::new(SystemClock), dirs.unwrap());
    engine.bubble(&home.repo, &bubble.parse().unwrap()).unwrap()
}

impl Seat<'_> {
    /// Runs the program as the agent of this seat.
    pub(crate) fn pairflow(&self, args: &[&str]) -> Ran {
        self.home.finish(self.command(args))
    }

    /// Returns the program in this agent's environment, not started yet.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        command.current_dir(&self.worktree).env("PAIRFLOW_SOCKET", &self.path);
        command.env("PAIRFLOW_BUBBLE", &self.bubble).env("PAIRFLOW_AGENT", &self.agent);
        command.env("PAIRFLOW_REPO", &self.home.repo);
        command
    }

    /// Runs the program as the agent of this seat, with `input` on its stdin.
    pub(crate) fn fed(&self, args: &[&str], input: &[u8]) -> Ran {
        fed(self.command(args), input)
    }

    /// Starts the program as the agent of this seat.
    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Claims convergence, with everything that the person has to know.
    pub(crate) fn converged(&self, summary: &str) -> Ran {
        let text = "## What changed\nx\n## Why\nx\n## Risks\nx\n## Manual test plan\nx\n";
        self.fed(&["converged", "--summary", summary, "--explain", "-"], text.as_bytes())
    }

    /// Closes the socket.
    pub(crate) fn close(&mut self) {
        self.socket = None;
    }

    /// Opens the socket again, as the next supervisor does.
    pub(crate) fn reopen(&mut self) {
        let agent: AgentId = self.agent.parse().unwrap();
        let (out, calls) = channel();
        let bubble = Arc::new(opened(self.home, &self.bubble));
        self.socket =
            Some(AgentSocket::open(bubble, agent, self.path.clone(), move |event| out.send(event).is_ok()).unwrap());
        self.calls = calls;
    }

    /// Sends bytes to the socket, says that this is all, and returns what came back.
    pub(crate) fn send(&self, bytes: &[u8]) -> String {
        send(&self.path, bytes)
    }

    /// Writes a file of the worktree.
    pub(crate) fn write(&self, path: &str, text: &str) {
        std::fs::write(self.worktree.join(path), text).unwrap();
    }
}

/// Sends bytes to a socket, says that this is all, and returns what came back.
pub(crate) fn send(path: &Path, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // One that has read enough hangs up.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply);
    String::from_utf8(reply).unwrap()
}

/// Runs a command to its end, with `input` on its stdin.
#[track_caller]
pub(crate) fn fed(mut command: Command, input: &[u8]) -> Ran {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        ended(child)
    })
}

/// Waits for the end of a process.
pub(crate) fn ended(child: Child) -> Ran {
    Ran::of(&child.wait_with_output().unwrap())
}
