//! The process that calls, as the kernel knows it.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use pairflow_core::ids::{AgentId, BubbleId};

use super::namespaces::Namespaces;
use super::owner::{Owner, Started, names, recorded};
use crate::engine::{AgentToken, ControlDir, Engine};
use crate::process::{ProcessAncestry, ProcessRecord};

/// The variables with which an agent joins a bubble.
const JOINED: [&str; 4] = ["PAIRFLOW_BUBBLE", "PAIRFLOW_REPO", "PAIRFLOW_AGENT", "PAIRFLOW_TOKEN"];

/// A process that calls.
#[derive(Debug)]
pub struct Caller {
    lineage: ProcessAncestry,
    namespaces: Option<Namespaces>,
}

impl Caller {
    /// Looks at who has connected. Nothing comes back for a process of another user: the socket's mode keeps it out as
    /// well, but root ignores that one.
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

    /// Looks at this process.
    pub fn this() -> Self {
        Self { lineage: ProcessAncestry::own(), namespaces: Namespaces::own() }
    }

    /// Looks at those that have started this process.
    pub fn parents_of_this() -> Self {
        Self { lineage: ProcessAncestry::own().parents(), namespaces: Namespaces::own() }
    }

    /// Whether it was gone before it could be looked at. Nobody knows then whose it was.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self.lineage, ProcessAncestry::Gone)
    }

    /// Whether it is known where it comes from, and it runs in the namespaces of this process. Elsewhere than on Linux
    /// nobody can tell.
    pub(crate) fn is_local(&self) -> bool {
        let known = matches!(self.lineage, ProcessAncestry::Known { .. });
        !cfg!(target_os = "linux") || known && self.namespaces.is_some() && self.namespaces == Namespaces::own()
    }

    /// Returns for whom it was started, if it was for a bubble of this user or of `repos`; what is on record for
    /// `likely` is looked at first.
    ///
    /// Descent outweighs marks, and both outweigh what an agent that joined by itself has in its environment.
    pub fn owner(&self, engine: &Engine, likely: Option<(&Path, &BubbleId)>, repos: &[PathBuf]) -> Option<Owner> {
        self.recorded_owner(engine, likely, repos).or_else(|| self.joined(engine, repos))
    }

    /// The same, by what is on record alone.
    pub(crate) fn recorded_owner(
        &self,
        engine: &Engine,
        likely: Option<(&Path, &BubbleId)>,
        repos: &[PathBuf],
    ) -> Option<Owner> {
        if !matches!(self.lineage, ProcessAncestry::Known { .. }) {
            return None;
        }
        let near = likely.map(|(repo, id)| recorded(repo, id)).unwrap_or_default();
        // Almost every caller is known at once, so the other bubbles are looked at only for one who is not.
        if let Some((owner, _)) = self.lineage.descends_from(&near) {
            return Some(owner.clone());
        }
        let far = others(engine, likely, repos);
        let found = self.lineage.descends_from(&far);
        let found = found.or_else(|| self.lineage.marked_by(&near)).or_else(|| self.lineage.marked_by(&far));
        found.map(|(owner, _)| owner.clone())
    }

    /// Returns the agent that it, or a process that has started it, says to be: one that has joined a bubble by itself is on
    /// no record. Only its token proves it.
    fn joined(&self, engine: &Engine, repos: &[PathBuf]) -> Option<Owner> {
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
        Some(Owner { repo, bubble, started: Started::Agent(agent), proven })
    }
}

/// Every repository of this user, and `more`.
fn all(engine: &Engine, more: &[PathBuf]) -> Vec<PathBuf> {
    let mut repos = engine.repositories();
    repos.extend_from_slice(more);
    repos.sort();
    repos.dedup();
    repos
}

/// Everybody who is on record for any bubble but `likely`.
fn others(engine: &Engine, likely: Option<(&Path, &BubbleId)>, repos: &[PathBuf]) -> Vec<(Owner, ProcessRecord)> {
    let of_repo = |repo: &PathBuf| {
        let ids = names::<BubbleId>(&ControlDir::of(repo).dir().join("runtime"));
        let others = ids.into_iter().filter(|id| likely != Some((repo.as_path(), id)));
        others.flat_map(|id| recorded(repo, &id)).collect::<Vec<_>>()
    };
    all(engine, repos).iter().flat_map(of_repo).collect()
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
        child.args(["--exact", "caller::process::tests::inside"]).env("CALL_AT", &path);
        assert!(child.output().unwrap().status.success());
        let (stream, _) = listener.accept().unwrap();
        let gone = Caller::at(&stream).unwrap();
        assert!(gone.is_gone() && !gone.is_local());
        let _own = UnixStream::connect(&path).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let here = Caller::at(&stream).unwrap();
        assert!(!here.is_gone() && here.is_local());
    }
}
