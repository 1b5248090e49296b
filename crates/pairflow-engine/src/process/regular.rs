//! Files whose names somebody else has chosen: opened without ever waiting, and only if they are plain files of this user.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::getuid;

/// Opens a regular file of this user to read it. Pipes, devices and links are refused; none of them is waited for.
pub fn open_own(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let known = file.metadata()?;
    if !known.is_file() || known.uid() != getuid().as_raw() {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "it is not a plain file of this user"));
    }
    Ok(file)
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
}
