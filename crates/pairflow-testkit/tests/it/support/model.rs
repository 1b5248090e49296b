//! A client that knows nothing but HTTP and JSON, to look at the mock model from outside.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

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
