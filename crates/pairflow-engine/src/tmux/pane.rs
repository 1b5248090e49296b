//! Panes: what tmux knows of them, the programs in them, and their layout: the first one on top over the whole width, the
//! others side by side beneath.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use super::client::{CommandList, program};
use super::error::{PaneId, TmuxError};
use super::server::{CallOptions, Tmux};

/// The option in which a pane's tag is kept.
const TAG: &str = "@pairflow";
const TAG_LIMIT: usize = 64;

/// One line per pane. The title can be any text, so it comes last; tmux keeps control characters out of it, and colons out
/// of session names. A tag is shown only if it could be ours.
const PANE_FORMAT: &str = "#{pane_id}:#{pane_pid}:#{pane_dead}:#{pane_dead_status}:#{pane_dead_signal}:#{pane_in_mode}:\
    #{session_name}:#{?#{m/r:^[A-Za-z0-9_.-]+$,#{@pairflow}},#{@pairflow},}:#{=200:pane_title}";

/// What tmux knows of a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pane {
    /// Its name.
    pub id: PaneId,
    /// The process that was started in it, even after it has ended.
    pub pid: i32,
    /// Whether that process has ended, or has closed its terminal.
    pub dead: bool,
    /// Its exit code. For a moment, and for a process that only closed its terminal, neither this nor the signal is known.
    pub status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether a person is in copy mode there, or in another mode that takes the keys.
    pub mode: bool,
    /// The session it belongs to.
    pub session: String,
    /// The tag set by [`Tmux::tag`].
    pub tag: Option<String>,
    /// The title that its program has set, at most 200 characters.
    pub title: String,
}

impl Pane {
    /// Whether its program has ended and it is not known how.
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
        match self.call(&CommandList::of(["list-panes", "-a", "-F", PANE_FORMAT])) {
            Ok(lines) => lines.lines().map(parse_pane).collect(),
            Err(failed @ TmuxError::Failed { .. }) => {
                // A server without sessions has nothing to list, and calls that a failure.
                let sessions = self.call(&CommandList::of(["list-sessions", "-F", "#{session_name}"]))?;
                if sessions.is_empty() { Ok(Vec::new()) } else { Err(failed) }
            }
            Err(error) => Err(error),
        }
    }

    /// Makes the server check which of its programs have ended. tmux 3.3a sometimes misses the end of a short program, which
    /// then has no exit code until the next one ends.
    fn look_for_the_dead(&self) -> Result<(), TmuxError> {
        let said = self.call(&CommandList::of(["list-sessions", "-F", "#{pid}"]))?;
        let pid = said.lines().next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // An error means that it is gone; the next call reports that.
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
            let commands = CommandList::of(head.chain(words.iter().map(String::as_str)));
            self.call_at(pane, &commands, CallOptions { cwd: Some(cwd), ..CallOptions::default() })
        };
        let said = match split("-v") {
            // A pane of a few lines has no room for two. A window without clients can get its own size back, or the pane
            // is split sideways.
            Err(TmuxError::Failed { .. }) => {
                self.make_room(pane)?;
                split("-v").or_else(|_| split("-h"))?
            }
            answer => answer?,
        };
        said.trim_end().parse().map_err(|_| TmuxError::unexpected("split-window", &said))
    }

    /// Replaces the program of `pane` by `argv` in `cwd`. The pane keeps its id and its tag.
    pub fn respawn(&self, pane: &PaneId, argv: &[String], cwd: &Path) -> Result<(), TmuxError> {
        let words = program(argv)?;
        let head = ["respawn-pane", "-k", "-t", pane.as_str(), "-c", "", "--"];
        let commands = CommandList::of(head.into_iter().chain(words.iter().map(String::as_str)));
        self.call_at(pane, &commands, CallOptions { cwd: Some(cwd), ..CallOptions::default() }).map(drop)
    }

    /// Tags `pane` for later listings: 1 to 64 of `A-Z a-z 0-9 _ . -`.
    pub fn tag(&self, pane: &PaneId, text: &str) -> Result<(), TmuxError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if !(1..=TAG_LIMIT).contains(&text.len()) || !text.chars().all(plain) {
            return Err(TmuxError::refused(format!("the tag {text:?}")));
        }
        self.call_pane(pane, ["set-option", "-p", "-t", pane.as_str(), "--", TAG, text]).map(drop)
    }

    /// Closes `pane` and hangs up on what is in it.
    pub fn close(&self, pane: &PaneId) -> Result<(), TmuxError> {
        self.call_pane(pane, ["kill-pane", "-t", pane.as_str()]).map(drop)
    }

    /// Arranges the window in which the first pane of `order` is: that pane on top, the others side by side beneath, in
    /// this order; panes that are not named come last. Which pane is active, and whether it is zoomed, stays.
    pub fn layout(&self, order: &[PaneId]) -> Result<(), TmuxError> {
        let Some(top) = order.first() else { return Ok(()) };
        self.make_room(top)?;
        let window = self.window(top)?;
        let mut commands = swaps(&window.panes, order);
        commands = commands.then(["set-option", "-w", "-t", &window.id, "other-pane-height", "0"]);
        commands = commands.then(["set-option", "-wF", "-t", &window.id, "main-pane-height", TOP]);
        commands = commands.then(["select-layout", "-t", &window.id, "main-horizontal"]);
        commands = commands.then(["set-hook", "-w", "-t", &window.id, "window-resized", &again(&window.id)]);
        if let Some(zoomed) = window.zoomed {
            commands = commands.then(["resize-pane", "-Z", "-t", zoomed.as_str()]);
        }
        self.call_at(top, &commands, CallOptions::default()).map(drop)
    }

    /// Gives the window of `pane` its own size back if nobody looks at it. The last one who did may have had a small
    /// screen.
    pub(super) fn make_room(&self, pane: &PaneId) -> Result<(), TmuxError> {
        let window = self.window(pane)?;
        let Some((width, height)) = window.resize else { return Ok(()) };
        let resize = ["resize-window", "-t", &window.id, "-x", &width.to_string(), "-y", &height.to_string()];
        // Resizing makes the size a fixed one, and the next person who attaches wants theirs.
        let commands = CommandList::of(resize).then(["set-option", "-w", "-t", &window.id, "window-size", "latest"]);
        self.call_at(pane, &commands, CallOptions::default()).map(drop)
    }

    /// Whether one pane of the window of `pane` hides the others.
    pub(super) fn is_zoomed(&self, pane: &PaneId) -> Result<bool, TmuxError> {
        Ok(self.window(pane)?.zoomed.is_some())
    }

    fn window(&self, pane: &PaneId) -> Result<Window, TmuxError> {
        let said = self.call_pane(pane, ["list-panes", "-t", pane.as_str(), "-F", WINDOW_FORMAT])?;
        parse_window(&said).ok_or_else(|| TmuxError::unexpected("list-panes", &said))
    }
}

fn parse_pane(line: &str) -> Result<Pane, TmuxError> {
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

/// tmux reports the number of a signal, on some systems its name.
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

/// How many lines the pane on top gets, with the one that names it, as tmux finds out whenever the window changes its
/// size: a third, within limits.
const TOP: &str =
    "#{?#{e|<:#{window_height},24},8,#{?#{e|>:#{window_height},30},11,#{e|+:1,#{e|/:#{window_height},3}}}}";

const WINDOW_FORMAT: &str = "#{pane_id}:#{pane_active}:#{window_id}:#{window_zoomed_flag}:#{session_attached}:\
    #{default-size}:#{window_width}x#{window_height}";

/// What tmux does when somebody with a screen of another size comes: shares alone would leave the top a single line.
fn again(window: &str) -> String {
    format!(
        "if-shell -F '#{{window_zoomed_flag}}' '' {{ set-option -wF -t {window} main-pane-height '{TOP}' ; \
         select-layout -t {window} main-horizontal }}"
    )
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Window {
    id: String,
    /// The pane that alone is shown, if one is.
    zoomed: Option<PaneId>,
    /// The size that it had from the start, if it has another one now and no client is attached.
    resize: Option<(u16, u16)>,
    /// In the order in which they are laid out.
    panes: Vec<PaneId>,
}

fn parse_window(listing: &str) -> Option<Window> {
    let mut window = Window::default();
    for line in listing.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let [pane, active, id, zoomed, attached, wanted, actual] = fields[..] else { return None };
        let pane: PaneId = pane.parse().ok()?;
        if (active, zoomed) == ("1", "1") {
            window.zoomed = Some(pane.clone());
        }
        window.panes.push(pane);
        id.clone_into(&mut window.id);
        window.resize = if attached == "0" && wanted != actual { size(wanted) } else { None };
    }
    (!window.panes.is_empty()).then_some(window)
}

fn size(text: &str) -> Option<(u16, u16)> {
    let (width, height) = text.split_once('x')?;
    Some((width.parse().ok()?, height.parse().ok()?))
}

/// Returns the swaps that bring `panes` into `order`, as far as it names them.
fn swaps(panes: &[PaneId], order: &[PaneId]) -> CommandList {
    let mut now = panes.to_vec();
    let mut commands = CommandList::default();
    let wanted = order.iter().filter(|pane| panes.contains(pane));
    for (place, pane) in wanted.enumerate() {
        let Some(at) = now.iter().position(|one| one == pane) else { continue };
        if at > place {
            commands = commands.then(["swap-pane", "-d", "-Z", "-s", pane.as_str(), "-t", now[place].as_str()]);
            now.swap(at, place);
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_may_hold_anything() {
        let pane = parse_pane("%12:345:1:0::0:pf-a:status:a:b %3:1:0 #{pane_id}").unwrap();
        assert_eq!((pane.id.as_str(), pane.pid, pane.dead), ("%12", 345, true));
        assert_eq!((pane.status, pane.signal, pane.mode), (Some(0), None, false));
        assert_eq!((pane.tag.as_deref(), pane.title.as_str()), (Some("status"), "a:b %3:1:0 #{pane_id}"));
    }

    #[test]
    fn signals_come_as_numbers_or_as_names() {
        let signal = |text: &str| parse_pane(&format!("%1:2:1::{text}:1:pf::")).unwrap().signal;
        assert_eq!((signal("9"), signal("KILL"), signal("term")), (Some(9), Some(9), Some(15)));
        assert_eq!((signal(""), signal("NOSUCH")), (None, None));
    }

    fn ids(text: &str) -> Vec<PaneId> {
        text.split_whitespace().map(|id| id.parse().unwrap()).collect()
    }

    #[test]
    fn panes_are_swapped_only_as_needed() {
        let said = |panes: &str, order: &str| {
            let commands = swaps(&ids(panes), &ids(order));
            commands.words().iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(said("%0 %1 %2", "%0 %1 %2"), "");
        assert_eq!(said("%0 %1 %2", "%0 %9 %2"), "swap-pane -d -Z -s %2 -t %1");
        assert_eq!(said("%1 %0 %2", "%2 %1"), "swap-pane -d -Z -s %2 -t %1 ; swap-pane -d -Z -s %1 -t %0");
    }

    #[test]
    fn a_window_that_somebody_looks_at_keeps_its_size() {
        let listing = |attached: u8| format!("%0:0:@1:1:{attached}:200x50:40x15\n%3:1:@1:1:{attached}:200x50:40x15\n");
        let window = parse_window(&listing(0)).unwrap();
        assert_eq!((window.resize, window.zoomed), (Some((200, 50)), Some("%3".parse().unwrap())));
        assert_eq!((window.id.as_str(), window.panes), ("@1", ids("%0 %3")));
        assert_eq!(parse_window(&listing(1)).unwrap().resize, None);
    }
}
