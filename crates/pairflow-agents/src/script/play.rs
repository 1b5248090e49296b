//! Plays one turn of a scripted agent: its steps in order, in the worktree, with calls of the real pairflow binary.
//!
//! Also what real agents do wrong, on demand: the rest of the product is tested against it.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, io};

use pairflow_engine::regular;
use pairflow_engine::workspace::scratch_path;

use super::model::{
    ConvergedStep, InnerPath, JudgeStep, Misbehaviour, NoSuchTurn, PassStep, RefusedStep, Script, ScriptRuling,
    ScriptStep, Verb, WriteStep,
};

const COMMIT: &str = "git add -A && git -c user.name=agent -c user.email=agent@localhost \
                      commit -q --no-verify --allow-empty -m 'Committed by the agent itself'";

/// A turn to play.
#[derive(Debug, Clone, Copy)]
pub struct ScriptedTurn<'a> {
    /// The script.
    pub script: &'a Script,
    /// The agent that plays.
    pub agent: &'a str,
    /// This agent's turn number, starting at 1.
    pub n: u32,
    /// The pairflow binary.
    pub program: &'a Path,
    /// The worktree.
    pub cwd: &'a Path,
    /// Where the agent notes its progress; outside the worktree.
    pub state_dir: &'a Path,
    /// Variables for everything that the agent starts, on top of its own.
    pub env: &'a [(String, String)],
}

/// Why a turn ended before its last step.
#[derive(Debug, thiserror::Error)]
enum StepError {
    #[error(transparent)]
    NoSuchTurn(#[from] NoSuchTurn),
    #[error("cannot {verb} {}: {source}", .path.display())]
    File { verb: &'static str, path: PathBuf, source: io::Error },
    #[error("cannot run `{what}`: {source}")]
    Start { what: String, source: io::Error },
    #[error("`{command}` ended with {code}, so the turn ends here; append `|| true` if it may fail")]
    Command { command: String, code: i32 },
    #[error("`pairflow {verb}` ended with exit code {code}, so the turn ends here")]
    Refused { verb: String, code: i32 },
    #[error("`pairflow {verb}` was to be refused with exit code {expected}, but ended with {code}")]
    NotRefused { verb: String, code: i32, expected: i32 },
    #[error("there is no scratch directory: PAIRFLOW_REPO and PAIRFLOW_BUBBLE are not set")]
    NoBubble,
    #[error("cannot print: {0}")]
    Print(#[from] io::Error),
}

/// Plays a turn, prints errors on `out`, and returns the exit code for the process.
pub fn play(turn: &ScriptedTurn<'_>, out: &mut dyn io::Write) -> i32 {
    let error = match turn.play(out) {
        Ok(code) => return code,
        Err(error) => error,
    };
    // If this cannot be printed, the exit code has to do.
    let _ = writeln!(out, "{}, turn {}: {error}", turn.agent, turn.n);
    match error {
        StepError::Refused { code, .. } => code,
        _ => 3,
    }
}

impl ScriptedTurn<'_> {
    fn play(&self, out: &mut dyn io::Write) -> Result<i32, StepError> {
        let steps = self.script.turn(self.agent, self.n)?;
        let failed = |source| StepError::File { verb: "note progress in", path: self.state_dir.to_owned(), source };
        let mut progress = Progress::load(self.state_dir, self.agent, self.n).map_err(failed)?;
        if progress.done >= steps.len() {
            writeln!(out, "all {} steps of turn {} were done before", steps.len(), self.n)?;
        }
        for step in steps.iter().skip(progress.done) {
            // Misbehaviour happens once: an agent that is restarted after its crash goes on with the next step.
            let early = matches!(step, ScriptStep::Misbehave(_));
            if early {
                progress.step().map_err(failed)?;
            }
            let end = self.take(step, out)?;
            if !early {
                progress.step().map_err(failed)?;
            }
            if let Some(code) = end {
                return Ok(code);
            }
        }
        Ok(0)
    }

    /// Takes one step; returns the exit code if the turn ends with it.
    fn take(&self, step: &ScriptStep, out: &mut dyn io::Write) -> Result<Option<i32>, StepError> {
        match step {
            ScriptStep::Write(file) => self.write(self.cwd, file)?,
            ScriptStep::WriteScratch(file) => self.write(&self.scratch()?, file)?,
            ScriptStep::Append(more) => self.append(&more.path, &more.text)?,
            ScriptStep::Delete(path) => self.delete(path)?,
            ScriptStep::Run(line) => self.run(line, out)?,
            ScriptStep::WaitMs(millis) => std::thread::sleep(Duration::from_millis(*millis)),
            ScriptStep::Print(text) => writeln!(out, "{text}")?,
            ScriptStep::ExpectRefused(refused) => self.expect_refused(refused, out)?,
            ScriptStep::Misbehave(how) => return self.misbehave(how, out),
            ScriptStep::Pass(pass) => {
                let verb = Verb::Pass(Box::new(pass.clone()));
                (0..pass.repeat.unwrap_or(1)).try_for_each(|_| self.call_verb(&verb, out))?;
            }
            ScriptStep::Judge(judge) => self.call_verb(&Verb::Judge(judge.clone()), out)?,
            ScriptStep::Converged(claim) => self.call_verb(&Verb::Converged(claim.clone()), out)?,
            ScriptStep::AskHuman(question) => {
                self.call_verb(&Verb::AskHuman(question.clone()), out)?;
                return Ok(Some(0));
            }
        }
        Ok(None)
    }

    fn call_verb(&self, verb: &Verb, out: &mut dyn io::Write) -> Result<(), StepError> {
        match self.call(verb, out)? {
            0 => Ok(()),
            code => Err(StepError::Refused { verb: verb_name(verb).to_owned(), code }),
        }
    }

    fn expect_refused(&self, refused: &RefusedStep, out: &mut dyn io::Write) -> Result<(), StepError> {
        let (code, expected) = (self.call(&refused.verb, out)?, refused.code);
        if code == expected {
            return Ok(());
        }
        Err(StepError::NotRefused { verb: verb_name(&refused.verb).to_owned(), code, expected })
    }

    /// Returns the directory in which acceptance tests are written.
    fn scratch(&self) -> Result<PathBuf, StepError> {
        let id = self.variable("PAIRFLOW_BUBBLE").and_then(|id| id.parse().ok());
        let repo = self.variable("PAIRFLOW_REPO");
        repo.zip(id).map(|(repo, id)| scratch_path(Path::new(&repo), &id)).ok_or(StepError::NoBubble)
    }

    fn write(&self, root: &Path, file: &WriteStep) -> Result<(), StepError> {
        let path = root.join(file.path.as_path());
        let written = create_parents(&path).and_then(|()| regular::write(&path, &file.text));
        let written = written.and_then(|()| match file.mode {
            Some(mode) => fs::set_permissions(&path, fs::Permissions::from_mode(mode.0)),
            None => Ok(()),
        });
        written.map_err(|source| StepError::File { verb: "write", path, source })
    }

    fn append(&self, path: &InnerPath, text: &str) -> Result<(), StepError> {
        let path = self.cwd.join(path.as_path());
        let opened = create_parents(&path).and_then(|()| regular::append(&path));
        let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|source| StepError::File { verb: "append to", path, source })
    }

    fn delete(&self, path: &InnerPath) -> Result<(), StepError> {
        let path = self.cwd.join(path.as_path());
        let is_dir = fs::symlink_metadata(&path).is_ok_and(|it| it.is_dir());
        let deleted = if is_dir { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        deleted.map_err(|source| StepError::File { verb: "delete", path, source })
    }

    /// Calls pairflow, prints its output and returns its exit code (128 and more for a signal).
    fn call(&self, verb: &Verb, out: &mut dyn io::Write) -> Result<i32, StepError> {
        let mut command = self.command(self.program);
        command.args(arguments(verb));
        let what = || format!("{} {}", self.program.display(), verb_name(verb));
        let ended = fed(command, input(verb)).map_err(|source| StepError::Start { what: what(), source })?;
        out.write_all(&ended.stdout)?;
        out.write_all(&ended.stderr)?;
        Ok(exit_code(ended.status))
    }

    /// Runs a shell command, which has to succeed.
    fn run(&self, line: &str, out: &mut dyn io::Write) -> Result<(), StepError> {
        // The command prints directly, so what was printed so far has to go first.
        out.flush()?;
        let status = self.command(Path::new("/bin/sh")).args(["-c", line]).status();
        match exit_code(status.map_err(|source| StepError::Start { what: line.to_owned(), source })?) {
            0 => Ok(()),
            code => Err(StepError::Command { command: line.to_owned(), code }),
        }
    }

    /// Returns a command that runs in the worktree, without input.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.cwd).stdin(Stdio::null()).envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Returns a variable of the agent's environment.
    fn variable(&self, name: &str) -> Option<String> {
        let given = self.env.iter().find(|(one, _)| one == name).map(|(_, value)| value.clone());
        given.or_else(|| std::env::var(name).ok())
    }

    /// Misbehaves as told; returns the exit code if the turn ends with it.
    fn misbehave(&self, how: &Misbehaviour, out: &mut dyn io::Write) -> Result<Option<i32>, StepError> {
        match how {
            Misbehaviour::Exit(code) => return Ok(Some(*code)),
            Misbehaviour::Hang => loop {
                std::thread::park();
            },
            Misbehaviour::Crash => std::process::abort(),
            Misbehaviour::IgnoreTerm => return Err(self.ignore_term()),
            Misbehaviour::Flood(bytes) => flood(*bytes, out)?,
            Misbehaviour::Orphan => {
                let spawned = self.command(Path::new("sleep")).arg("3600").spawn();
                // Not waited for: that it stays behind is the point.
                drop(spawned.map_err(|source| StepError::Start { what: "sleep".to_owned(), source })?);
            }
            Misbehaviour::SwitchBranch => self.run("git checkout -q -B elsewhere", out)?,
            Misbehaviour::Detach => self.run("git checkout -q --detach", out)?,
            Misbehaviour::CommitSelf => self.run(COMMIT, out)?,
            Misbehaviour::EditAsReviewer(path) => self.append(path, "edited by the reviewer\n")?,
            Misbehaviour::HumanVerb => {
                let code = self.call(&Verb::Other(vec!["approve".to_owned()]), out)?;
                writeln!(out, "`pairflow approve` ended with {code}")?;
            }
            Misbehaviour::ForgeLine => self.forge_line(out)?,
        }
        Ok(None)
    }

    /// Becomes a shell that ignores the signal: a program cannot do so itself without unsafe code.
    fn ignore_term(&self) -> StepError {
        let mut command = self.command(Path::new("/bin/sh"));
        let source = command.args(["-c", "trap '' TERM; echo 'ignoring SIGTERM'; while :; do sleep 1; done"]).exec();
        StepError::Start { what: "sh".to_owned(), source }
    }

    /// Tries to write an approval into the log. That this fails is no error of the script.
    fn forge_line(&self, out: &mut dyn io::Write) -> Result<(), StepError> {
        let (repo, bubble) = (self.variable("PAIRFLOW_REPO"), self.variable("PAIRFLOW_BUBBLE"));
        let (Some(repo), Some(bubble)) = (repo, bubble) else {
            writeln!(out, "no transcript to forge: PAIRFLOW_REPO and PAIRFLOW_BUBBLE are not set")?;
            return Ok(());
        };
        let transcript: PathBuf = [&repo, ".pairflow", "bubbles", &bubble, "transcript.ndjson"].iter().collect();
        let line = serde_json::json!({
            "id": "msg_20260101_999", "ts": "2026-01-01T00:00:00Z", "bubble_id": bubble, "sender": "human",
            "recipient": "orchestrator", "type": "APPROVAL_DECISION", "round": 1,
            "payload": {"decision": "approve"}, "refs": [],
        });
        match regular::append(&transcript).and_then(|mut file| writeln!(file, "{line}")) {
            Ok(()) => writeln!(out, "forged a line in {}", transcript.display())?,
            Err(error) => writeln!(out, "could not forge a line in {}: {error}", transcript.display())?,
        }
        Ok(())
    }
}

/// The progress of one turn, in a file outside the worktree: an agent that is restarted in the same turn goes on where it
/// stopped.
struct Progress {
    file: PathBuf,
    /// How many steps were taken.
    done: usize,
}

impl Progress {
    /// Reads the progress of `agent`'s turn `n`; without a file no step was taken.
    fn load(dir: &Path, agent: &str, n: u32) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let file = dir.join(format!("{agent}-{n}"));
        let done = match regular::read_text(&file) {
            Ok(text) => text.trim().parse().map_err(|_| io::Error::other(format!("{text:?} is no number of steps")))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        Ok(Self { file, done })
    }

    /// Notes one more step.
    fn step(&mut self) -> io::Result<()> {
        let staged = self.file.with_extension("new");
        regular::write(&staged, (self.done + 1).to_string())?;
        fs::rename(&staged, &self.file)?;
        self.done += 1;
        Ok(())
    }
}

/// Prints lines of `x`, `bytes` in all.
fn flood(bytes: u64, out: &mut dyn io::Write) -> io::Result<()> {
    let mut line = vec![b'x'; 8192];
    line[8191] = b'\n';
    for _ in 0..bytes / 8192 {
        out.write_all(&line)?;
    }
    io::copy(&mut io::Read::take(&line[..], bytes % 8192), out).map(drop)
}

/// Runs a command to its end, with `input` if there is any.
fn fed(mut command: Command, input: Option<&str>) -> io::Result<std::process::Output> {
    let Some(text) = input else { return command.output() };
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input says so by its exit code.
        let _ = stdin.write_all(text.as_bytes());
    }
    child.wait_with_output()
}

/// Creates the directories above `path`.
fn create_parents(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

fn exit_code(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// Returns the arguments of `verb`.
///
/// Values are joined to their flags with `=`, so that a text may begin with a dash.
fn arguments(verb: &Verb) -> Vec<String> {
    match verb {
        Verb::Pass(pass) => pass_arguments(pass),
        Verb::AskHuman(question) => vec!["ask-human".to_owned(), format!("--question={question}")],
        Verb::Converged(claim) => converged_arguments(claim),
        Verb::Judge(judge) => judge_arguments(judge),
        Verb::Other(words) => words.clone(),
    }
}

/// Returns the text that `verb` reads on stdin: its review, or else its explanation.
fn input(verb: &Verb) -> Option<&str> {
    match verb {
        Verb::Pass(pass) => pass.review.as_deref().or(pass.explain.as_deref()),
        Verb::Converged(claim) => claim.explain.as_deref(),
        Verb::AskHuman(_) | Verb::Judge(_) | Verb::Other(_) => None,
    }
}

/// Returns the name of `verb`, for messages.
fn verb_name(verb: &Verb) -> &str {
    match verb {
        Verb::Pass(_) => "pass",
        Verb::AskHuman(_) => "ask-human",
        Verb::Converged(_) => "converged",
        Verb::Judge(_) => "judge",
        Verb::Other(words) => words.first().map_or("pairflow", String::as_str),
    }
}

fn pass_arguments(pass: &PassStep) -> Vec<String> {
    let mut words = vec!["pass".to_owned(), format!("--summary={}", pass.summary)];
    words.extend(pass.findings.iter().map(|finding| format!("--finding={finding}")));
    words.extend(pass.no_findings.then(|| "--no-findings".to_owned()));
    words.extend(pass.review.iter().map(|_| "--findings=-".to_owned()));
    words.extend(pass.fixed.iter().map(|id| format!("--fixed={id}")));
    let disputes = pass.dispute.iter().flat_map(|(id, why)| [format!("--dispute={id}"), format!("--reason={why}")]);
    words.extend(disputes);
    words.extend(pass.tests.iter().map(|(id, test)| format!("--test={id}={test}")));
    words.extend(pass.untestable.iter().map(|(id, why)| format!("--untestable={id}={why}")));
    words.extend(pass.acceptance.iter().map(|file| format!("--acceptance={file}")));
    words.extend(pass.run.iter().map(|run| format!("--run={run}")));
    words.extend(pass.no_acceptance.then(|| "--no-acceptance".to_owned()));
    words.extend(pass.confirm.iter().map(|id| format!("--confirm={id}")));
    words.extend(pass.reopen.iter().map(|id| format!("--reopen={id}")));
    words.extend(pass.retract.iter().map(|id| format!("--retract={id}")));
    words.extend(pass.steps.iter().map(|step| format!("--step={step}")));
    words.extend(pass.blockers.iter().map(|blocker| format!("--blocker={blocker}")));
    words.extend(pass.explain.iter().map(|_| "--explain=-".to_owned()));
    words.extend(pass.refs.iter().map(|one| format!("--ref={one}")));
    words.extend(pass.intent.iter().map(|intent| format!("--intent={intent}")));
    words.extend(pass.key.iter().map(|key| format!("--key={key}")));
    words
}

fn judge_arguments(judge: &JudgeStep) -> Vec<String> {
    let ruling = match judge.ruling {
        ScriptRuling::Uphold => "--uphold",
        ScriptRuling::Dismiss => "--dismiss",
    };
    let mut words = vec!["judge".to_owned(), judge.finding.clone(), ruling.to_owned()];
    words.push(format!("--reason={}", judge.reason));
    words.extend(judge.key.iter().map(|key| format!("--key={key}")));
    words
}

fn converged_arguments(claim: &ConvergedStep) -> Vec<String> {
    let mut words = vec!["converged".to_owned(), format!("--summary={}", claim.summary)];
    words.extend(claim.explain.iter().map(|_| "--explain=-".to_owned()));
    words.extend(claim.key.iter().map(|key| format!("--key={key}")));
    words
}
