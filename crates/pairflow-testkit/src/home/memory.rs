//! Temporary directories in memory, where the machine has room for them: a test syncs as often as the product does, and
//! what a sync is worth is shown on simulated disks and by a trace of the real one.

use std::path::Path;

use rustix::fs::{StatVfsMountFlags, statvfs};
use tempfile::TempDir;

/// Where Linux keeps files in memory.
const MEMORY: &str = "/dev/shm";
/// How much room there has to be. Containers often have 64 MiB, which is not enough for all tests at once.
const ROOM: u64 = 2 << 30;

/// Makes a temporary directory in memory, or else where the machine wants temporary files.
///
/// # Panics
/// If none can be made.
#[track_caller]
pub fn temporary_dir() -> TempDir {
    let made =
        if has_room(Path::new(MEMORY)) { TempDir::with_prefix_in("pf-", MEMORY) } else { TempDir::with_prefix("pf-") };
    made.expect("a temporary directory can be made")
}

/// Whether programs can be written to `dir` and started there, and there is enough room for them.
fn has_room(dir: &Path) -> bool {
    statvfs(dir).is_ok_and(|found| {
        let unfit = StatVfsMountFlags::NOEXEC | StatVfsMountFlags::RDONLY;
        !found.f_flag.intersects(unfit) && found.f_bavail.saturating_mul(found.f_frsize) >= ROOM
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_without_room_or_without_programs_is_not_taken() {
        assert!(!has_room(Path::new("/nowhere")));
        assert!(!has_room(Path::new("/proc")));
        assert!(temporary_dir().path().is_dir());
    }
}
