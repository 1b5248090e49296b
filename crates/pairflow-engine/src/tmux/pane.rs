//! Panes: their ids, what tmux says of them, and the programs in them.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use super::argv::{Script, program};
use super::error::TmuxError;
use super::server::{About, Tmux};
use super::target::PaneId;

/// The option in which a pane's tag is kept.
const TAG: &str = "@pairflow";
const TAG_LIMIT: usize = 64;

/// One line a pane. Only the title is anybody's text, so it comes last; tmux keeps control characters out of it, and
/// colons out of the names of sessions. A tag that somebody else has set is shown only if it could be ours.
const LINE: &str = "#{pane_id}:#{pane_pid}:#{pane_dead}:#{pane_dead_status}:#{pane_dead_signal}:#{pane_in_mode}:\
    #{session_name}:#{?#{m/r:^[A-Za-z0-9_.-]+$,#{@pairflow}},#{@pairflow},}:#{=200:pane_title}";

/// What tmux knows of a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pane {
    /// Its name.
    pub id: PaneId,
    /// The process that was started in it; still said when that process is dead.
    pub pid: i32,
    /// Whether that process has ended, or has closed its terminal.
    pub dead: bool,
    /// The exit code with which it ended. For a moment, and for one that only closed its terminal, neither this nor the
    /// signal is known.
    pub status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether a person is in copy mode there, or in any other mode that takes the keys.
    pub mode: bool,
    /// The session it belongs to.
    pub session: String,
    /// What [`Tmux::tag`] said it is.
    pub tag: Option<String>,
    /// The title that its program has set: anybody's text, at most 200 characters.
    pub title: String,
}

impl Pane {
    /// Whether its program has ended and nobody knows how.
    fn ended_unseen(&self) -> bool {
        self.dead && self.status.is_none() && self.signal.is_none()
    }
}

impl Tmux {
    /// Returns every pane of the server. One that a person has closed is not among them.
    pub fn panes(&self) -> Result<Vec<Pane>, TmuxError> {
        let panes = self.list()?;
        if !panes.iter().any(Pane::ended_unseen) {
            return Ok(panes);
        }
        self.look_for_the_dead()?;
        self.list()
    }

    /// Returns every pane as the server knows it.
    pub(super) fn list(&self) -> Result<Vec<Pane>, TmuxError> {
        match self.call(&Script::of(["list-panes", "-a", "-F", LINE])) {
            Ok(lines) => lines.lines().map(read).collect(),
            Err(failed @ TmuxError::Failed { .. }) => {
                // A server without sessions has nothing to list, and calls that a failure.
                let sessions = self.call(&Script::of(["list-sessions", "-F", "#{session_name}"]))?;
                if sessions.is_empty() { Ok(Vec::new()) } else { Err(failed) }
            }
            Err(error) => Err(error),
        }
    }

    /// Makes the server see which of its programs have ended. tmux 3.3a misses the end of a program now and then when
    /// that program was a short one; it then stays dead without an exit code until the next one ends.
    fn look_for_the_dead(&self) -> Result<(), TmuxError> {
        let said = self.call(&Script::of(["list-sessions", "-F", "#{pid}"]))?;
        let pid = said.lines().next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // An error means that it is gone, which the next call says better.
            let _ = kill_process(pid, Signal::CHILD);
        }
        Ok(())
    }

    /// Starts `argv` in `cwd`, in a new pane beside `pane`. The active pane stays active, and a zoomed one zoomed.
    pub fn split(&self, pane: &PaneId, argv: &[String], cwd: &Path) -> Result<PaneId, TmuxError> {
        let words = program(argv)?;
        // `-Z` keeps what is zoomed, but it also zooms what is not.
        let zoomed = self.is_zoomed(pane)?.then_some("-Z");
        let split = |way: &str| {
            let head = ["split-window", way, "-d"].into_iter().chain(zoomed);
            let head = head.chain(["-P", "-F", "#{pane_id}", "-t", pane.as_str(), "-c", "", "--"]);
            let script = Script::of(head.chain(words.iter().map(String::as_str)));
            self.call_at(pane, &script, About { cwd: Some(cwd), ..About::default() })
        };
        let said = match split("-v") {
            // A pane of a few lines has no room for two; it may have some sideways, and a window that nobody looks at
            // can be as large as it was.
            Err(TmuxError::Failed { .. }) => {
                self.make_room(pane)?;
                split("-v").or_else(|_| split("-h"))?
            }
            answer => answer?,
        };
        said.trim_end().parse().map_err(|_| TmuxError::unexpected("split-window", &said))
    }

    /// Starts `argv` in `cwd` in the place of what is, or was, in `pane`. The pane keeps its name and its tag.
    pub fn respawn(&self, pane: &PaneId, argv: &[String], cwd: &Path) -> Result<(), TmuxError> {
        let words = program(argv)?;
        let head = ["respawn-pane", "-k", "-t", pane.as_str(), "-c", "", "--"];
        let script = Script::of(head.into_iter().chain(words.iter().map(String::as_str)));
        self.call_at(pane, &script, About { cwd: Some(cwd), ..About::default() }).map(drop)
    }

    /// Notes what `pane` is, for a later listing of the panes: 1 to 64 of `A-Z a-z 0-9 _ . -`.
    pub fn tag(&self, pane: &PaneId, text: &str) -> Result<(), TmuxError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if !(1..=TAG_LIMIT).contains(&text.len()) || !text.chars().all(plain) {
            return Err(TmuxError::refused(format!("the tag {text:?}")));
        }
        let script = Script::of(["set-option", "-p", "-t", pane.as_str(), "--", TAG, text]);
        self.call_at(pane, &script, About::default()).map(drop)
    }

    /// Closes `pane` and hangs up on what is in it.
    pub fn close(&self, pane: &PaneId) -> Result<(), TmuxError> {
        self.call_at(pane, &Script::of(["kill-pane", "-t", pane.as_str()]), About::default()).map(drop)
    }
}

fn read(line: &str) -> Result<Pane, TmuxError> {
    let unexpected = || TmuxError::unexpected("list-panes", line);
    let fields: Vec<&str> = line.splitn(9, ':').collect();
    let [id, pid, dead, status, signal, modes, session, tag, title] = fields[..] else { return Err(unexpected()) };
    Ok(Pane {
        id: id.parse().map_err(|_| unexpected())?,
        pid: pid.parse().map_err(|_| unexpected())?,
        dead: dead == "1",
        status: status.parse().ok(),
        signal: signal_number(signal),
        mode: !matches!(modes, "" | "0"),
        session: session.to_owned(),
        tag: Some(tag.to_owned()).filter(|tag| !tag.is_empty()),
        title: title.to_owned(),
    })
}

/// tmux says the number of a signal, and on some systems its name.
fn signal_number(text: &str) -> Option<i32> {
    const NAMES: [(&str, Signal); 12] = [
        ("HUP", Signal::HUP),
        ("INT", Signal::INT),
        ("QUIT", Signal::QUIT),
        ("ILL", Signal::ILL),
        ("TRAP", Signal::TRAP),
        ("ABRT", Signal::ABORT),
        ("BUS", Signal::BUS),
        ("FPE", Signal::FPE),
        ("KILL", Signal::KILL),
        ("SEGV", Signal::SEGV),
        ("PIPE", Signal::PIPE),
        ("TERM", Signal::TERM),
    ];
    let named = || NAMES.iter().find(|(name, _)| text.eq_ignore_ascii_case(name)).map(|(_, it)| it.as_raw());
    text.parse().ok().or_else(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_may_hold_anything() {
        let pane = read("%12:345:1:0::0:pf-a:status:a:b %3:1:0 #{pane_id}").unwrap();
        assert_eq!((pane.id.as_str(), pane.pid, pane.dead), ("%12", 345, true));
        assert_eq!((pane.status, pane.signal, pane.mode), (Some(0), None, false));
        assert_eq!((pane.tag.as_deref(), pane.title.as_str()), (Some("status"), "a:b %3:1:0 #{pane_id}"));
    }

    #[test]
    fn signals_come_as_numbers_or_as_names() {
        let signal = |text: &str| read(&format!("%1:2:1::{text}:1:pf::")).unwrap().signal;
        assert_eq!((signal("9"), signal("KILL"), signal("term")), (Some(9), Some(9), Some(15)));
        assert_eq!((signal(""), signal("NOSUCH")), (None, None));
    }
}
