//! The one place that opens files: without waiting, and only if they are regular files.
//!
//! Most paths that pairflow reads can be replaced by an agent, a check or a pull request. A FIFO in place of a file would
//! block the reader forever, a device could do anything. `cargo xtask tidy` forbids the functions of
//! `std::fs` that open files everywhere else in the product.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::getuid;

/// The most that is read of a file whose reader names no limit, in bytes.
pub const READ_LIMIT: u64 = 64 * 1024 * 1024;

/// What is said of anything that is not a regular file.
pub const NOT_REGULAR: &str = "it is not a regular file";

/// Whether a symbolic link as the last part of a path is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symlinks {
    /// It is.
    Follow,
    /// It is an error.
    Refuse,
}

/// Opens a regular file to read it.
pub fn open(path: &Path) -> io::Result<File> {
    open_at(path, Symlinks::Follow)
}

/// Opens a regular file to read it. Links are followed or refused, as `links` says.
pub fn open_at(path: &Path, links: Symlinks) -> io::Result<File> {
    open_with(path, OpenOptions::new().read(true), links)
}

/// Opens a regular file of this user to read it. Links are refused.
pub fn open_own(path: &Path) -> io::Result<File> {
    let file = open_at(path, Symlinks::Refuse)?;
    if file.metadata()?.uid() != getuid().as_raw() {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "it belongs to another user"));
    }
    Ok(file)
}

/// Opens a regular file as `options` say.
pub fn open_with(path: &Path, options: &mut OpenOptions, links: Symlinks) -> io::Result<File> {
    opened(path, options, links).map(|(file, _)| file)
}

/// Opens a regular file, and says how long it is.
fn opened(path: &Path, options: &mut OpenOptions, links: Symlinks) -> io::Result<(File, u64)> {
    let refused = || io::Error::new(ErrorKind::InvalidInput, NOT_REGULAR);
    let follow = match links {
        Symlinks::Follow => OFlags::empty(),
        Symlinks::Refuse => OFlags::NOFOLLOW,
    };
    let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC | follow).bits().cast_signed();
    let file = options.custom_flags(flags).open(path).map_err(|error| match error.raw_os_error() {
        // What opening a FIFO without a reader, or a socket, ends with.
        Some(code) if code == Errno::NXIO.raw_os_error() => refused(),
        _ => error,
    })?;
    let meta = file.metadata()?;
    if meta.is_file() { Ok((file, meta.len())) } else { Err(refused()) }
}

/// Opens a directory, to sync it.
pub fn open_dir(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::DIRECTORY).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Opens a file to append to it, and makes it if there is none: for its owner only.
pub fn append(path: &Path) -> io::Result<File> {
    open_with(path, OpenOptions::new().create(true).append(true).mode(0o600), Symlinks::Follow)
}

/// Opens a file to lock it or to rewrite it, and makes it if there is none: for its owner only. Its content stays.
pub fn open_to_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    open_with(path, options.read(true).write(true).create(true).truncate(false).mode(0o600), Symlinks::Follow)
}

/// Makes a file that was not there before, with these permissions.
pub fn create_new(path: &Path, mode: u32) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

/// Returns the content of a file of at most [`READ_LIMIT`] bytes.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_up_to(path, READ_LIMIT)
}

/// Returns the content of a file of at most `limit` bytes; a longer one is an error.
pub fn read_up_to(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_at(path, limit, Symlinks::Follow)
}

/// Returns the content of a file of at most `limit` bytes, as it was opened; a longer one is an error. Links are
/// followed or refused, as `links` says.
pub fn read_at(path: &Path, limit: u64, links: Symlinks) -> io::Result<Vec<u8>> {
    let (file, len) = opened(path, OpenOptions::new().read(true), links)?;
    read_opened(file, len, limit)
}

/// Returns the content of a regular file below the directory `root`, of at most `limit` bytes. No link is followed, neither
/// at its end nor on the way. `relative` consists of names only.
pub fn read_beneath(root: &Path, relative: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let refused = || io::Error::new(ErrorKind::InvalidInput, NOT_REGULAR);
    let plain = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut at = rustix::fs::open(root, plain | OFlags::DIRECTORY, Mode::empty())?;
    let mut parts = relative.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { return Err(refused()) };
        let kind = if parts.peek().is_some() { OFlags::DIRECTORY } else { OFlags::empty() };
        at = rustix::fs::openat(&at, name, plain | kind, Mode::empty()).map_err(|error| match error {
            Errno::LOOP | Errno::NXIO => refused(),
            other => other.into(),
        })?;
    }
    let file = File::from(at);
    let meta = file.metadata()?;
    if meta.is_file() { read_opened(file, meta.len(), limit) } else { Err(refused()) }
}

/// Reads a file of `len` bytes, as the system says.
fn read_opened(file: File, len: u64, limit: u64) -> io::Result<Vec<u8>> {
    // A file of the kernel has no length before it is read.
    let most = if len == 0 { limit.saturating_add(1) } else { len };
    let mut bytes = Vec::new();
    if len <= limit {
        bytes.reserve_exact(usize::try_from(len).unwrap_or_default());
        file.take(most).read_to_end(&mut bytes)?;
    }
    if len.max(bytes.len() as u64) > limit {
        let message = format!("it is larger than {limit} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Returns the content of a text file of at most [`READ_LIMIT`] bytes.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Gives a file this content, and makes it if there is none.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = open_with(path, options.write(true).create(true).truncate(true), Symlinks::Follow)?;
    file.write_all(bytes.as_ref())
}

/// Replaces a file in one step, durably: a reader sees the old or the new content.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_with_mode(path, content, 0o666)
}

/// Replaces a file like [`replace`], with these permissions.
pub fn replace_with_mode(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(format!(".{}.{}", std::process::id(), unique()));
    let fresh = Path::new(&fresh);
    let mut out = create_new(fresh, mode)?;
    let written = out.write_all(content).and_then(|()| out.sync_all()).and_then(|()| std::fs::rename(fresh, path));
    if written.is_err() {
        let _ = std::fs::remove_file(fresh);
    }
    written
}

/// Returns a number that this process has not had before.
pub fn unique() -> u64 {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed)
}

/// Removes a file, if there is one.
pub fn remove(path: &Path) -> io::Result<()> {
    optional(std::fs::remove_file(path)).map(drop)
}

/// Turns the absence of a file into `None`.
pub fn optional<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Copies content and permissions of a file.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = open(from)?;
    let mut options = OpenOptions::new();
    let mut target = open_with(to, options.write(true).create(true).truncate(true), Symlinks::Follow)?;
    io::copy(&mut source, &mut target)?;
    target.set_permissions(source.metadata()?.permissions())
}

/// Returns at most the last `bytes` of a text file of this user; nothing if it cannot be read.
pub fn end_of(path: &Path, bytes: u64) -> Option<String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = open_own(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(bytes)))?;
        let mut end = Vec::new();
        file.take(bytes).read_to_end(&mut end)?;
        Ok(end)
    };
    read().ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    #[test]
    fn the_end_of_a_file_is_read_and_nothing_else_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "0123456789").unwrap();
        assert_eq!(end_of(&at("file"), 4).as_deref(), Some("6789"));
        assert_eq!(end_of(&at("file"), 400).as_deref(), Some("0123456789"));
        symlink(at("file"), at("link")).unwrap();
        assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        for other in ["link", "pipe", "nothing", "."] {
            assert_eq!(end_of(&at(other), 4), None, "{other}");
        }
        assert_eq!(end_of(Path::new("/dev/zero"), 4), None);
    }

    #[test]
    fn a_pipe_is_neither_read_nor_written_nor_copied() {
        let dir = tempfile::tempdir().unwrap();
        let (pipe, file) = (dir.path().join("pipe"), dir.path().join("file"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        std::fs::write(&file, "x").unwrap();
        let tried = [
            open(&pipe).map(drop),
            append(&pipe).map(drop),
            open_to_lock(&pipe).map(drop),
            write(&pipe, "x"),
            copy(&pipe, &file),
            copy(&file, &pipe),
            read(&pipe).map(drop),
        ];
        for one in tried {
            assert_eq!(one.unwrap_err().to_string(), NOT_REGULAR);
        }
        assert_eq!(read_text(&file).unwrap(), "x");
        assert_eq!(create_new(&pipe, 0o600).unwrap_err().kind(), ErrorKind::AlreadyExists);
    }

    #[test]
    fn links_are_followed_and_long_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (link, file) = (dir.path().join("link"), dir.path().join("file"));
        write(&file, "12345").unwrap();
        symlink(&file, &link).unwrap();
        assert_eq!(read_up_to(&link, 5).unwrap(), b"12345");
        assert_eq!(read_up_to(&link, 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
        write(&link, "1").unwrap();
        assert_eq!(read_text(&file).unwrap(), "1");
    }
}
