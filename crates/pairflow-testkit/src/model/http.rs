//! As much of HTTP/1.1 as the two CLIs speak: requests with a length or in chunks, kept connections, streamed answers.

use std::io::{self, BufRead, Read, Write};

/// The longest body that is read: far beyond any conversation, and no danger to the machine.
const LONGEST: usize = 256 << 20;

/// A request as it came over the wire.
pub(super) struct Message {
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    /// Names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Message {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    /// Whether the connection ends with the answer to this request.
    pub(super) fn is_last(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// Reads the next request; `None` if the other side has nothing more to ask.
pub(super) fn read(from: &mut impl BufRead, to: &mut impl Write) -> io::Result<Option<Message>> {
    let mut first = line(from)?;
    while first.as_deref() == Some("") {
        first = line(from)?;
    }
    let Some(first) = first else { return Ok(None) };
    let mut words = first.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Err(bad("request line")) };
    let mut message =
        Message { method: method.to_owned(), target: target.to_owned(), headers: headers(from)?, body: Vec::new() };
    if message.header("expect").is_some() {
        to.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    message.body = body(&message, from)?;
    Ok(Some(message))
}

fn headers(from: &mut impl BufRead) -> io::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    while let Some(line) = line(from)?.filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').ok_or_else(|| bad("header"))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Ok(headers)
}

fn body(message: &Message, from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    if message.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
        return chunks(from);
    }
    let Some(length) = message.header("content-length") else { return Ok(Vec::new()) };
    let mut body = Vec::new();
    append(&mut body, length.parse().map_err(|_| bad("content-length"))?, from)?;
    Ok(body)
}

fn chunks(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(from)?.ok_or_else(|| bad("chunk"))?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(|_| bad("chunk size"))?;
        if size == 0 {
            headers(from)?;
            return Ok(body);
        }
        append(&mut body, size, from)?;
        line(from)?;
    }
}

fn append(body: &mut Vec<u8>, length: usize, from: &mut impl BufRead) -> io::Result<()> {
    if body.len().saturating_add(length) > LONGEST {
        return Err(bad("length"));
    }
    let start = body.len();
    body.resize(start + length, 0);
    from.read_exact(&mut body[start..])
}

/// Reads a line without its end; `None` at the end of the stream.
fn line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    if from.take(1 << 20).read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
}

fn bad(part: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the {part} of the request is no HTTP/1.1"))
}

/// An answer that is known as a whole.
pub(super) struct Whole<'a> {
    pub(super) status: u16,
    pub(super) headers: &'a [(String, String)],
    pub(super) body: &'a str,
    /// Whether the body is only announced, as `HEAD` wants it.
    pub(super) head_only: bool,
}

/// Writes an answer that is known as a whole.
pub(super) fn write(to: &mut impl Write, answer: &Whole<'_>) -> io::Result<()> {
    let mut text = format!("HTTP/1.1 {} {}\r\n", answer.status, phrase(answer.status));
    text += &format!("content-type: application/json\r\ncontent-length: {}\r\n", answer.body.len());
    for (name, value) in answer.headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += "\r\n";
    if !answer.head_only {
        text += answer.body;
    }
    to.write_all(text.as_bytes())
}

/// Writes the head of an answer that comes in pieces.
pub(super) fn begin_stream(to: &mut impl Write) -> io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\
                transfer-encoding: chunked\r\n\r\n";
    to.write_all(head.as_bytes())
}

/// Writes a piece.
pub(super) fn write_chunk(to: &mut impl Write, text: &str) -> io::Result<()> {
    to.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
}

/// Says that no piece follows.
pub(super) fn end_stream(to: &mut impl Write) -> io::Result<()> {
    to.write_all(b"0\r\n\r\n")
}

fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        529 => "Overloaded",
        _ => "Status",
    }
}
