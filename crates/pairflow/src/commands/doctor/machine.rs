//! What the machine and its user have to offer: programs, configuration, directories, the supervisor.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use pairflow_core::config::Layer;
use pairflow_core::text::counted;
use pairflow_engine::engine::Control;
use pairflow_engine::git::{OLDEST_GIT, Repo, is_recent, version};
use pairflow_engine::supervisor_client::{Client, Health};

use super::report::Report;
use crate::app::{App, INSTALL_TMUX, Reach, quoted};
use crate::exit::CommandError;

/// Below this, a disk counts as full: a checkout and its build need more.
const FEW_BYTES: u64 = 200 * 1024 * 1024;

/// Looks at git, the one program without which nothing works.
pub(super) fn git(report: &mut Report) {
    let (major, minor) = OLDEST_GIT;
    let install = format!("install git {major}.{minor} or newer: https://git-scm.com/downloads");
    match version() {
        Ok(found) if is_recent(&found) => report.ok("git", &format!("version {found}")),
        Ok(found) => report.problem("git", &format!("version {found} is older than {major}.{minor}"), Some(&install)),
        Err(error) => report.problem("git", &error.to_string(), Some(&install)),
    }
}

/// Looks on PATH for tmux, which agents in panes need. Nothing is started.
pub(super) fn programs(app: &App, report: &mut Report) {
    match app.on_path("tmux") {
        Some(path) => report.ok("tmux", &format!("tmux is {}", path.display())),
        None => {
            report.warning("tmux", "tmux is not on PATH; only agents in tmux panes need it", Some(INSTALL_TMUX));
        }
    }
}

/// Looks at the repository of the call.
pub(super) fn repository(reach: &Reach, report: &mut Report) {
    let Some(place) = &reach.place else {
        let known = reach.roots.len();
        let found = match known {
            0 => "this is no git repository".to_owned(),
            _ => format!("this is no git repository; {} with bubbles looked at", counted(known, "known one")),
        };
        return report.warning("repository", &found, Some("cd YOUR-PROJECT"));
    };
    match Repo::discover(&place.repo.root) {
        Ok(repo) => report.ok("repository", &repo.root.display().to_string()),
        Err(error) => report.problem("repository", &error.to_string(), None),
    }
}

/// Looks at what tells one's own bubbles from foreign ones: the key, and whether logs travel with the repository.
pub(super) fn trust(app: &App, reach: &Reach, report: &mut Report) {
    let Ok(engine) = app.engine() else { return };
    if let Err(error) = engine.insist_private() {
        let error = CommandError::from(error);
        report.problem("state", &error.message, error.hint.as_deref());
    }
    let registry = engine.registry();
    let path = registry.key_path();
    match registry.key() {
        Ok(None) => match registry.all().map_or(0, |all| all.len()) {
            0 => report.ok("key", "there is none yet; the first bubble makes it"),
            n => {
                let found =
                    format!("{} is missing; {} of yours were sealed with it", path.display(), counted(n, "bubble"));
                report.problem(
                    "key",
                    &found,
                    Some("restore it from a backup, or in each repository: pairflow adopt --all"),
                );
            }
        },
        Ok(Some(key)) => {
            let open = std::fs::metadata(&path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0);
            let next = format!("chmod 600 {}", quoted(&path.display().to_string()));
            match open {
                true => report.problem("key", &format!("others can read {}", path.display()), Some(&next)),
                false => report.ok("key", &format!("{} seals the logs of your bubbles", key.id())),
            }
        }
        Err(error) => report.problem("key", &error.to_string(), None),
    }
    for path in registry.damaged().unwrap_or_default() {
        let found = format!("the record {} of a bubble cannot be read, so no supervisor takes it up", path.display());
        report.problem("record", &found, Some("pairflow doctor --repair"));
    }
    if let Some(place) = reach.place.as_ref().filter(|place| engine.tracks_control(&place.repo)) {
        let found = format!("git tracks .pairflow in {}", place.repo.root.display());
        report.problem("history", &found, Some("git rm -r --cached .pairflow"));
    }
}

/// Looks at every configuration file.
pub(super) fn config(app: &App, reach: &Reach, report: &mut Report) {
    let Ok(engine) = app.engine() else { return };
    let own = engine.dirs.config;
    let mut there: Vec<String> = own.is_file().then(|| own.display().to_string()).into_iter().collect();
    // Beneath a file lies no repository, so that only the person's own file is read.
    let nowhere = own.clone();
    for root in reach.roots.iter().chain(reach.roots.is_empty().then_some(&nowhere)) {
        if let Err(error) = app.layers(root, None, Layer::default()) {
            return report.problem("config", &error.message, Some("mend the file, then: pairflow config explain"));
        }
        let shared = root.join("pairflow.toml");
        there.extend(shared.is_file().then(|| shared.display().to_string()));
    }
    match there.len() {
        0 => report.ok("config", "no file, so the defaults hold"),
        _ => report.ok("config", &format!("valid: {}", there.join(", "))),
    }
}

/// Looks whether pairflow can write where it has to.
pub(super) fn places(app: &App, reach: &Reach, report: &mut Report) {
    let dirs = match app.engine() {
        Ok(engine) => engine.dirs,
        Err(error) => return report.problem("disk", &error.message, error.hint.as_deref()),
    };
    let mut wanted = vec![dirs.state, dirs.runtime];
    wanted.extend(reach.roots.iter().map(|root| Control::of(root).dir()));
    let mut all = true;
    for dir in &wanted {
        if let Err(why) = writable(dir) {
            all = false;
            let next = format!("make {} writable, or free some space", dir.display());
            report.problem("disk", &why, Some(&next));
        }
    }
    if all {
        report.ok("disk", "writable, with room to spare");
    }
}

/// Whether a directory, or the one in which it would be made, can be written to and has room.
fn writable(dir: &Path) -> Result<(), String> {
    let there = dir.ancestors().find(|dir| dir.exists()).unwrap_or(dir);
    rustix::fs::access(there, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
        .map_err(|error| format!("cannot write to {}: {error}", there.display()))?;
    let free = rustix::fs::statvfs(there).map(|it| it.f_bavail.saturating_mul(it.f_frsize));
    match free {
        Ok(free) if free < FEW_BYTES => Err(format!("{} has only {} MiB left", there.display(), free / 1024 / 1024)),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("cannot ask how much room {} has: {error}", there.display())),
    }
}

/// Looks whether somebody performs what is owed, if anything can be.
pub(super) fn supervisor(app: &App, reach: &Reach, report: &mut Report) -> Result<(), CommandError> {
    let Ok(engine) = app.engine() else { return Ok(()) };
    let own = env!("CARGO_PKG_VERSION");
    match Client::new(&engine).health() {
        Health::Answers(reply) if reply.version == own => {
            report
                .ok("supervisor", &format!("process {}, {} in its care", reply.pid, counted(reply.bubbles, "bubble")));
        }
        Health::Answers(reply) => {
            let found = format!("process {} is version {}, this is {own}", reply.pid, reply.version);
            report.warning("supervisor", &found, Some("pairflow supervisor stop"));
        }
        Health::Hangs(pid) => {
            let process = pid.map(|pid| format!("process {pid} ")).unwrap_or_default();
            let found = format!("{process}does not answer, so no bubble moves; a new one replaces it");
            report.problem("supervisor", &found, Some("pairflow supervise"));
        }
        Health::Absent => {
            let listed = app.found(reach)?.into_iter().filter_map(|found| found.bubbles.ok()).flatten();
            let owing = |state: &pairflow_core::bubble::BubbleState| state.phase.turn().is_some() && !state.paused;
            let waiting = listed.filter_map(|listed| listed.state.ok()).filter(owing).count();
            if waiting > 0 {
                let moves = if waiting == 1 { "does" } else { "do" };
                let found = format!("not running, and {} {moves} not move without it", counted(waiting, "bubble"));
                report.warning("supervisor", &found, Some("pairflow supervise"));
            } else {
                report.ok("supervisor", "not running; nothing needs it");
            }
        }
    }
    Ok(())
}
