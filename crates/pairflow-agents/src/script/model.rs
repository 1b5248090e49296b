//! The contents of a script, and how it is read. Errors name the file and the line, and show the line.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path};

use pairflow_core::ids::AgentId;
use serde::Deserialize;
use serde_saphyr::{RenderOptions, UserMessageFormatter};

/// What each scripted agent does in each of its turns.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The name of the file, for messages.
    #[serde(skip)]
    pub name: String,
    /// Each agent's turns, each a list of steps.
    pub agents: BTreeMap<AgentId, Vec<Vec<ScriptStep>>>,
}

/// One step of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a script is read once and played step by step")]
pub enum ScriptStep {
    /// Writes a file, with the directories above it.
    Write(WriteStep),
    /// Adds to the end of a file.
    Append(AppendStep),
    /// Deletes a file or a directory.
    Delete(InnerPath),
    /// Runs a shell command, which has to succeed.
    Run(String),
    /// Hands over.
    Pass(PassStep),
    /// Asks the person and ends; the next start in the same turn goes on with the next step.
    AskHuman(String),
    /// Claims convergence.
    Converged(ConvergedStep),
    /// Decides a dispute, as the judge.
    Judge(JudgeStep),
    /// Writes a file of acceptance tests, in the bubble's scratch directory.
    WriteScratch(WriteStep),
    /// Waits.
    WaitMs(u64),
    /// Prints a line.
    Print(String),
    /// Calls a command that has to be refused.
    ExpectRefused(RefusedStep),
    /// Misbehaves, once.
    Misbehave(Misbehaviour),
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteStep {
    /// Where, relative to the worktree.
    pub path: InnerPath,
    /// The whole content.
    pub text: String,
    /// Its permissions, such as `"755"`.
    pub mode: Option<FileMode>,
}

/// An addition to a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppendStep {
    /// Where, relative to the worktree.
    pub path: InnerPath,
    /// What is added.
    pub text: String,
}

/// A hand-over. The texts are passed as they are, even if they will be refused.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassStep {
    /// What was done.
    pub summary: String,
    /// Findings, as `P1:title`.
    #[serde(default)]
    pub findings: Vec<String>,
    /// Passes `--no-findings`.
    #[serde(default)]
    pub no_findings: bool,
    /// A review as JSON, as `--findings` takes it.
    pub review: Option<String>,
    /// Findings that are fixed.
    #[serde(default)]
    pub fixed: Vec<String>,
    /// Findings that are fixed, each with the command that shows it.
    #[serde(default)]
    pub tests: Vec<(String, String)>,
    /// Findings that are fixed, each with the reason why no test can show it.
    #[serde(default)]
    pub untestable: Vec<(String, String)>,
    /// Files of acceptance tests, relative to the scratch directory.
    #[serde(default)]
    pub acceptance: Vec<String>,
    /// The command that runs the acceptance tests.
    pub run: Option<String>,
    /// Passes `--no-acceptance`.
    #[serde(default)]
    pub no_acceptance: bool,
    /// Findings that are wrong, each with the reason.
    #[serde(default)]
    pub dispute: Vec<(String, String)>,
    /// Findings whose answer is accepted.
    #[serde(default)]
    pub confirm: Vec<String>,
    /// Findings whose answer is rejected.
    #[serde(default)]
    pub reopen: Vec<String>,
    /// Findings whose reproducer is wrong.
    #[serde(default)]
    pub retract: Vec<String>,
    /// Steps of a document review, or the implementer's dry run, as `name=result`.
    #[serde(default)]
    pub steps: Vec<String>,
    /// What the implementer of a document could not resolve.
    #[serde(default)]
    pub blockers: Vec<String>,
    /// What the person has to know, as Markdown.
    pub explain: Option<String>,
    /// Artifacts that belong to it.
    #[serde(default)]
    pub refs: Vec<String>,
    /// What the other side is asked to do.
    pub intent: Option<String>,
    /// The key that makes a repetition the same record.
    pub key: Option<String>,
    /// How often it is sent; once by default.
    pub repeat: Option<u32>,
}

/// A claim of convergence.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvergedStep {
    /// The claim in words.
    pub summary: String,
    /// What the person has to know, as Markdown.
    pub explain: Option<String>,
    /// The key that makes a repetition the same record.
    pub key: Option<String>,
}

/// A decision on a dispute.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgeStep {
    /// Which finding.
    pub finding: String,
    /// What is decided.
    pub ruling: ScriptRuling,
    /// Why.
    pub reason: String,
    /// The key that makes a repetition the same record.
    pub key: Option<String>,
}

/// What a scripted judge decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptRuling {
    /// The finding holds.
    Uphold,
    /// The finding does not hold.
    Dismiss,
}

/// A command that has to be refused.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RefusedStepFields")]
pub struct RefusedStep {
    /// The command.
    pub verb: Verb,
    /// The exit code that it has to end with.
    pub code: i32,
}

/// A command of pairflow.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "a verb is made, called and dropped")]
pub enum Verb {
    /// `pass`
    Pass(Box<PassStep>),
    /// `ask-human`
    AskHuman(String),
    /// `converged`
    Converged(ConvergedStep),
    /// `judge`
    Judge(JudgeStep),
    /// Any other command, word by word.
    Other(Vec<String>),
}

/// What an agent should not do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Misbehaviour {
    /// Ends with this exit code and without a hand-over.
    Exit(i32),
    /// Hangs for ever.
    Hang,
    /// Prints this many bytes.
    Flood(u64),
    /// Is killed by a signal.
    Crash,
    /// Leaves a process behind that keeps the output open.
    Orphan,
    /// Checks out another branch, `elsewhere`.
    SwitchBranch,
    /// Detaches HEAD.
    Detach,
    /// Commits by itself.
    CommitSelf,
    /// Changes a file, which a reviewer must not.
    EditAsReviewer(InnerPath),
    /// Calls `pairflow approve`.
    HumanVerb,
    /// Writes a line into the transcript.
    ForgeLine,
    /// Ignores SIGTERM, for ever.
    IgnoreTerm,
}

/// A path that stays within the worktree.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct InnerPath(String);

/// A file's permission bits, written in octal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct FileMode(pub u32);

/// Why a script has no such turn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchTurn {
    /// The script does not know the agent.
    #[error("{script} has no turns for {agent}; add them under `agents: {agent}:`")]
    Agent {
        /// The script's name.
        script: String,
        /// The agent.
        agent: String,
    },
    /// The agent has no more turns.
    #[error(
        "{script} has {scripted} {} for {agent}, but this is its turn {asked}; add one under `agents: {agent}:`",
        if *.scripted == 1 { "turn" } else { "turns" }
    )]
    Number {
        /// The script's name.
        script: String,
        /// The agent.
        agent: String,
        /// How many turns the script has.
        scripted: usize,
        /// Which turn was asked for.
        asked: u32,
    },
}

impl Script {
    /// Returns the steps of `agent`'s turn `n`, counted from 1.
    pub fn turn(&self, agent: &str, n: u32) -> Result<&[ScriptStep], NoSuchTurn> {
        let (script, agent_name) = (self.name.clone(), agent.to_owned());
        let turns = self.agents.iter().find(|(name, _)| name.as_str() == agent).map(|(_, turns)| turns);
        let Some(turns) = turns else { return Err(NoSuchTurn::Agent { script, agent: agent_name }) };
        let index = usize::try_from(n).ok().and_then(|n| n.checked_sub(1));
        let steps = index.and_then(|index| turns.get(index));
        steps.map(Vec::as_slice).ok_or(NoSuchTurn::Number {
            script,
            agent: agent_name,
            scripted: turns.len(),
            asked: n,
        })
    }
}

impl InnerPath {
    /// Returns the path.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl TryFrom<String> for InnerPath {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let inner = !text.is_empty() && Path::new(&text).components().all(|part| matches!(part, Component::Normal(_)));
        if inner { Ok(Self(text)) } else { Err("a path has to be relative and stay within the worktree") }
    }
}

impl TryFrom<String> for FileMode {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bits = u32::from_str_radix(&text, 8).ok().filter(|bits| *bits <= 0o7777);
        bits.map(Self).ok_or("a mode is written in octal, such as \"755\"")
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RefusedStepFields {
    pass: Option<PassStep>,
    ask_human: Option<String>,
    converged: Option<ConvergedStep>,
    judge: Option<JudgeStep>,
    other: Option<Vec<String>>,
    code: Option<i32>,
}

impl TryFrom<RefusedStepFields> for RefusedStep {
    type Error = &'static str;
    fn try_from(text: RefusedStepFields) -> Result<Self, Self::Error> {
        let mut verbs = [
            text.pass.map(|pass| Verb::Pass(Box::new(pass))),
            text.ask_human.map(Verb::AskHuman),
            text.converged.map(Verb::Converged),
            text.judge.map(Verb::Judge),
            text.other.map(Verb::Other),
        ]
        .into_iter()
        .flatten();
        match (verbs.next(), verbs.next()) {
            // 1 is the exit code of a refusal.
            (Some(verb), None) => Ok(Self { verb, code: text.code.unwrap_or(1) }),
            _ => Err("expect_refused takes exactly one of pass, ask_human, converged, judge, other"),
        }
    }
}

/// What is wrong with a script, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// The name of the file.
    pub file: String,
    /// Line and column, counted from 1, if known.
    pub at: Option<(usize, usize)>,
    /// What is wrong.
    pub message: String,
    /// The line.
    pub snippet: String,
}

impl Script {
    /// Reads a script. `name` is what messages call it.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        let script: Self = serde_saphyr::from_str(text).map_err(|error| ScriptError::new(name, text, &error))?;
        Ok(Self { name: name.to_owned(), ..script })
    }
}

impl ScriptError {
    fn new(name: &str, text: &str, error: &serde_saphyr::Error) -> Self {
        let number = |n: u64| usize::try_from(n).unwrap_or_default();
        let at = error.location().map(|place| (number(place.line()), number(place.column()))).filter(|at| at.0 > 0);
        let line = at.and_then(|(line, _)| text.lines().nth(line - 1));
        let options = RenderOptions::new(&UserMessageFormatter);
        let rendered = error.without_snippet().render_with_options(options);
        // The place precedes the message; repeated behind it, it would only hide the end of the message.
        let place = at.map(|(line, column)| format!(" at line {line}, column {column}")).unwrap_or_default();
        let message = rendered.strip_suffix(&place).unwrap_or(&rendered).to_owned();
        Self { file: name.to_owned(), at, message, snippet: line.unwrap_or_default().to_owned() }
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((line, column)) = self.at else { return write!(f, "{}: {}", self.file, self.message) };
        let gutter = line.to_string().len();
        writeln!(f, "{}:{line}:{column}: {}", self.file, self.message)?;
        writeln!(f, "{:gutter$} |", "")?;
        writeln!(f, "{line} | {}", self.snippet)?;
        write!(f, "{:gutter$} | {:indent$}^", "", "", indent = column.saturating_sub(1))
    }
}

impl std::error::Error for ScriptError {}
