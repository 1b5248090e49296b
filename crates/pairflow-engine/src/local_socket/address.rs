//! Where sockets lie: beside the files that they belong to, or, where that path is too long for a socket, at a short
//! stand-in of it.

use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use pairflow_core::hash::sha256;

/// The longest path that fits a socket address on every system.
const LONGEST: usize = 100;

/// Returns `path`, or a short stand-in if it is too long for a socket: a directory of its own with the same file name.
pub fn fitting(path: &Path) -> PathBuf {
    if path.as_os_str().len() <= LONGEST {
        return path.to_owned();
    }
    let place = &sha256(path.as_os_str().as_encoded_bytes())[..16];
    let user = rustix::process::getuid().as_raw();
    PathBuf::from(format!("/tmp/pairflow-{user}-{place}")).join(path.file_name().unwrap_or_default())
}

/// Whether `path` is a stand-in, whose directory holds nothing else.
pub(super) fn is_stand_in(path: &Path) -> bool {
    let user = rustix::process::getuid().as_raw();
    let dir = path.parent().and_then(Path::to_str);
    dir.is_some_and(|dir| dir.starts_with(&format!("/tmp/pairflow-{user}-")))
}

/// Makes a directory that only its owner may enter.
pub fn private_dir(dir: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let found = std::fs::metadata(dir)?;
    if found.uid() != rustix::process::getuid().as_raw() {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "the directory belongs to someone else"));
    }
    // It may have been made before anything in it was private.
    if found.mode() & 0o077 != 0 { std::fs::set_permissions(dir, PermissionsExt::from_mode(0o700)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_too_long_gets_a_stand_in_of_its_own() {
        let (short, long) = (Path::new("/run/a.sock"), PathBuf::from(format!("/{}/a.sock", "x".repeat(200))));
        assert_eq!(fitting(short), short);
        let found = fitting(&long);
        assert!(found.as_os_str().len() <= LONGEST && is_stand_in(&found) && found.ends_with("a.sock"));
        assert_ne!(found, fitting(&long.with_file_name("b").join("a.sock")));
    }

    #[test]
    fn a_directory_that_others_could_enter_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let open = dir.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, PermissionsExt::from_mode(0o755)).unwrap();
        private_dir(&open).unwrap();
        assert_eq!(std::fs::metadata(&open).unwrap().mode() & 0o777, 0o700);
    }
}
