//! Where the demo plays: a directory with everything that pairflow and git look for, and a janitor who clears it away.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use pairflow_agents::demo::{DEMO_FILES, DEMO_SCRIPT, DEMO_SCRIPT_NAME, DEMO_TASK};
use pairflow_engine::engine::{Engine, EngineError, UserDirs};
use pairflow_engine::git::seed;
use pairflow_engine::supervisor_client::socket_path;

use crate::app::App;
use crate::app::quoted;
use crate::exit::CommandError;
use crate::out::{Line, Out, Paint};

/// Waits until the demo has ended, however it ends, then ends what is left of it. The last word is what to remove.
///
/// After a kill it looks a second time: a supervisor that was only beginning did not hear the first word.
const JANITOR: &str = r#"last=
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
pub(super) struct Stage {
    root: PathBuf,
    repo: PathBuf,
    env: Vec<(&'static str, OsString)>,
    program: PathBuf,
    engine: Engine,
    janitor: Child,
    keep: bool,
}

impl Stage {
    /// Makes the directories and the repository in them.
    pub(super) fn build(app: &App, keep: bool) -> Result<Self, CommandError> {
        let root = fresh_dir(app)?;
        let env = environment(app, &root);
        let find = |name: &str| env.iter().find(|(one, _)| *one == name).map(|(_, value)| value.clone());
        let dirs = UserDirs::find(find).expect("the demo's environment has a home");
        let engine = Engine { limits: app.limits, ..Engine::new(app.disk.clone(), app.clock.clone(), dirs) };
        let program = app.program()?;
        // From here on the janitor is there: nothing is left behind, not even after a signal.
        let janitor = hire(&program, &env, if keep { Path::new("") } else { &root })?;
        let repo = root.join("fetch");
        let stage = Self { root, repo, env, program, engine, janitor, keep };
        for dir in ["home", "run", "state", "config", "tmp", "fetch"] {
            private_dir(&stage.root.join(dir))?;
        }
        seed(&stage.repo, DEMO_FILES, "fetch.sh: print the document at a URL").map_err(EngineError::from)?;
        Ok(stage)
    }

    /// Returns the engine on these directories.
    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the repository.
    pub(super) fn repo(&self) -> &Path {
        &self.repo
    }

    /// Writes the agents' script and returns its path.
    pub(super) fn script(&self) -> Result<String, CommandError> {
        self.write(DEMO_SCRIPT_NAME, DEMO_SCRIPT)
    }

    /// Writes the task and returns its path.
    pub(super) fn task(&self) -> Result<String, CommandError> {
        self.write("task.md", DEMO_TASK).map(|path| format!("@{path}"))
    }

    /// Runs this program on the stage; anything but success ends the demo.
    pub(super) fn pairflow(&self, args: &[&str]) -> Result<(), CommandError> {
        let line = format!("pairflow {}", args.iter().map(|arg| quoted(arg)).collect::<Vec<_>>().join(" "));
        let mut command = Command::new(&self.program);
        command.args(args).env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        let ended = command.current_dir(self.repo()).stdin(Stdio::null()).output();
        let ended = ended.map_err(|error| CommandError::world(format_args!("cannot run '{line}': {error}.")))?;
        if ended.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
        Err(CommandError::world(format_args!("'{line}' ended with {}: {said}", ended.status)))
    }

    /// Shows what the agents and the supervisor printed last.
    pub(super) fn show_logs(&self, out: &mut Out) {
        let runtime = self.repo().join(".pairflow/runtime");
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
    pub(super) fn tell_where(&self, id: &str, out: &mut Out) -> Result<(), CommandError> {
        out.line(format_args!(""))?;
        out.paint(&Line::new().add(Paint::Bold, format!("Kept in {}", self.root.display())))?;
        out.line(format_args!(""))?;
        for name in ["HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
            let value = self.env.iter().find(|(one, _)| *one == name).map(|(_, value)| value.to_string_lossy());
            out.line(format_args!("  export {name}={}", quoted(&value.unwrap_or_default())))?;
        }
        let repo = quoted(&self.repo().display().to_string());
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
            "In a shell of its own, because it changes where pairflow looks. To remove it: rm -rf {root}"
        ))
    }

    fn write(&self, name: &str, text: &str) -> Result<String, CommandError> {
        let path = self.root.join(name);
        pairflow_engine::regular::write(&path, text).map_err(|error| cannot("write", &path, &error))?;
        Ok(path.display().to_string())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // The janitor reads until this end is closed. Without the word it only takes a second look.
        if let Some(mut word) = self.janitor.stdin.take() {
            let _ = word.write_all(b"ended\n");
        }
        let _ = self.janitor.wait();
        if self.keep {
            return;
        }
        // What is left here is what a janitor without `rm` could not remove; a second failure has nobody to hear it.
        let _ = std::fs::remove_dir_all(&self.root);
        let socket = socket_path(&self.engine.dirs);
        if let Some(stand_in) = socket.parent().filter(|dir| !dir.starts_with(&self.root)) {
            let _ = std::fs::remove_dir(stand_in);
        }
    }
}

fn hire(program: &Path, env: &[(&'static str, OsString)], remove: &Path) -> Result<Child, CommandError> {
    let mut command = Command::new("sh");
    command.args(["-c", JANITOR, "sh"]).arg(program).arg(remove);
    command.env_clear().envs(env.iter().map(|(name, value)| (name, value))).current_dir("/");
    // A group of its own, so that the Ctrl-C that ends the demo does not end the janitor.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(|error| CommandError::world(format_args!("cannot start sh: {error}.")))
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

/// Makes a directory that nobody else can enter, under a name that nobody else has.
fn fresh_dir(app: &App) -> Result<PathBuf, CommandError> {
    let parent = app.env.text("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let parent = parent.canonicalize().map_err(|error| cannot("open", &parent, &error))?;
    for attempt in 0..1000 {
        let path = parent.join(format!("pairflow-demo-{}-{attempt}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(cannot("make", &path, &error)),
        }
    }
    Err(CommandError::world(format_args!("there is no free name for the demo in {}.", parent.display())))
}

fn private_dir(path: &Path) -> Result<(), CommandError> {
    DirBuilder::new().mode(0o700).create(path).map_err(|error| cannot("make", path, &error))
}

fn cannot(verb: &str, path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::world(format_args!("cannot {verb} {}: {error}.", path.display()))
}
