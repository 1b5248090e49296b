//! What we rely on, whatever the person's configuration says.

use super::argv::Script;
use super::target::inside;

/// How many lines of history a pane keeps.
const HISTORY: &str = "10000";

/// What has to hold before there is a session; otherwise some servers end at once.
const SERVER: &[[&str; 4]] = &[
    ["set-option", "-s", "exit-empty", "off"],
    ["set-option", "-s", "exit-unattached", "off"],
    ["set-option", "-g", "destroy-unattached", "off"],
    // A pane takes its history from what is set when it is made.
    ["set-option", "-g", "history-limit", HISTORY],
    // The line over a pane is its own: set later, it would make the first pane smaller under its program's feet.
    ["set-option", "-gw", "pane-border-status", "top"],
];

/// What holds for our session. Set there, and not for the whole server, it stays when the person reads their
/// configuration again.
const SESSION: &[(&str, &str)] =
    &[("destroy-unattached", "off"), ("detach-on-destroy", "on"), ("history-limit", HISTORY)];

/// What holds for our window.
const WINDOW: &[(&str, &str)] = &[
    ("remain-on-exit", "on"),
    ("allow-rename", "off"),
    ("automatic-rename", "off"),
    ("synchronize-panes", "off"),
    ("window-size", "latest"),
    // Over each pane stands whose it is.
    ("pane-border-status", "top"),
    ("pane-border-format", " #{s/[.]view$//:@pairflow} "),
];

/// Starts a server that stays, and lists its hooks.
pub(super) fn begin() -> Script {
    let started = SERVER.iter().fold(Script::of(["start-server"]), |script, option| script.then(option));
    started.then(["show-hooks", "-g"]).then(["show-hooks", "-g", "-w"])
}

/// Adds to `script`: without any of the hooks in `listing`.
pub(super) fn without_hooks(listing: &str) -> Script {
    let mut names: Vec<&str> = listing.lines().filter_map(hook).collect();
    names.dedup();
    names.into_iter().fold(Script::default(), |script, name| script.then(["set-hook", "-g", "-u", name]))
}

/// Adds to `script`: our session `name` as we want it, `width` columns and `height` lines large.
pub(super) fn settle(script: Script, name: &str, (width, height): (u16, u16)) -> Script {
    let target = inside(name);
    let size = format!("{width}x{height}");
    let script = script.then(["set-option", "-t", &target, "default-size", &size]);
    let script =
        SESSION.iter().fold(script, |script, (name, value)| script.then(["set-option", "-t", &target, name, value]));
    let script = WINDOW
        .iter()
        .fold(script, |script, (name, value)| script.then(["set-option", "-w", "-t", &target, name, value]));
    // The faults of a configuration are shown over the first pane, until somebody presses a key.
    script.then(["copy-mode", "-q", "-t", &target])
}

/// Returns the name of the hook that a line of `show-hooks` is about, if anything hangs on it.
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
    fn hooks_with_commands_are_found_by_name() {
        let listing = "after-new-session[0] new-window\nafter-new-session[1] x\nafter-bind-key\npane-died[12] a ; b\n";
        assert_eq!(
            listing.lines().filter_map(hook).collect::<Vec<_>>(),
            ["after-new-session", "after-new-session", "pane-died"]
        );
        assert_eq!(without_hooks(listing).words().len(), 4 + 1 + 4);
    }
}
