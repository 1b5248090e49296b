//! One JSON object a line, read and written within limits of length and time.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest line, in bytes.
pub(crate) const LONGEST: usize = 4 * 1024 * 1024;

/// How long a caller writes a line at most.
const WRITE: Duration = Duration::from_secs(5);

/// Connects without ever waiting: a process that stands still takes no callers, and its queue may be full.
pub(crate) fn dial(socket: &Path) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(socket)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&fd, &address)?;
    let stream = UnixStream::from(fd);
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(WRITE))?;
    Ok(stream)
}

/// Writes one line.
pub(crate) fn write(mut stream: &UnixStream, line: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    if bytes.len() > LONGEST {
        return Err(io::Error::new(ErrorKind::FileTooLarge, "the line is too long"));
    }
    stream.write_all(&bytes)
}

/// A stream that is read line by line until a moment.
pub(crate) struct Lines<'a> {
    stream: &'a UnixStream,
    until: Instant,
    bytes: Vec<u8>,
}

impl<'a> Lines<'a> {
    /// Reads from `stream` for at most `patience`.
    pub(crate) fn new(stream: &'a UnixStream, patience: Duration) -> Self {
        Self { stream, until: Instant::now() + patience, bytes: Vec::new() }
    }

    /// Reads one line. The end of the stream before the end of the line is an error, and so is a line that is too long.
    pub(crate) fn read<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        let mut looked = 0;
        loop {
            if let Some(end) = self.bytes[looked..].iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..=looked + end).collect();
                return serde_json::from_slice(&line).map_err(|error| io::Error::new(ErrorKind::InvalidData, error));
            }
            looked = self.bytes.len();
            if looked >= LONGEST {
                return Err(io::Error::new(ErrorKind::InvalidData, "the line is too long"));
            }
            self.more()?;
        }
    }

    fn more(&mut self) -> io::Result<()> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut part = [0; 64 * 1024];
        let mut stream = self.stream;
        match stream.read(&mut part) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                self.bytes.extend_from_slice(&part[..read]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(ErrorKind::TimedOut.into()),
            Err(error) => Err(error),
        }
    }
}
