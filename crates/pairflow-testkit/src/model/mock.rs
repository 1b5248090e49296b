//! The server: starts, hands out its address, its record and its gates, and ends with everything that it serves.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::connection::{self, Answers};
use super::gate::{Gate, PATIENCE};
use super::record::{self, Request};
use super::scripts::Scripts;

/// A model on a port of 127.0.0.1. Dropping it ends it, with all streams.
pub struct Mock {
    shared: Arc<Shared>,
    address: SocketAddr,
    acceptor: Option<JoinHandle<()>>,
}

/// What the threads of all connections use together.
struct Shared {
    answers: Answers,
    closing: AtomicBool,
    connections: Mutex<BTreeMap<usize, TcpStream>>,
}

impl Mock {
    /// Starts a model that answers by `scripts`, on a port that was free.
    pub fn start(scripts: Scripts) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port of 127.0.0.1 is free");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Shared {
            answers: Answers::new(scripts),
            closing: AtomicBool::new(false),
            connections: Mutex::default(),
        });
        let served = shared.clone();
        let acceptor = std::thread::spawn(move || accept(&listener, &served));
        Self { shared, address, acceptor: Some(acceptor) }
    }

    /// Returns where it listens, as `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns everything that was asked so far, in the order of arrival.
    pub fn requests(&self) -> Vec<Arc<Request>> {
        self.shared.answers.record.all()
    }

    /// Forgets what was asked so far; numbers go on. Long runs need it, as every request repeats its conversation.
    pub fn forget(&self) {
        self.shared.answers.record.forget();
    }

    /// Waits until `done` says yes to the requests so far, and returns them. It is asked again at every request and
    /// every end of an answer.
    #[track_caller]
    pub fn wait_for(&self, done: impl Fn(&[Arc<Request>]) -> bool) -> Vec<Arc<Request>> {
        match self.wait_within(PATIENCE, done) {
            Ok(requests) => requests,
            Err(requests) => panic!("the model never saw it; it saw:{}", record::list(&requests)),
        }
    }

    /// Waits as [`Self::wait_for`] does, for `patience`. If the time runs out, what was seen is the error.
    pub fn wait_within(
        &self,
        patience: Duration,
        done: impl Fn(&[Arc<Request>]) -> bool,
    ) -> Result<Vec<Arc<Request>>, Vec<Arc<Request>>> {
        let (requests, done) = self.shared.answers.record.wait(patience, done);
        if done { Ok(requests) } else { Err(requests) }
    }

    /// Returns the gate `name`. Replies may wait at a gate before anybody has asked for it.
    pub fn gate(&self, name: &str) -> Gate {
        self.shared.answers.gates.get(name)
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        self.shared.answers.gates.open_all();
        // The acceptor looks at `closing` only when somebody knocks.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        for connection in self.shared.connections().values() {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    fn connections(&self) -> std::sync::MutexGuard<'_, BTreeMap<usize, TcpStream>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for (number, stream) in listener.incoming().enumerate() {
        if shared.closing.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let Ok(handle) = stream.try_clone() else { continue };
        shared.connections().insert(number, handle);
        let shared = shared.clone();
        std::thread::spawn(move || {
            // A connection that breaks is the CLI's affair; what it meant for the answer is in the record.
            let _ = connection::serve(&stream, &shared.answers);
            let _ = stream.shutdown(Shutdown::Both);
            shared.connections().remove(&number);
        });
    }
}
