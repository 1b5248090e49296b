//! Stand-ins for a person's loudspeaker, desktop and webhook.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

use pairflow_testkit::home::Home;
use pairflow_testkit::wait::PATIENCE;
use serde_json::Value;

/// Installs a program that notes its arguments, a line each.
#[track_caller]
pub(crate) fn noting(home: &Home, name: &str) {
    home.install(name, &format!("printf '%s\\n' \"$@\" >> '{}/noted-{name}'", home.root().display()));
}

/// Returns what the program noted.
pub(crate) fn noted(home: &Home, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(home.root().join(format!("noted-{name}"))).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Returns what the supervisor said.
pub(crate) fn log(home: &Home) -> String {
    std::fs::read_to_string(home.root().join("state/pairflow/supervisor.log")).unwrap_or_default()
}

/// Has codex ask, in its turn.
#[track_caller]
pub(crate) fn asks(home: &Home, id: &str, question: &str) {
    home.agent(id, "codex").pairflow(&["ask-human", "--question", question]).ok();
}

/// A webhook on this machine.
pub(crate) struct Hook {
    port: u16,
    bodies: Receiver<Value>,
    callers: Receiver<TcpStream>,
}

impl Hook {
    /// Listens, and answers one call after the other with these status codes.
    pub(crate) fn open(answers: &[u16]) -> Self {
        let answers = answers.to_vec();
        Self::listen(move |listener, bodies, _| {
            for status in answers {
                let Ok((stream, _)) = listener.accept() else { return };
                let _ = bodies.send(answer(&stream, status));
            }
        })
    }

    /// Listens and never answers.
    pub(crate) fn silent() -> Self {
        Self::listen(|listener, _, callers| {
            for stream in listener.incoming().flatten() {
                if callers.send(stream).is_err() {
                    return;
                }
            }
        })
    }

    fn listen(
        serve: impl FnOnce(TcpListener, std::sync::mpsc::Sender<Value>, std::sync::mpsc::Sender<TcpStream>) + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let ((bodies_in, bodies), (callers_in, callers)) = (channel(), channel());
        std::thread::spawn(move || serve(listener, bodies_in, callers_in));
        Self { port, bodies, callers }
    }

    /// Returns where it is.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Waits for the next message.
    #[track_caller]
    pub(crate) fn next(&self) -> Value {
        self.bodies.recv_timeout(PATIENCE).expect("the webhook is called")
    }

    /// Waits for the next caller, who gets no answer as long as the line is held.
    #[track_caller]
    pub(crate) fn caller(&self) -> TcpStream {
        self.callers.recv_timeout(PATIENCE).expect("the webhook is called")
    }
}

/// Whether the caller on this line has not given up yet.
pub(crate) fn still_waits(mut stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let mut some = [0; 4096];
    loop {
        match stream.read(&mut some) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
        }
    }
}

/// Reads one request and answers it; returns its body.
fn answer(mut stream: &TcpStream, status: u16) -> Value {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "the request has a head: {head:?}");
    }
    assert!(head.starts_with("POST /"), "{head}");
    let head = head.to_lowercase();
    assert!(head.contains("content-type: application/json"), "{head}");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok()).unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    stream
        .write_all(format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok").as_bytes())
        .unwrap();
    serde_json::from_slice(&body).unwrap()
}
