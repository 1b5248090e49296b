//! Sounds: the configured file, played by whatever the machine has; the terminal's bell where there is nothing to play.

use std::path::{Path, PathBuf};
use std::time::Instant;

use pairflow_core::bubble::BubbleState;
use pairflow_core::rules::Notifications;
use pairflow_core::view::inbox::{Announced, NotificationKind, due_notification, rings};

use super::order::{Order, PATIENCE, program};

/// What plays a sound, best first, with what it is told before the name of the file.
const PLAYERS: [(&str, &[&str]); 5] = [
    ("pw-play", &[]),
    ("paplay", &[]),
    ("aplay", &["-q"]),
    ("afplay", &[]),
    ("ffplay", &["-nodisp", "-autoexit", "-loglevel", "error"]),
];

/// Whether the status view rings the terminal's bell for what has changed from `before` to `after`: something new
/// waits for the person, and no sound tells of it.
pub fn bell(before: &BubbleState, after: &BubbleState) -> bool {
    rings(before, after) && !sounds(before, after, &|name| std::env::var(name).ok())
}

/// Whether a sound tells of what is new; `var` looks up the person's variables.
fn sounds(before: &BubbleState, after: &BubbleState, var: &dyn Fn(&str) -> Option<String>) -> bool {
    let about = due_notification(&Announced::all_of(before), after).map(|due| due.kind);
    let file = about.and_then(|about| sound_of(&after.rules.notifications, about));
    let file = file.map(|file| located(file, var("HOME").as_deref(), Path::new(&after.about.repo)));
    file.is_some_and(|file| file.is_file() && players(var("PATH").as_deref()).next().is_some())
}

/// Plays the sound of the order with the first player that can.
pub(super) fn play(order: &Order) -> Result<(), String> {
    let Some(file) = order.sound() else { return Ok(()) };
    if !file.is_file() {
        return Err(format!("there is no file {}", file.display()));
    }
    let began = Instant::now();
    let mut failed = Vec::new();
    for player in players(order.var("PATH")) {
        let left = PATIENCE.saturating_sub(began.elapsed());
        match program(order, command(player, &file), left) {
            Ok(()) => return Ok(()),
            Err(why) => failed.push(why),
        }
        if began.elapsed() >= PATIENCE {
            break;
        }
    }
    let none = || format!("none of {} is on the PATH", PLAYERS.map(|(name, _)| name).join(", "));
    Err(if failed.is_empty() { none() } else { failed.join("; ") })
}

impl Order {
    /// Returns the sound file, if one is configured.
    pub(super) fn sound(&self) -> Option<PathBuf> {
        let file = sound_of(&self.how, self.notification.kind)?;
        Some(located(file, self.var("HOME"), self.bubble.control.repo()))
    }
}

fn sound_of(how: &Notifications, about: NotificationKind) -> Option<&str> {
    match about {
        NotificationKind::Converged => how.converged_sound.as_deref(),
        NotificationKind::WaitingHuman | NotificationKind::Failed => how.waiting_human_sound.as_deref(),
    }
}

/// Reads `~/` as the home directory and any other relative path as one beneath the repository.
fn located(file: &str, home: Option<&str>, repo: &Path) -> PathBuf {
    match (file.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Path::new(home).join(rest),
        _ => repo.join(file),
    }
}

/// Returns the players that are there, best first.
fn players(path: Option<&str>) -> impl Iterator<Item = &'static (&'static str, &'static [&'static str])> {
    let dirs: Vec<PathBuf> = path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
    PLAYERS.iter().filter(move |(name, _)| dirs.iter().any(|dir| dir.join(name).is_file()))
}

fn command((name, before): &(&str, &[&str]), file: &Path) -> Vec<String> {
    let before = before.iter().map(|word| (*word).to_owned());
    std::iter::once((*name).to_owned()).chain(before).chain([file.display().to_string()]).collect()
}

#[cfg(test)]
mod tests {
    use pairflow_core::bubble::Phase;

    use super::*;

    #[test]
    fn the_bell_is_for_those_who_hear_no_sound() {
        let dir = tempfile::tempdir().unwrap();
        let before = BubbleState::new("b1".parse().unwrap());
        let mut after = before.clone();
        after.about.repo = dir.path().display().to_string();
        after.phase = Phase::Failed { reason: "the disk is full".to_owned() };
        let sounds =
            |after: &BubbleState| sounds(&before, after, &|name| (name == "PATH").then(|| after.about.repo.clone()));
        assert!(bell(&before, &after) && !sounds(&after), "nothing is configured");
        after.rules.notifications.waiting_human_sound = Some("q.wav".to_owned());
        assert!(bell(&before, &after) && !sounds(&after), "the file is not there");
        std::fs::write(dir.path().join("q.wav"), "").unwrap();
        assert!(!sounds(&after), "there is no player");
        std::fs::write(dir.path().join("aplay"), "").unwrap();
        assert!(sounds(&after));
        after.rules.notifications.enabled = false;
        assert!(!bell(&before, &after));
    }

    #[test]
    fn the_players_are_asked_in_their_order_and_only_if_they_are_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_str().unwrap();
        let names = || players(Some(path)).map(|(name, _)| *name).collect::<Vec<_>>();
        assert_eq!(names(), Vec::<&str>::new());
        std::fs::write(dir.path().join("ffplay"), "").unwrap();
        std::fs::write(dir.path().join("paplay"), "").unwrap();
        assert_eq!(names(), ["paplay", "ffplay"]);
        assert_eq!(players(None).count(), 0);
    }

    #[test]
    fn a_relative_sound_lies_in_the_repository_and_never_looks_like_an_option() {
        let found = |file| located(file, Some("/home/ada"), Path::new("/repo"));
        assert_eq!(found("a.wav"), Path::new("/repo/a.wav"));
        assert_eq!(found("-x"), Path::new("/repo/-x"));
        assert_eq!(found("/s/a.wav"), Path::new("/s/a.wav"));
        assert_eq!(found("~/a.wav"), Path::new("/home/ada/a.wav"));
        assert_eq!(command(&PLAYERS[2], Path::new("/s/a.wav")), ["aplay", "-q", "/s/a.wav"]);
    }
}
