//! Checks of the machine and its user: programs, agents, configuration, directories, the supervisor.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use pairflow_agents::spec::{OldestVersion, Version, spec_of};
use pairflow_core::config::Layer;
use pairflow_core::ids::AgentId;
use pairflow_core::rules::CustomAgent;
use pairflow_core::safe::safe_line;
use pairflow_core::text::counted;
use pairflow_engine::engine::ControlDir;
use pairflow_engine::git::{OLDEST_GIT, Repo, is_recent, version};
use pairflow_engine::process::{Cancel, Job, JobCommand, run};
use pairflow_engine::supervisor_client::{Client, Health};

use super::Report;
use crate::app::{App, INSTALL_TMUX, RepoScope, quoted};
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
pub(super) fn repository(repo_scope: &RepoScope, report: &mut Report) {
    let Some(place) = &repo_scope.place else {
        let known = repo_scope.roots.len();
        let found = match known {
            0 => "this is not a git repository".to_owned(),
            _ => format!("this is not a git repository; checked {} with bubbles", counted(known, "known repository")),
        };
        return report.warning("repository", &found, Some("cd YOUR-PROJECT"));
    };
    match Repo::discover(&place.repo.root) {
        Ok(repo) => report.ok("repository", &repo.root.display().to_string()),
        Err(error) => report.problem("repository", &error.to_string(), None),
    }
}

/// Checks the key that marks own bubbles, and whether git tracks the logs.
pub(super) fn trust(app: &App, repo_scope: &RepoScope, report: &mut Report) {
    let Ok(engine) = app.engine() else { return };
    if let Err(error) = engine.insist_private() {
        let error = CommandError::from(error);
        report.problem("state", &error.message, error.hint.as_deref());
    }
    let registry = engine.registry();
    let path = registry.key_path();
    match registry.key() {
        Ok(None) => match registry.all().map_or(0, |all| all.len()) {
            0 => report.ok("key", "there is none yet; it is created with the first bubble"),
            n => {
                let found = format!("{} is missing; it sealed {} of yours", path.display(), counted(n, "bubble"));
                report.problem(
                    "key",
                    &found,
                    Some("restore it from a backup, or run in each repository: pairflow adopt --all"),
                );
            }
        },
        Ok(Some(key)) => {
            let open = std::fs::metadata(&path).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0);
            let next = format!("chmod 600 {}", quoted(&path.display().to_string()));
            match open {
                true => report.problem("key", &format!("other users can read {}", path.display()), Some(&next)),
                false => report.ok("key", &format!("{} seals the logs of your bubbles", key.id())),
            }
        }
        Err(error) => report.problem("key", &error.to_string(), None),
    }
    for path in registry.damaged().unwrap_or_default() {
        let found =
            format!("the record {} of a bubble cannot be read, so the supervisor ignores the bubble", path.display());
        report.problem("record", &found, Some("pairflow doctor --repair"));
    }
    if let Some(place) = repo_scope.place.as_ref().filter(|place| engine.tracks_control(&place.repo)) {
        let found = format!("git tracks .pairflow in {}", place.repo.root.display());
        report.problem("history", &found, Some("git rm -r --cached .pairflow"));
    }
}

/// Looks at every configuration file.
pub(super) fn config(app: &App, repo_scope: &RepoScope, report: &mut Report) {
    let Ok(engine) = app.engine() else { return };
    let own = engine.dirs.config;
    let mut there: Vec<String> = own.is_file().then(|| own.display().to_string()).into_iter().collect();
    // Beneath a file lies no repository, so that only the person's own file is read.
    let nowhere = own.clone();
    for root in repo_scope.roots.iter().chain(repo_scope.roots.is_empty().then_some(&nowhere)) {
        if let Err(error) = app.layers(root, None, Layer::default()) {
            return report.problem("config", &error.message, Some("fix the file, then run: pairflow config explain"));
        }
        let shared = root.join("pairflow.toml");
        there.extend(shared.is_file().then(|| shared.display().to_string()));
    }
    match there.len() {
        0 => report.ok("config", "no file; defaults are used"),
        _ => report.ok("config", &format!("valid: {}", there.join(", "))),
    }
}

/// Looks whether pairflow can write where it has to.
pub(super) fn places(app: &App, repo_scope: &RepoScope, report: &mut Report) {
    let dirs = match app.engine() {
        Ok(engine) => engine.dirs,
        Err(error) => return report.problem("disk", &error.message, error.hint.as_deref()),
    };
    let mut wanted = vec![dirs.state, dirs.runtime];
    wanted.extend(repo_scope.roots.iter().map(|root| ControlDir::of(root).dir()));
    let mut all = true;
    for dir in &wanted {
        if let Err(why) = writable(dir) {
            all = false;
            let next = format!("make {} writable, or free some disk space", dir.display());
            report.problem("disk", &why, Some(&next));
        }
    }
    if all {
        report.ok("disk", "writable, with enough free space");
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
        Err(error) => Err(format!("cannot get the free space of {}: {error}", there.display())),
    }
}

/// Checks whether a supervisor is running, if a bubble needs one.
pub(super) fn supervisor(app: &App, repo_scope: &RepoScope, report: &mut Report) -> Result<(), CommandError> {
    let Ok(engine) = app.engine() else { return Ok(()) };
    let own = env!("CARGO_PKG_VERSION");
    match Client::new(&engine).health() {
        Health::Answers(reply) if reply.version == own => {
            report.ok("supervisor", &format!("process {}, {} supervised", reply.pid, counted(reply.bubbles, "bubble")));
        }
        Health::Answers(reply) => {
            let found = format!("process {} is version {}, this is {own}", reply.pid, reply.version);
            report.warning("supervisor", &found, Some("pairflow supervisor stop"));
        }
        Health::Hangs(pid) => {
            let process = pid.map(|pid| format!("process {pid} ")).unwrap_or_default();
            let found =
                format!("{process}does not answer, so no bubble makes progress; starting a new one replaces it");
            report.problem("supervisor", &found, Some("pairflow supervise"));
        }
        Health::Absent => {
            let listed = app.found(repo_scope)?.into_iter().filter_map(|found| found.bubbles.ok()).flatten();
            let owing = |state: &pairflow_core::bubble::BubbleState| state.phase.turn().is_some() && !state.paused;
            let waiting = listed.filter_map(|listed| listed.state.ok()).filter(owing).count();
            if waiting > 0 {
                let need = if waiting == 1 { "needs" } else { "need" };
                let found = format!("not running, but {} {need} it", counted(waiting, "bubble"));
                report.warning("supervisor", &found, Some("pairflow supervise"));
            } else {
                report.ok("supervisor", "not running; nothing needs it");
            }
        }
    }
    Ok(())
}

/// How long a program may take to say its version, and how many columns of what it says instead are shown.
const VERSION_WITHIN: Duration = Duration::from_secs(10);
const SAID: usize = 200;

/// Looks for the program of every agent that a seat or an `[agent.NAME]` of the configuration names.
pub(super) fn agent_programs(app: &App, repo_scope: &RepoScope, report: &mut Report) {
    let mut wanted: Vec<NeededProgram> = Vec::new();
    for (agent, custom) in named(app, repo_scope) {
        let spec = match spec_of(&agent, custom.as_ref()) {
            Ok(spec) => spec,
            Err(why) => {
                report.warning("agent", &format!("{agent}: {why}"), Some("pairflow config explain"));
                continue;
            }
        };
        let Some(program) = spec.fresh.command.first() else { continue };
        let configured = custom.filter(|custom| !custom.command.is_empty()).map(|_| agent.clone());
        match wanted.iter_mut().find(|one| one.program == *program) {
            Some(one) => {
                one.configured = one.configured.take().or(configured);
                one.agents.extend((!one.agents.contains(&agent)).then_some(agent));
            }
            None => wanted.push(NeededProgram {
                program: program.clone(),
                agents: vec![agent],
                configured,
                oldest: spec.oldest,
            }),
        }
    }
    wanted.iter().for_each(|one| look(app, one, report));
}

/// A program, and the agents that are run with it.
struct NeededProgram {
    program: String,
    agents: Vec<AgentId>,
    /// The agent whose `[agent.NAME]` names it, if one does.
    configured: Option<AgentId>,
    /// The oldest version of it that is known to work.
    oldest: Option<OldestVersion>,
}

fn look(app: &App, wanted: &NeededProgram, report: &mut Report) {
    let program = wanted.program.as_str();
    let agents = wanted.agents.iter().map(AgentId::as_str).collect::<Vec<_>>().join(", ");
    let name = if program == agents { String::new() } else { format!("{agents}: ") };
    if let Some(path) = app.on_path(program) {
        // Whatever is called otherwise may be a script that does not know the question.
        return match wanted.oldest.filter(|oldest| path.file_name().is_some_and(|file| file == oldest.program)) {
            Some(oldest) => agent_version(&name, &path, &oldest, report),
            None => report.ok("agent", &format!("{name}{program} is {}", path.display())),
        };
    }
    let place = if program.contains('/') { "not an executable program" } else { "not on PATH" };
    let install = match (program, &wanted.configured) {
        (_, Some(agent)) => format!("install it, or fix `command` of [agent.{agent}]: pairflow config explain"),
        ("claude", None) => "npm install -g @anthropic-ai/claude-code".to_owned(),
        ("codex", None) => "npm install -g @openai/codex".to_owned(),
        _ => "install it, or set its program in the configuration: pairflow config explain".to_owned(),
    };
    let these = if wanted.agents.len() == 1 { "this agent" } else { "these agents" };
    let found = format!("{name}{program} is {place}; only bubbles with {these} need it");
    report.warning("agent", &found, Some(&install));
}

/// Compares the version of a program with the oldest that works.
fn agent_version(name: &str, path: &Path, oldest: &OldestVersion, report: &mut Report) {
    let (program, path) = (oldest.program, path.display());
    let job = Job {
        command: JobCommand::Argv(vec![path.to_string(), "--version".to_owned()]),
        cwd: "/".into(),
        env: Vec::new(),
        timeout: Some(VERSION_WITHIN),
        max_output_bytes: 4096,
        log: None,
        registry: None,
    };
    let ran = Cancel::new().map(|cancel| run(&job, &cancel)).unwrap_or_default();
    let said = String::from_utf8_lossy(&ran.output);
    let needed = format!("the oldest version known to work is {}", oldest.version);
    match Version::find(&said).filter(|_| ran.exit == Some(0)) {
        Some(found) if found >= oldest.version => report.ok("agent", &format!("{name}{program} {found} is {path}")),
        Some(found) => {
            report.warning("agent", &format!("{name}{program} {found} is {path}; {needed}"), Some(&oldest.install()));
        }
        None => {
            let said = ran.could_not_start.unwrap_or_else(|| safe_line(&said, SAID));
            let found = format!("{name}{program} is {path}, but does not report its version ({said}); {needed}");
            report.warning("agent", &found, Some(&oldest.install()));
        }
    }
}

/// The agents of all repositories in reach, each with what the configuration says of it. An
/// invalid configuration is reported elsewhere; defaults are used here.
fn named(app: &App, repo_scope: &RepoScope) -> Vec<(AgentId, Option<CustomAgent>)> {
    // Beneath a file lies no repository, so that only the person's own file is read.
    let nowhere = app.engine().map(|engine| engine.dirs.config).ok().filter(|_| repo_scope.roots.is_empty());
    let mut all: BTreeMap<AgentId, Vec<Option<CustomAgent>>> = BTreeMap::new();
    for root in repo_scope.roots.iter().chain(&nowhere) {
        let layers = app.layers(root, None, Layer::default()).unwrap_or_default();
        for (agent, custom) in layers.agents() {
            let known = all.entry(agent).or_default();
            if !known.contains(&custom) {
                known.push(custom);
            }
        }
    }
    all.into_iter().flat_map(|(agent, customs)| customs.into_iter().map(move |one| (agent.clone(), one))).collect()
}
