//! `pairflow demo`: a whole bubble, played by scripted agents.
//!
//! Everything is real: a repository, a worktree, a supervisor, two agents that call this program, checks and a commit.
//! It happens in a temporary directory, which is removed at the end together with every process that was started.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pairflow_agents::demo::{DEMO, DEMO_FILES, DEMO_TASK, DEMO_TEST, THOROUGH};
use pairflow_core::bubble::Phase;
use pairflow_core::ids::{BubbleId, Party};
use pairflow_core::log::{Body, Envelope, Lifecycle};
use pairflow_core::time::Timestamp;
use pairflow_core::view::timeline::{TimelineRow, TimelineState};
use pairflow_core::view::wrapped;
use pairflow_engine::engine::{Bubble, Engine, EngineError, UserDirs};
use pairflow_engine::git::{GitCall, Repo, seed};
use pairflow_engine::supervisor_client::socket_path;
use pairflow_engine::verbs::verify;

use super::{App, Args, CommandEntry, CommandError, Out, TextLine, Tone, command, people, quoted};

/// The demo's bubble.
const ID: &str = "fetch-retry";
/// How long `--slow` waits before each line.
const SLOW: Duration = Duration::from_millis(900);

/// Watch a bubble from task to commit, with scripted agents
///
/// Needs only git, works in a temporary repository, and takes seconds.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  pairflow demo\n  pairflow demo --thorough\n  pairflow demo --slow --keep")]
pub struct DemoArgs {
    /// Keep the repository
    #[arg(long)]
    pub keep: bool,
    /// Play a thorough review: acceptance tests, independent first looks, a dispute and its judge
    #[arg(long)]
    pub thorough: bool,
    /// Play it slowly enough to read along
    #[arg(long)]
    pub slow: bool,
}

/// The line of the table.
pub const ENTRY: CommandEntry = command!("demo", Setup, DemoArgs, run, people);

fn run(args: DemoArgs, app: &App, out: &mut Out) -> Result<(), CommandError> {
    let sandbox = DemoSandbox::build(app, args.keep).map_err(|error| error.or_next("pairflow doctor"))?;
    let pause = if args.slow { SLOW } else { Duration::ZERO };
    if let Err(error) = play(&sandbox, args.thorough, pause, out) {
        sandbox.show_logs(out);
        return Err(error.or_next("pairflow doctor"));
    }
    if args.keep { sandbox.tell_where(ID, out) } else { try_next(out) }
}

/// Plays the whole story, then shows what came of it.
fn play(sandbox: &DemoSandbox, thorough: bool, pause: Duration, out: &mut Out) -> Result<(), CommandError> {
    heading(out, "The task, for two scripted agents in a temporary repository")?;
    indented(out, DEMO_TASK.trim())?;
    heading(out, "What happens")?;
    let script = if thorough { THOROUGH } else { DEMO };
    let script = sandbox.write(script.name, script.text)?;
    let task = format!("@{}", sandbox.write("task.md", DEMO_TASK)?);
    let depth = thorough.then_some("--thorough");
    let mut create = vec!["create", "--id", ID, "--task", &task, "--test", DEMO_TEST];
    create.extend(["--driver", "script", "--script", &script].into_iter().chain(depth));
    sandbox.pairflow(&create)?;
    let id: BubbleId = ID.parse().expect("the demo's id is one");
    let bubble = sandbox.engine.bubble(&sandbox.repo, &id)?;
    let mut story = DemoStory::new(&bubble, pause);
    sandbox.pairflow(&["start", ID])?;
    story.follow(out, |phase| matches!(phase, Phase::ReadyForApproval(_)))?;
    let package = package(&bubble)?;
    sandbox.pairflow(&["ok", ID, "--yes"])?;
    story.follow(out, |phase| matches!(phase, Phase::Done(_)))?;
    heading(out, "The package that was approved")?;
    indented(out, &package)?;
    commit(&bubble, sandbox, out)?;
    verified(&bubble, out)
}

fn heading(out: &mut Out, text: &str) -> Result<(), CommandError> {
    out.line(format_args!(""))?;
    out.paint(&TextLine::new().add(Tone::Strong, text))?;
    out.line(format_args!(""))
}

fn indented(out: &mut Out, text: &str) -> Result<(), CommandError> {
    text.lines().try_for_each(|line| out.line(format_args!("{}", format!("  {line}").trim_end())))
}

fn package(bubble: &Bubble) -> Result<String, CommandError> {
    let state = bubble.load()?.state;
    let Phase::ReadyForApproval(request) = &state.phase else {
        return Err(CommandError::io(format_args!("{} no longer waits for approval.", bubble.id)));
    };
    let bytes = bubble.package(request)?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// Shows the one commit that came out.
fn commit(bubble: &Bubble, sandbox: &DemoSandbox, out: &mut Out) -> Result<(), CommandError> {
    let branch = bubble.load()?.state.rules.bubble_branch;
    heading(out, &format!("git log --stat main..{branch}"))?;
    let range = format!("main..{branch}");
    let call = GitCall::new([
        "log",
        "--stat=72",
        "--no-color",
        "--no-show-signature",
        "--format=commit %H%n%n%w(0,4,4)%B",
        &range,
        "--",
    ]);
    let repo = Repo::locate(&sandbox.repo).map_err(EngineError::from)?;
    let log = repo.git().run(call).map_err(EngineError::from)?;
    indented(out, String::from_utf8_lossy(&log.stdout).trim_end())
}

/// Recomputes everything that the log claims.
fn verified(bubble: &Bubble, out: &mut Out) -> Result<(), CommandError> {
    heading(out, &format!("pairflow verify {}", bubble.id))?;
    let report = verify(bubble)?;
    for row in &report.rows {
        let (mark, paint) = if row.holds { ("holds  ", Tone::Good) } else { ("FAILS  ", Tone::Bad) };
        let problem = if row.holds { String::new() } else { format!(": {}", row.problem) };
        out.paint(&TextLine::new().plain("  ").add(paint, mark).plain(&row.what).plain(problem))?;
    }
    if !report.holds {
        return Err(CommandError::io("the demo's log does not verify."));
    }
    out.paint(
        &TextLine::new().plain("  ").add(Tone::Good, format!("All {} lines of the log are valid.", report.envelopes)),
    )
}

fn try_next(out: &mut Out) -> Result<(), CommandError> {
    heading(out, "Nothing of this was kept. To use your own agents in your own repository:")?;
    let rows = [
        ("pairflow doctor", "is everything there?"),
        ("pairflow init", "how is this repository checked?"),
        ("pairflow new \"what to do\"", "a bubble, started at once"),
        ("pairflow", "what waits for you"),
        ("pairflow demo --slow --keep", "this again, to watch and to look around in"),
    ];
    for (line, what) in rows {
        out.paint(&TextLine::new().plain("  ").add(Tone::Strong, format!("{line:<29}")).add(Tone::Faint, what))?;
    }
    Ok(())
}

/// Waits until the demo has ended, however it ends, then stops its supervisor and removes its directory.
///
/// After a kill it does so twice: a supervisor that was just starting misses the first call.
const CLEANUP_SCRIPT: &str = r#"last=
while read -r line; do last=$line; done
clear_away() {
    "$1" supervisor stop >/dev/null 2>&1
    [ -z "$2" ] || rm -rf -- "$2"
}
clear_away "$1" "$2"
[ "$last" = ended ] || { sleep 2 2>/dev/null; clear_away "$1" "$2"; }"#;

/// How much of an agent's log is shown when the demo fails.
const SHOWN_LINES: usize = 20;

/// The demo's own directories. Dropping it ends its supervisor and, unless they are kept, removes them.
struct DemoSandbox {
    root: PathBuf,
    repo: PathBuf,
    env: Vec<(&'static str, OsString)>,
    program: PathBuf,
    engine: Engine,
    cleanup: Child,
    keep: bool,
}

impl DemoSandbox {
    /// Makes the directories and the repository in them.
    fn build(app: &App, keep: bool) -> Result<Self, CommandError> {
        let root = fresh_dir(app)?;
        let env = environment(app, &root);
        let find = |name: &str| env.iter().find(|(one, _)| *one == name).map(|(_, value)| value.clone());
        let dirs = UserDirs::find(find).expect("the demo's environment has a home");
        let engine = Engine { limits: app.limits, ..Engine::new(app.disk.clone(), app.clock.clone(), dirs) };
        let program = app.program()?;
        // From here on nothing is left behind, not even after a signal.
        let cleanup = start_cleanup(&program, &env, if keep { Path::new("") } else { &root })?;
        let repo = root.join("fetch");
        let sandbox = Self { root, repo, env, program, engine, cleanup, keep };
        for dir in ["home", "run", "state", "config", "tmp", "fetch"] {
            private_dir(&sandbox.root.join(dir))?;
        }
        seed(&sandbox.repo, DEMO_FILES, "fetch.sh: print the document at a URL").map_err(EngineError::from)?;
        Ok(sandbox)
    }

    /// Runs this program in the sandbox; a failure ends the demo.
    fn pairflow(&self, args: &[&str]) -> Result<(), CommandError> {
        let line = format!("pairflow {}", args.iter().map(|arg| quoted(arg)).collect::<Vec<_>>().join(" "));
        let mut command = Command::new(&self.program);
        command.args(args).env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        let ended = command.current_dir(&self.repo).stdin(Stdio::null()).output();
        let ended = ended.map_err(|error| CommandError::io(format_args!("cannot run '{line}': {error}.")))?;
        if ended.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
        Err(CommandError::io(format_args!("'{line}' failed with {}: {said}", ended.status)))
    }

    /// Shows what the agents and the supervisor printed last.
    fn show_logs(&self, out: &mut Out) {
        let runtime = self.repo.join(".pairflow/runtime");
        let agents = std::fs::read_dir(runtime).into_iter().flatten().flatten().map(|entry| entry.path());
        let logs =
            agents.flat_map(|dir| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()));
        let logs = logs.filter(|path| path.extension().is_some_and(|ext| ext == "log"));
        for path in logs.chain([self.engine.dirs.state.join("supervisor.log")]) {
            let Ok(text) = pairflow_engine::regular::read(&path) else { continue };
            let text = String::from_utf8_lossy(&text);
            let lines: Vec<_> = text.lines().collect();
            out.note(format_args!("--- {}", path.display()));
            for line in &lines[lines.len().saturating_sub(SHOWN_LINES)..] {
                out.note(format_args!("{line}"));
            }
        }
    }

    /// Says where everything is and how to look around in it.
    fn tell_where(&self, id: &str, out: &mut Out) -> Result<(), CommandError> {
        out.line(format_args!(""))?;
        out.paint(&TextLine::new().add(Tone::Strong, format!("Kept in {}", self.root.display())))?;
        out.line(format_args!(""))?;
        for name in ["HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
            let value = self.env.iter().find(|(one, _)| *one == name).map(|(_, value)| value.to_string_lossy());
            out.line(format_args!("  export {name}={}", quoted(&value.unwrap_or_default())))?;
        }
        let repo = quoted(&self.repo.display().to_string());
        let root = quoted(&self.root.display().to_string());
        for line in [
            format!("cd {repo}"),
            format!("pairflow log {id}"),
            format!("pairflow verify {id}"),
            format!("git log --stat bubble/{id}"),
            format!("pairflow merge {id} --here --yes"),
        ] {
            out.line(format_args!("  {line}"))?;
        }
        out.line(format_args!(""))?;
        out.line(format_args!(
            "Use a new shell for these commands: they change where pairflow looks. To remove everything: rm -rf {root}"
        ))
    }

    fn write(&self, name: &str, text: &str) -> Result<String, CommandError> {
        let path = self.root.join(name);
        pairflow_engine::regular::write(&path, text)
            .map_err(|error| CommandError::cannot("write", path.display(), error))?;
        Ok(path.display().to_string())
    }
}

impl Drop for DemoSandbox {
    fn drop(&mut self) {
        // The script reads until this end is closed. Without the word it looks twice.
        if let Some(mut word) = self.cleanup.stdin.take() {
            let _ = word.write_all(b"ended\n");
        }
        let _ = self.cleanup.wait();
        if self.keep {
            return;
        }
        // Only there if the script had no `rm`; a second failure cannot be reported.
        let _ = std::fs::remove_dir_all(&self.root);
        let socket = socket_path(&self.engine.dirs);
        if let Some(stand_in) = socket.parent().filter(|dir| !dir.starts_with(&self.root)) {
            let _ = std::fs::remove_dir(stand_in);
        }
    }
}

fn start_cleanup(program: &Path, env: &[(&'static str, OsString)], remove: &Path) -> Result<Child, CommandError> {
    let mut command = Command::new("sh");
    command.args(["-c", CLEANUP_SCRIPT, "sh"]).arg(program).arg(remove);
    command.env_clear().envs(env.iter().map(|(name, value)| (name, value))).current_dir("/");
    // A group of its own, so that the Ctrl-C that ends the demo does not end it.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(|error| CommandError::io(format_args!("cannot start sh: {error}.")))
}

fn environment(app: &App, root: &Path) -> Vec<(&'static str, OsString)> {
    let mut env: Vec<(&'static str, OsString)> = Vec::new();
    for name in ["PATH", "LANG", "LC_ALL", "TZ"] {
        env.extend(app.env.get(name).map(|value| (name, value)));
    }
    for (name, dir) in [
        ("HOME", "home"),
        ("XDG_RUNTIME_DIR", "run"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_CONFIG_HOME", "config"),
        ("TMPDIR", "tmp"),
    ] {
        env.push((name, root.join(dir).into()));
    }
    env.push(("GIT_CONFIG_NOSYSTEM", "1".into()));
    env
}

/// Makes a directory that only this user can enter.
fn fresh_dir(app: &App) -> Result<PathBuf, CommandError> {
    let parent = app.temporary_dir();
    let made = parent.canonicalize().and_then(|dir| tempfile::Builder::new().prefix("pairflow-demo-").tempdir_in(dir));
    Ok(made.map_err(|error| CommandError::cannot("write to", parent.display(), error))?.keep())
}

fn private_dir(path: &Path) -> Result<(), CommandError> {
    DirBuilder::new().mode(0o700).create(path).map_err(|error| CommandError::cannot("create", path.display(), error))
}

/// How long a part of the story may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The columns before the text of a line.
const INDENT: usize = 22;
/// How often the log is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Prints the timeline of a bubble while it grows.
struct DemoStory<'a> {
    bubble: &'a Bubble,
    state: TimelineState,
    told: u64,
    began: Option<Timestamp>,
    pause: Duration,
}

impl<'a> DemoStory<'a> {
    /// Begins the story of `bubble`; `pause` passes before each line.
    fn new(bubble: &'a Bubble, pause: Duration) -> Self {
        Self { bubble, state: TimelineState::new(bubble.id.clone()), told: 0, began: None, pause }
    }

    /// Tells what happens until the bubble is as `done` wants it. A bubble that needs help fails the demo.
    fn follow(&mut self, out: &mut Out, done: fn(&Phase) -> bool) -> Result<(), CommandError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let head = self.bubble.load()?.head;
            let mut envelopes = self.bubble.log().envelopes().map_err(pairflow_engine::engine::EngineError::from)?;
            envelopes.retain(|envelope| envelope.seq > self.told);
            for envelope in &envelopes {
                self.tell(envelope, out)?;
            }
            let state = self.state.state();
            if done(&state.phase) {
                return Ok(());
            }
            if let Some(question) = state.gate.questions.first() {
                return Err(CommandError::io(format_args!("the demo stopped at a question: {}", question.question)));
            }
            if state.phase.is_final() {
                return Err(CommandError::io(format_args!("the demo ended early, in state {}.", state.phase.name())));
            }
            if Instant::now() >= until {
                let message =
                    format!("nothing happened for {} s; the bubble is {}.", PATIENCE.as_secs(), state.phase.name());
                return Err(CommandError::io(message));
            }
            self.bubble.log().wait_past(&head, LOOK);
        }
    }

    fn tell(&mut self, envelope: &Envelope, out: &mut Out) -> Result<(), CommandError> {
        self.told = envelope.seq;
        let began = *self.began.get_or_insert(envelope.at.ts);
        let rows = self.state.step(envelope);
        if matches!(envelope.event.body, Body::Lifecycle(Lifecycle::TokenMinted { .. })) {
            return Ok(());
        }
        let agent = matches!(envelope.event.sender, Party::Agent(_));
        for row in rows {
            if row.kind.is_none() {
                out.line(format_args!(""))?;
            }
            std::thread::sleep(self.pause);
            line(&row, began, agent, out)?;
        }
        Ok(())
    }
}

fn line(row: &TimelineRow, began: Timestamp, agent: bool, out: &mut Out) -> Result<(), CommandError> {
    let millis = row.at.millis().saturating_sub(began.millis()).max(0);
    let at = format!("  {:>3}.{:02} s  ", millis / 1000, millis % 1000 / 10);
    // What only follows from a message is said by pairflow, no matter who sent the message.
    let who = if agent && row.kind.is_some() || row.who == "human" { Tone::Strong } else { Tone::Faint };
    let room = out.columns().map_or(usize::MAX, |columns| columns.saturating_sub(INDENT + 2).max(30));
    let mut start = TextLine::new().add(Tone::Faint, at).add(who, format!("{:<9} ", row.who));
    for part in wrapped(&row.what, room) {
        out.paint(&start.add(row.tone, part))?;
        start = TextLine::new().plain(" ".repeat(INDENT));
    }
    out.flush()
}
