//! Makes the session: with the person's configuration if that works, and without it otherwise. What pairflow relies on is
//! set whatever the configuration says.

use std::path::{Path, PathBuf};

use super::client::{CommandList, program};
use super::error::{PaneId, TmuxError, exact, inside};
use super::server::{CallOptions, Tmux};

/// The oldest tmux that works.
const OLDEST: (u32, u32) = (3, 2);

/// What a server reads in place of the person's configuration.
const NO_CONFIG: &str = "/dev/null";

/// A session to make.
#[derive(Debug, Clone)]
pub struct SessionPlan {
    /// Its name: `A-Z a-z 0-9 _ -`, for tmux changes other names.
    pub name: String,
    /// Where its first program starts.
    pub cwd: PathBuf,
    /// Its first program, as words.
    pub argv: Vec<String>,
    /// Its columns while no client is attached.
    pub width: u16,
    /// Its lines while no client is attached.
    pub height: u16,
    /// Whether to ignore the person's configuration.
    pub plain: bool,
}

/// The result of [`Tmux::ensure_session`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ensured {
    /// The session existed; [`Tmux::panes`] lists its panes.
    There,
    /// It was made.
    Made {
        /// Its first pane.
        pane: PaneId,
        /// Why the person's configuration is not in force, unless it is or was not wanted.
        without_config: Option<String>,
    },
}

impl Tmux {
    /// Makes the session of `plan`, and the server if there is none. An existing session stays as it is.
    pub fn ensure_session(&self, plan: &SessionPlan) -> Result<Ensured, TmuxError> {
        check(plan)?;
        new_enough(&self.version()?)?;
        if self.has_session(&plan.name)? {
            return Ok(Ensured::There);
        }
        if plan.plain {
            let pane = self.make(plan, Some(NO_CONFIG))?;
            return Ok(Ensured::Made { pane, without_config: None });
        }
        let running = self.is_there();
        let failed = match self.make(plan, None) {
            Ok(pane) => return Ok(Ensured::Made { pane, without_config: None }),
            Err(failed) if running => return Err(failed),
            Err(failed) => failed,
        };
        self.kill_server()?;
        let pane = self.make(plan, Some(NO_CONFIG))?;
        let why = format!("tmux was started without your configuration, because with it: {failed}");
        Ok(Ensured::Made { pane, without_config: Some(why) })
    }

    /// Whether there is a session of exactly this name.
    pub fn has_session(&self, name: &str) -> Result<bool, TmuxError> {
        match self.call(&CommandList::of(["has-session", "-t", &exact(name)])) {
            Ok(_) => Ok(true),
            Err(TmuxError::NoServer { .. } | TmuxError::Failed { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether a client is attached to the server.
    pub fn is_watched(&self) -> Result<bool, TmuxError> {
        let clients = self.call(&CommandList::of(["list-clients", "-F", "#{client_name}"]))?;
        Ok(!clients.trim().is_empty())
    }

    fn make(&self, plan: &SessionPlan, config: Option<&str>) -> Result<PaneId, TmuxError> {
        let fresh = !self.is_there();
        let hooks = self.call_starting(&start_commands(), config.map(Path::new))?;
        let size = [plan.width.to_string(), plan.height.to_string()];
        let words = program(&plan.argv)?;
        let head = ["new-session", "-d", "-P", "-F", "#{pane_id}", "-s", &plan.name, "-n", "pairflow"];
        let head = head.into_iter().chain(["-x", &size[0], "-y", &size[1], "-c", "", "--"]);
        let commands = without_hooks(&hooks).then(head.chain(words.iter().map(String::as_str)));
        let mut commands = with_settings(commands, &plan.name, (plan.width, plan.height));
        if fresh {
            commands = commands.then(["kill-session", "-a", "-t", &exact(&plan.name)]);
        }
        let said = self.call_with(&commands, CallOptions { cwd: Some(&plan.cwd), ..CallOptions::default() })?;
        let pane: PaneId = said.trim_end().parse().map_err(|_| TmuxError::unexpected("new-session", &said))?;
        let there = self.panes()?.into_iter().any(|one| one.id == pane && one.session == plan.name);
        if there { Ok(pane) } else { Err(TmuxError::NoPane { pane }) }
    }
}

fn check(plan: &SessionPlan) -> Result<(), TmuxError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if plan.name.is_empty() || plan.name.starts_with('-') || !plan.name.chars().all(plain) {
        return Err(TmuxError::refused(format!("the session name {:?}", plan.name)));
    }
    if plan.width == 0 || plan.height == 0 {
        return Err(TmuxError::refused("a session without columns or lines"));
    }
    std::fs::read_dir(&plan.cwd).map_err(|source| TmuxError::io("start a program in", &plan.cwd, source))?;
    program(&plan.argv).map(drop)
}

/// Refuses a version that is too old. An unreadable one is a recent build from source.
fn new_enough(version: &str) -> Result<(), TmuxError> {
    let number = version.trim_start_matches(|c: char| !c.is_ascii_digit());
    let mut parts = number.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (parts.next(), parts.next()) else { return Ok(()) };
    if (major, minor) < OLDEST { Err(TmuxError::TooOld { found: version.to_owned() }) } else { Ok(()) }
}

/// How many lines of history a pane keeps.
const HISTORY: &str = "10000";

/// Options that are set before there is a session; otherwise some servers end at once.
const SERVER: &[[&str; 4]] = &[
    ["set-option", "-s", "exit-empty", "off"],
    ["set-option", "-s", "exit-unattached", "off"],
    ["set-option", "-g", "destroy-unattached", "off"],
    // A pane takes its history from what is set when it is made.
    ["set-option", "-g", "history-limit", HISTORY],
    // Set later, the line over a pane would resize the first pane while its program runs.
    ["set-option", "-gw", "pane-border-status", "top"],
];

/// Options of our session. Set there, and not for the server, they survive a reload of the person's configuration.
const SESSION: &[(&str, &str)] =
    &[("destroy-unattached", "off"), ("detach-on-destroy", "on"), ("history-limit", HISTORY)];

/// Options of our window.
const WINDOW: &[(&str, &str)] = &[
    ("remain-on-exit", "on"),
    ("allow-rename", "off"),
    ("automatic-rename", "off"),
    ("synchronize-panes", "off"),
    ("window-size", "latest"),
    // The line over each pane names its agent.
    ("pane-border-status", "top"),
    ("pane-border-format", " #{s/[.]view$//:@pairflow} "),
];

/// Returns the commands that start a server that stays, and list its hooks.
fn start_commands() -> CommandList {
    let started = SERVER.iter().fold(CommandList::of(["start-server"]), |commands, option| commands.then(option));
    started.then(["show-hooks", "-g"]).then(["show-hooks", "-g", "-w"])
}

/// Returns the commands that remove the hooks in `listing`.
fn without_hooks(listing: &str) -> CommandList {
    let mut names: Vec<&str> = listing.lines().filter_map(hook).collect();
    names.dedup();
    names.into_iter().fold(CommandList::default(), |commands, name| commands.then(["set-hook", "-g", "-u", name]))
}

/// Adds the options of our session `name`, with its columns and lines.
fn with_settings(commands: CommandList, name: &str, (width, height): (u16, u16)) -> CommandList {
    let target = inside(name);
    let size = format!("{width}x{height}");
    let commands = commands.then(["set-option", "-t", &target, "default-size", &size]);
    let commands = SESSION
        .iter()
        .fold(commands, |commands, (name, value)| commands.then(["set-option", "-t", &target, name, value]));
    let commands = WINDOW
        .iter()
        .fold(commands, |commands, (name, value)| commands.then(["set-option", "-w", "-t", &target, name, value]));
    // Errors of a configuration are shown over the first pane until a key is pressed.
    commands.then(["copy-mode", "-q", "-t", &target])
}

/// Returns the name of the hook in a line of `show-hooks`, if it has a command.
fn hook(line: &str) -> Option<&str> {
    let (name, _) = line.split_once(' ')?;
    let name = name.split('[').next()?;
    let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    plain.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_tmux_is_told_from_a_new_one() {
        for version in ["tmux 3.2", "tmux 3.2a", "tmux 3.3a", "tmux next-3.6", "tmux 4.0", "tmux master", "tmux 10.1"] {
            assert!(new_enough(version).is_ok(), "{version}");
        }
        for version in ["tmux 3.1c", "tmux 2.9a", "tmux 1.8"] {
            let error = new_enough(version).unwrap_err().to_string();
            assert_eq!(error, format!("{version} is too old; install tmux 3.2 or newer"));
        }
    }

    #[test]
    fn hooks_with_commands_are_found_by_name() {
        let listing = "after-new-session[0] new-window\nafter-new-session[1] x\nafter-bind-key\npane-died[12] a ; b\n";
        assert_eq!(
            listing.lines().filter_map(hook).collect::<Vec<_>>(),
            ["after-new-session", "after-new-session", "pane-died"]
        );
        assert_eq!(without_hooks(listing).words().len(), 4 + 1 + 4);
    }
}
