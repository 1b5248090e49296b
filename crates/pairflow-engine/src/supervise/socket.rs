//! How others talk to the supervisor: one JSON line in, one JSON line out.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use pairflow_core::ids::BubbleId;
use serde::{Deserialize, Serialize};

use super::run::Message;
use crate::engine::UserDirs;
use crate::seat::{fitting, private_dir};

/// What the supervisor can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Ask {
    /// Look at this bubble now.
    Wake {
        /// Its repository.
        repo: PathBuf,
        /// Its name.
        id: BubbleId,
        /// The environment of the person who asks, in which agents are started from here on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        env: Vec<(String, String)>,
    },
    /// Say how you are.
    Status,
    /// End.
    Stop,
}

/// Someone who asked and waits for one line.
pub(super) struct Asker {
    reply: Sender<String>,
    told: Receiver<()>,
}

impl Asker {
    /// Answers. An asker who is gone already needs no answer.
    pub(super) fn tell(&self, reply: String) {
        let _ = self.reply.send(reply);
    }

    /// Answers and returns once the answer is on its way, for a process that is about to end.
    pub(super) fn tell_and_see(&self, reply: String) {
        self.tell(reply);
        // The other side says nothing; it hangs up when it is done.
        let _ = self.told.recv_timeout(Duration::from_secs(5));
    }
}

/// Returns the path of the supervisor's socket. A path that is too long for a socket gets a short stand-in.
pub fn socket_path(dirs: &UserDirs) -> PathBuf {
    fitting(&dirs.runtime.join("supervisor.sock"))
}

/// Returns the path of the lock that only one supervisor of a user can hold.
pub(super) fn lock_path(dirs: &UserDirs) -> PathBuf {
    dirs.runtime.join("supervisor.lock")
}

/// Listens on the socket; every question goes to `out` with a way to answer it.
pub(super) fn listen(path: &Path, out: Sender<Message>) -> std::io::Result<()> {
    if let Some(dir) = path.parent() {
        private_dir(dir)?;
    }
    // The caller holds the supervisor's lock, so a socket that is there belongs to nobody.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    std::thread::Builder::new().name("socket".to_owned()).spawn(move || {
        for stream in listener.incoming().flatten() {
            let out = out.clone();
            // One slow caller must not keep the others waiting.
            let _ = std::thread::Builder::new().name("caller".to_owned()).spawn(move || answer(&stream, &out));
        }
    })?;
    Ok(())
}

fn answer(stream: &UnixStream, out: &Sender<Message>) {
    let patience = Some(Duration::from_secs(5));
    if stream.set_read_timeout(patience).and_then(|()| stream.set_write_timeout(patience)).is_err() {
        return;
    }
    let mut line = String::new();
    let limited = std::io::Read::take(stream, 4 * 1024 * 1024);
    if BufReader::new(limited).read_line(&mut line).is_err() {
        return;
    }
    // Hung up when this caller has been served.
    let (_serving, told) = channel::<()>();
    let reply = match serde_json::from_str::<Ask>(&line) {
        Err(error) => format!("{{\"error\":{:?}}}", error.to_string()),
        Ok(ask) => {
            let (reply, from_loop) = channel();
            let sent = out.send(Message::Asked(ask, Asker { reply, told })).is_ok();
            let reply = sent.then(|| from_loop.recv_timeout(Duration::from_secs(5)).ok()).flatten();
            reply.unwrap_or_else(|| "{\"error\":\"the supervisor is ending\"}".to_owned())
        }
    };
    let mut stream = stream;
    // A caller that went away needs no answer.
    let _ = stream.write_all(format!("{reply}\n").as_bytes());
}
