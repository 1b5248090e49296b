//! What the tests share: a client that speaks plain HTTP and JSON to the mock model, and a machine for the real CLIs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use pairflow_testkit::clis::{AgentHome, Clis, HookLog, Panes, Slot, agent_clis};
use pairflow_testkit::model::{Answered, Mock, Request, Scripts};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A kept connection to the mock.
pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

/// An answer as it came.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// Whether the answer came to its end.
    pub(crate) whole: bool,
}

impl Client {
    pub(crate) fn new(url: &str) -> Self {
        let stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self { stream: BufReader::new(stream) }
    }

    /// Sends a request with a body of known length.
    pub(crate) fn send(&mut self, line: &str, headers: &[(&str, &str)], body: &str) {
        let mut text = format!("{line} HTTP/1.1\r\nHost: mock\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        self.write(&format!("{text}\r\n{body}"));
    }

    pub(crate) fn write(&mut self, text: &str) {
        self.stream.get_mut().write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn ask(&mut self, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.send(line, headers, body);
        if line.starts_with("HEAD ") { self.head() } else { self.answer() }
    }

    pub(crate) fn claude(&mut self, session: &str, messages: Value) -> Answer {
        let body = json!({"model": "m", "stream": true, "tools": [{"name": "Bash"}], "messages": messages});
        self.ask("POST /v1/messages?beta=true", &[("X-Claude-Code-Session-Id", session)], &body.to_string())
    }

    pub(crate) fn codex(&mut self, session: &str, input: Value) -> Answer {
        let body = json!({"model": "m", "stream": true, "tools": [{"name": "exec_command"}], "input": input});
        self.ask("POST /v1/responses", &[("thread-id", session)], &body.to_string())
    }

    /// Reads an answer to its end.
    pub(crate) fn answer(&mut self) -> Answer {
        let mut answer = self.head();
        let header = |name: &str| answer.headers.iter().find(|(one, _)| one == name).map(|(_, value)| value.clone());
        if header("transfer-encoding").as_deref() == Some("chunked") {
            while let Some(chunk) = self.chunk() {
                answer.whole = chunk.is_empty();
                answer.body += &chunk;
                if answer.whole {
                    break;
                }
            }
            return answer;
        }
        let mut body = vec![0; header("content-length").unwrap().parse().unwrap()];
        answer.whole = self.stream.read_exact(&mut body).is_ok();
        answer.body = String::from_utf8(body).unwrap();
        answer
    }

    /// Reads status and headers.
    pub(crate) fn head(&mut self) -> Answer {
        let status = self.line().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        while let Some((name, value)) = self.line().unwrap().split_once(": ") {
            headers.push((name.to_owned(), value.to_owned()));
        }
        Answer { status, headers, body: String::new(), whole: false }
    }

    /// Reads the next piece of a stream: empty at its end, `None` if it was cut.
    pub(crate) fn chunk(&mut self) -> Option<String> {
        let size = usize::from_str_radix(&self.line()?, 16).unwrap();
        let mut chunk = vec![0; size + 2];
        self.stream.read_exact(&mut chunk).ok()?;
        chunk.truncate(size);
        Some(String::from_utf8(chunk).unwrap())
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        (self.stream.read_line(&mut line).unwrap_or(0) > 0).then(|| line.trim_end().to_owned())
    }
}

impl Answer {
    /// Returns the data of all events.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    /// Returns the types of all events but signs of life.
    pub(crate) fn types(&self) -> Vec<String> {
        let all = self.events().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        all.into_iter().filter(|name| name != "ping").collect()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// A text of the user, for both protocols.
pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}]})
}

/// How long a CLI may take for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where Codex looks for announcements whenever it starts in a terminal. No setting turns that off.
const NO_SWITCH: &str = "raw.githubusercontent.com:443";

/// Everything that a CLI gets to see. Dropping it ends what runs in panes, then the model, then the directories.
pub(crate) struct CliMachine {
    panes: Panes,
    pub(crate) mock: Mock,
    pub(crate) hooks: HookLog,
    pub(crate) repo: PathBuf,
    pub(crate) clis: Clis,
    home: AgentHome,
    _dirs: [TempDir; 2],
    _slot: Slot,
}

impl CliMachine {
    pub(crate) fn new(scripts: Scripts) -> Self {
        let (slot, clis) = (Slot::take(), agent_clis().unwrap());
        // Codex wants no home below /tmp, and Claude Code reads instructions of all directories above the repository.
        let private = TempDir::with_prefix_in("home-", env!("CARGO_TARGET_TMPDIR")).unwrap();
        let open = TempDir::with_prefix("pf-").unwrap();
        let root = open.path().canonicalize().unwrap();
        let repo = root.join("repo");
        let mock = Mock::start(scripts);
        let hooks = HookLog::new(root.join("hooks")).unwrap();
        let mut home = AgentHome::new(private.path(), mock.url(), &repo);
        home.hooks = hooks.hooks();
        home.allow = vec!["Bash".to_owned()];
        home.write().unwrap();
        let machine =
            Self { panes: Panes::new(&root), mock, hooks, repo, clis, home, _dirs: [private, open], _slot: slot };
        let made = machine.run(&root, Path::new("git"), &["init", "--quiet", "repo"]);
        assert!(made.status.success(), "{made:?}");
        machine
    }

    /// Runs a program to its end, in the repository, with the clean environment and without input.
    pub(crate) fn call(&self, program: &Path, words: &[&str]) -> Output {
        self.run(&self.repo, program, words)
    }

    fn run(&self, dir: &Path, program: &Path, words: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.args(words).current_dir(dir).env_clear().envs(self.env()).stdin(Stdio::null());
        command.output().unwrap()
    }

    /// Starts a program in a pane, in the repository.
    pub(crate) fn open(&self, program: &Path, words: &[&str]) -> Pane<'_> {
        let mut line = vec![program.display().to_string()];
        line.extend(words.iter().map(|word| (*word).to_owned()));
        Pane { id: self.panes.open(&self.repo, &self.env(), &line), machine: self }
    }

    /// Asserts that only the mock was contacted, and that requests which cannot be switched off were refused.
    #[track_caller]
    pub(crate) fn stayed_at_home(&self) {
        for request in self.mock.requests().iter().filter(|request| !request.path.starts_with('/')) {
            assert_eq!(request.path, NO_SWITCH, "somebody wanted {} {}", request.method, request.path);
            assert!(matches!(request.answered(), None | Some(Answered::Refused)));
        }
    }

    fn env(&self) -> Vec<(String, String)> {
        self.home.env(&[&self.clis.bin])
    }
}

/// A CLI that runs in a pane.
pub(crate) struct Pane<'a> {
    id: String,
    machine: &'a CliMachine,
}

impl Pane<'_> {
    pub(crate) fn say(&self, text: &str) {
        self.machine.panes.say(&self.id, text);
    }

    /// Waits for what the model sees.
    #[track_caller]
    pub(crate) fn model_sees(&self, done: impl Fn(&Request) -> bool) {
        let seen = self.machine.mock.wait_within(PATIENCE, |all| all.iter().any(|one| done(one)));
        assert!(seen.is_ok(), "the model never saw it; the screen shows:\n{}", self.screen());
    }

    /// Waits for the hook `name`, with this many events of that name in all.
    #[track_caller]
    pub(crate) fn hook(&self, name: &str, count: usize) -> Value {
        let of = |events: &[Value]| {
            events.iter().filter(|event| event["hook_event_name"] == name).cloned().collect::<Vec<_>>()
        };
        match self.machine.hooks.wait_for(|events| of(events).len() >= count) {
            Ok(events) => of(&events).swap_remove(count - 1),
            Err(events) => panic!("no {name} no. {count} in {events:#?}; the screen shows:\n{}", self.screen()),
        }
    }

    pub(crate) fn screen(&self) -> String {
        self.machine.panes.screen(&self.id)
    }
}
