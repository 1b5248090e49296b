//! Someone who answers at the supervisor's door, so that commands start no real one.
//!
//! It pays only what a caller is waiting for: the workspace of a start, and a commit.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use pairflow_core::bubble::Effect;
use pairflow_core::log::WorkspaceRecord;
use pairflow_engine::engine::Engine;
use pairflow_engine::supervisor_client::{Ask, socket_path};

use super::scene::pay;

/// A listener that ends when it is dropped.
pub(super) struct Doorman {
    engine: Engine,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Doorman {
    /// Begins to listen.
    pub(super) fn new(engine: Engine, workspace: WorkspaceRecord) -> std::io::Result<Self> {
        let path = socket_path(&engine.dirs);
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        let listener = UnixListener::bind(path)?;
        let over = Arc::new(AtomicBool::new(false));
        let (own, ended) = (engine.clone(), Arc::clone(&over));
        let thread = std::thread::Builder::new().name("doorman".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::SeqCst) {
                    return;
                }
                // Whoever asked may be dead already.
                let _ = stream.and_then(|stream| answer(&own, &workspace, stream));
            }
        })?;
        Ok(Self { engine, over, thread: Some(thread) })
    }
}

impl Drop for Doorman {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let path = socket_path(&self.engine.dirs);
        let _ = UnixStream::connect(&path);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(path);
    }
}

fn answer(engine: &Engine, workspace: &WorkspaceRecord, mut stream: UnixStream) -> std::io::Result<()> {
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    if let Ok(Ask::Wake { repo, id, .. }) = serde_json::from_str(&line)
        && let Ok(bubble) = engine.bubble(&repo, &id)
    {
        let waited_for =
            |effect: &Effect| matches!(effect, Effect::PrepareWorkspace | Effect::Commit(_) | Effect::RecordDone);
        // The caller sees for itself whether it was done.
        let _ = pay(&bubble, workspace, waited_for);
    }
    let reply = serde_json::json!({ "pid": 1, "version": "0", "bubbles": 1, "busy": 0, "agents": 0 });
    writeln!(stream, "{reply}")
}
