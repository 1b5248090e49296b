//! The PID and user namespaces of the supervisor, on record: human verbs are accepted from these only.
//!
//! An agent in a sandbox has no ancestors that could be seen from inside, but its namespaces are not the person's. The
//! record lies in the user's state directory, so that it is found whatever runtime directory a caller names. It holds
//! until the machine is started again: a namespace has a number for that long.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::engine::UserDirs;
use crate::process::boot;
use crate::regular;
use crate::regular::replace;

/// The most that a record may hold, in bytes.
const MAX_RECORD: u64 = 64 * 1024;

/// The two namespaces that tell a sandbox from the system around it, as the kernel names them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespaces {
    /// The PID namespace.
    pub pid: String,
    /// The user namespace.
    pub user: String,
}

/// What is on record of a supervisor.
#[derive(Debug, Serialize, Deserialize)]
struct Recorded {
    boot: String,
    namespaces: Namespaces,
}

/// This process does not run where the supervisor runs, or that cannot be found out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Elsewhere {
    /// Its namespaces are others.
    #[error(
        "this process runs in another {what} namespace than the supervisor of pairflow, as programs in a sandbox do; run the \
         command outside of it. If pairflow has moved to this container, remove {} first",
        .record.display()
    )]
    Other {
        /// Which namespace is different.
        what: &'static str,
        /// Where the supervisor's namespaces are on record.
        record: PathBuf,
    },
    /// Its own namespaces cannot be read.
    #[error(
        "/proc is hidden or is not the kernel's, so it is unknown in which namespaces this process runs; run the command \
         outside of the sandbox, or mount /proc"
    )]
    Hidden,
    /// The record cannot be read.
    #[error("the supervisor's namespaces cannot be read from {}; look at that file, then remove it", .record.display())]
    Unreadable {
        /// The record.
        record: PathBuf,
    },
}

impl Namespaces {
    /// Returns the namespaces of this process; nothing where there are none.
    pub fn own() -> Option<Self> {
        Self::of("self")
    }

    /// Returns the namespaces of the process with this name in `/proc`; nothing if something else is mounted there, in
    /// which anything could be written.
    pub(super) fn of(process: &str) -> Option<Self> {
        let dir = format!("/proc/{process}/ns");
        if !is_procfs(&dir) {
            return None;
        }
        let link = |kind: &str| std::fs::read_link(format!("{dir}/{kind}")).ok()?.into_os_string().into_string().ok();
        Some(Self { pid: link("pid")?, user: link("user")? })
    }

    /// Records that the supervisor runs here.
    pub(crate) fn record(dirs: &UserDirs) -> io::Result<()> {
        let Some(namespaces) = Self::own() else { return Ok(()) };
        replace(&path(dirs), &serde_json::to_vec(&Recorded { boot: boot(), namespaces })?)
    }

    /// Insists that this process runs where the last supervisor ran. Before the first one every place is right.
    pub fn insist(dirs: &UserDirs) -> Result<(), Elsewhere> {
        if !cfg!(target_os = "linux") {
            return Ok(());
        }
        // A process that hides these cannot be told from a person, so it is none.
        let own = Self::own().ok_or(Elsewhere::Hidden)?;
        let record = path(dirs);
        let unreadable = || Elsewhere::Unreadable { record: record.clone() };
        let recorded: Recorded = match regular::read_up_to(&record, MAX_RECORD) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|_| unreadable())?,
            // Without a state directory there is no supervisor, and what needs one says so.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(());
            }
            Err(_) => return Err(unreadable()),
        };
        if recorded.boot != boot() {
            return Ok(());
        }
        match (own.pid == recorded.namespaces.pid, own.user == recorded.namespaces.user) {
            (true, true) => Ok(()),
            (false, _) => Err(Elsewhere::Other { what: "PID", record }),
            (true, false) => Err(Elsewhere::Other { what: "user", record }),
        }
    }
}

/// Whether a directory below `/proc` is the kernel's own. A sandbox can mount another file system there.
#[cfg(target_os = "linux")]
fn is_procfs(dir: &str) -> bool {
    rustix::fs::statfs(dir).is_ok_and(|found| found.f_type == rustix::fs::PROC_SUPER_MAGIC)
}

/// Elsewhere there are no namespaces.
#[cfg(not(target_os = "linux"))]
fn is_procfs(_: &str) -> bool {
    false
}

fn path(dirs: &UserDirs) -> PathBuf {
    dirs.state.join("supervisor.namespaces")
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_the_recorded_namespaces_of_this_boot_count() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let dirs = UserDirs { runtime: at("run"), state: dir.path().to_owned(), config: at("config") };
        assert_eq!(Namespaces::insist(&dirs), Ok(()), "nothing is on record yet");
        Namespaces::record(&dirs).unwrap();
        assert_eq!(Namespaces::insist(&dirs), Ok(()));
        let put = |boot: String, pid: &str, user: &str| {
            let namespaces = Namespaces { pid: pid.to_owned(), user: user.to_owned() };
            regular::write(&path(&dirs), serde_json::to_vec(&Recorded { boot, namespaces }).unwrap()).unwrap();
        };
        let own = Namespaces::own().unwrap();
        put(boot(), "pid:[1]", &own.user);
        assert!(Namespaces::insist(&dirs).unwrap_err().to_string().contains("another PID namespace"));
        put(boot(), &own.pid, "user:[1]");
        assert!(Namespaces::insist(&dirs).unwrap_err().to_string().contains("another user namespace"));
        put("earlier".to_owned(), "pid:[1]", "user:[1]");
        assert_eq!(Namespaces::insist(&dirs), Ok(()), "numbers of an earlier boot mean nothing");
        regular::write(&path(&dirs), "{").unwrap();
        assert!(Namespaces::insist(&dirs).is_err(), "a damaged record is nobody's permission");
    }
}
