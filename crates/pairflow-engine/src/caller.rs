//! Who is calling: a person, or a process that was started for a bubble.
//!
//! Agents and checks run as the same user as the person, so file permissions cannot tell them apart. The kernel can: it
//! names the process that connected to a socket, its ancestors, and its namespaces. Human verbs and the sockets of the
//! supervisor and the agents all ask here. Only Linux tells; on other systems no caller is recognised.
//!
//! A sandboxed agent cannot be recognised by its ancestors, but its PID and user namespaces differ from the supervisor's.
//! The supervisor records its namespaces in the user's state directory, where they are found whatever runtime directory a
//! caller names. The record holds until the next boot, because namespace numbers do.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use pairflow_core::ids::{AgentId, BubbleId, Party};
use pairflow_core::log::Warning;
use pairflow_core::safe::safe_line;
use serde::{Deserialize, Serialize};

use crate::engine::{AgentToken, Bubble, ControlDir, Engine, UserDirs};
use crate::process::{JobKind, ProcessAncestry, ProcessRecord, boot, records};
use crate::regular;
use crate::regular::replace;

/// The variables of an agent that joined a bubble on its own.
const JOINED: [&str; 4] = ["PAIRFLOW_BUBBLE", "PAIRFLOW_REPO", "PAIRFLOW_AGENT", "PAIRFLOW_TOKEN"];

/// A process that calls.
#[derive(Debug)]
pub struct CallerProcess {
    lineage: ProcessAncestry,
    namespaces: Option<Namespaces>,
}

impl CallerProcess {
    /// Identifies who has connected; `None` for a process of another user. The socket's mode keeps those out, too, but root
    /// ignores it.
    #[cfg(target_os = "linux")]
    pub(crate) fn at(stream: &UnixStream) -> Option<Self> {
        let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
        let own = peer.uid == rustix::process::getuid();
        let pid = rustix::process::Pid::as_raw(Some(peer.pid));
        own.then(|| Self { lineage: ProcessAncestry::of(pid), namespaces: Namespaces::of(&pid.to_string()) })
    }

    /// Elsewhere callers are not identified.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn at(_: &UnixStream) -> Option<Self> {
        Some(Self { lineage: ProcessAncestry::Untold, namespaces: None })
    }

    /// Returns this process.
    pub fn this() -> Self {
        Self { lineage: ProcessAncestry::own(), namespaces: Namespaces::own() }
    }

    /// Returns the ancestors of this process.
    pub fn parents_of_this() -> Self {
        Self { lineage: ProcessAncestry::own().parents(), namespaces: Namespaces::own() }
    }

    /// Whether it was gone before it could be identified.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self.lineage, ProcessAncestry::Gone)
    }

    /// Whether its ancestors are known, and it runs in the namespaces of this process. Always true except on Linux.
    pub(crate) fn is_local(&self) -> bool {
        let known = matches!(self.lineage, ProcessAncestry::Known { .. });
        !cfg!(target_os = "linux") || known && self.namespaces.is_some() && self.namespaces == Namespaces::own()
    }

    /// Returns for which bubble of this user, or of `repos`, it was started; the records of `likely` are searched first.
    ///
    /// Ancestry outweighs marks, and both outweigh the environment of an agent that joined on its own.
    pub fn owner(
        &self,
        engine: &Engine,
        likely: Option<(&Path, &BubbleId)>,
        repos: &[PathBuf],
    ) -> Option<ProcessOwner> {
        self.recorded_owner(engine, likely, repos).or_else(|| self.joined(engine, repos))
    }

    /// As [`Self::owner`], by the records alone.
    pub(crate) fn recorded_owner(
        &self,
        engine: &Engine,
        likely: Option<(&Path, &BubbleId)>,
        repos: &[PathBuf],
    ) -> Option<ProcessOwner> {
        if !matches!(self.lineage, ProcessAncestry::Known { .. }) {
            return None;
        }
        let near = likely.map(|(repo, id)| recorded(repo, id)).unwrap_or_default();
        // Almost every caller is found at once, so the other bubbles are searched for unknown ones only.
        if let Some((owner, _)) = self.lineage.descends_from(&near) {
            return Some(owner.clone());
        }
        let far = others(engine, likely, repos);
        let found = self.lineage.descends_from(&far);
        let found = found.or_else(|| self.lineage.marked_by(&near)).or_else(|| self.lineage.marked_by(&far));
        found.map(|(owner, _)| owner.clone())
    }

    /// Returns the agent that it, or an ancestor, claims to be: an agent that joined on its own is on no record. Only its
    /// token proves it.
    fn joined(&self, engine: &Engine, repos: &[PathBuf]) -> Option<ProcessOwner> {
        let [bubble, repo, agent, token] = self.lineage.variables(JOINED)?;
        let (bubble, repo): (BubbleId, PathBuf) = (bubble?.parse().ok()?, repo?.into());
        let agent: AgentId = agent?.parse().ok()?;
        if !all(engine, repos).contains(&repo) {
            return None;
        }
        let proven = token.is_some_and(|token| {
            let own = engine.bubble(&repo, &bubble).and_then(|own| own.load().map(|seen| (own, seen.state)));
            own.is_ok_and(|(own, state)| own.prove(&state, &agent, &AgentToken::shown(token)).is_ok())
        });
        Some(ProcessOwner { repo, bubble, started: StartedBy::Agent(agent), proven })
    }
}

/// Returns every repository of this user, and `more`.
fn all(engine: &Engine, more: &[PathBuf]) -> Vec<PathBuf> {
    let mut repos = engine.repositories();
    repos.extend_from_slice(more);
    repos.sort();
    repos.dedup();
    repos
}

/// Returns all processes on record for any bubble but `likely`.
fn others(
    engine: &Engine,
    likely: Option<(&Path, &BubbleId)>,
    repos: &[PathBuf],
) -> Vec<(ProcessOwner, ProcessRecord)> {
    let of_repo = |repo: &PathBuf| {
        let ids = names::<BubbleId>(&ControlDir::of(repo).dir().join("runtime"));
        let others = ids.into_iter().filter(|id| likely != Some((repo.as_path(), id)));
        others.flat_map(|id| recorded(repo, &id)).collect::<Vec<_>>()
    };
    all(engine, repos).iter().flat_map(of_repo).collect()
}

/// How much of a job's description is shown, in columns.
const WHAT: usize = 80;

/// The bubble for which a process was started, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessOwner {
    /// The bubble's repository.
    pub repo: PathBuf,
    /// The bubble.
    pub bubble: BubbleId,
    /// Who has started it.
    pub started: StartedBy,
    /// Whether that is proven, and not only claimed by the process.
    pub proven: bool,
}

/// Who started a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartedBy {
    /// This agent.
    Agent(AgentId),
    /// pairflow itself: a description of the job, and its kind.
    Job(String, JobKind),
}

impl ProcessOwner {
    /// Whether it is this bubble.
    pub(crate) fn is(&self, repo: &Path, bubble: &BubbleId) -> bool {
        self.bubble == *bubble && self.repo == repo
    }

    /// Whether it is an agent, and not a check or another command.
    pub(crate) fn is_agent(&self) -> bool {
        matches!(self.started, StartedBy::Agent(_) | StartedBy::Job(_, JobKind::Agent))
    }

    /// Returns who started the process, for messages.
    pub fn name(&self) -> String {
        match &self.started {
            StartedBy::Agent(agent) => agent.to_string(),
            StartedBy::Job(what, _) => format!("`{}`", safe_line(what, WHAT)),
        }
    }

    /// Records in the bubble that `command` was tried and refused, if the owner is proven.
    pub fn warn(&self, engine: &Engine, command: &str, reason: String) {
        if !self.proven {
            return;
        }
        let party = match &self.started {
            StartedBy::Agent(own) => Party::Agent(own.clone()),
            StartedBy::Job(..) => Party::Orchestrator,
        };
        if let Ok(bubble) = engine.bubble(&self.repo, &self.bubble) {
            bubble.warn_about(party, command, reason);
        }
    }
}

impl Bubble {
    /// Records that an unknown process tried `command` and was refused for `reason`.
    pub fn warn_of_outsider(&self, command: &str, reason: String) {
        self.warn_about(Party::Orchestrator, command, reason);
    }

    fn warn_about(&self, party: Party, command: &str, reason: String) {
        let warning = Warning { command: command.to_owned(), reason, unmet: Vec::new() };
        // It is refused whether or not that can be recorded.
        let _ = self.warn_party(party, warning);
    }
}

/// Returns the directory with the records of processes in panes, one directory per agent.
pub(crate) fn pane_records(runtime: &Path) -> PathBuf {
    runtime.join("panes")
}

/// Returns all processes on record for one bubble.
pub(super) fn recorded(repo: &Path, bubble: &BubbleId) -> Vec<(ProcessOwner, ProcessRecord)> {
    let runtime = ControlDir::of(repo).runtime(bubble);
    let owner = |started| ProcessOwner { repo: repo.to_owned(), bubble: bubble.clone(), started, proven: true };
    let jobs = records(&runtime.join("processes")).unwrap_or_default().into_iter();
    let mut found: Vec<_> =
        jobs.map(|record| (owner(StartedBy::Job(record.what.clone(), record.kind)), record)).collect();
    for pane in names::<AgentId>(&pane_records(&runtime)) {
        let own = records(&pane_records(&runtime).join(pane.as_str())).unwrap_or_default().into_iter();
        found.extend(own.map(|record| (owner(StartedBy::Agent(pane.clone())), record)));
    }
    found
}

/// Returns the names in a directory that parse as `T`.
pub(super) fn names<T: std::str::FromStr>(dir: &Path) -> Vec<T> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The largest record, in bytes.
const MAX_RECORD: u64 = 64 * 1024;

/// The two namespaces that tell a sandbox from the system around it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespaces {
    /// The PID namespace.
    pub pid: String,
    /// The user namespace.
    pub user: String,
}

/// The recorded namespaces of a supervisor.
#[derive(Debug, Serialize, Deserialize)]
struct NamespaceRecord {
    boot: String,
    namespaces: Namespaces,
}

/// Why this process is not known to run in the supervisor's namespaces.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrongNamespace {
    /// Its namespaces are others.
    #[error(
        "this process runs in another {what} namespace than the supervisor of pairflow, as programs in a sandbox do; run the \
         command outside the sandbox. If pairflow has moved to this container, remove {} first",
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
        "/proc is hidden or is not the kernel's, so the namespaces of this process are unknown; run the command outside the \
         sandbox, or mount /proc"
    )]
    Hidden,
    /// The record cannot be read.
    #[error("cannot read the supervisor's namespaces from {}; check that file, then remove it", .record.display())]
    Unreadable {
        /// The record.
        record: PathBuf,
    },
}

impl Namespaces {
    /// Returns the namespaces of this process, if there are any.
    pub fn own() -> Option<Self> {
        Self::of("self")
    }

    /// Returns the namespaces of the process with this name in `/proc`; `None` if another file system is mounted there,
    /// which could hold anything.
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
        replace(&path(dirs), &serde_json::to_vec(&NamespaceRecord { boot: boot(), namespaces })?)
    }

    /// Fails unless this process runs in the namespaces of the last supervisor. Before the first one all are right.
    pub fn insist(dirs: &UserDirs) -> Result<(), WrongNamespace> {
        if !cfg!(target_os = "linux") {
            return Ok(());
        }
        // A process that hides these cannot be identified, so it does not count as a person.
        let own = Self::own().ok_or(WrongNamespace::Hidden)?;
        let record = path(dirs);
        let unreadable = || WrongNamespace::Unreadable { record: record.clone() };
        let recorded: NamespaceRecord = match regular::read_up_to(&record, MAX_RECORD) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|_| unreadable())?,
            // Without a state directory there is no supervisor, and verbs that need one say so.
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
            (false, _) => Err(WrongNamespace::Other { what: "PID", record }),
            (true, false) => Err(WrongNamespace::Other { what: "user", record }),
        }
    }
}

/// Whether a directory below `/proc` is the kernel's. A sandbox can mount another file system there.
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
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    /// Not a test of its own: the process that calls and is gone.
    #[test]
    fn inside() {
        if let Some(path) = std::env::var_os("CALL_AT") {
            UnixStream::connect(path).unwrap();
        }
    }

    #[test]
    fn one_who_is_gone_before_it_is_looked_at_is_nobody_that_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "caller::tests::inside"]).env("CALL_AT", &path);
        assert!(child.output().unwrap().status.success());
        let (stream, _) = listener.accept().unwrap();
        let gone = CallerProcess::at(&stream).unwrap();
        assert!(gone.is_gone() && !gone.is_local());
        let _own = UnixStream::connect(&path).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let here = CallerProcess::at(&stream).unwrap();
        assert!(!here.is_gone() && here.is_local());
    }

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
            regular::write(&path(&dirs), serde_json::to_vec(&NamespaceRecord { boot, namespaces }).unwrap()).unwrap();
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
