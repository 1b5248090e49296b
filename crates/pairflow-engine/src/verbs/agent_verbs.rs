//! The verbs of agents, handled alike whether they come from a process that writes the log itself or through an agent's
//! socket. What an agent says proves nothing; facts about files and trees are found out here: the line that each finding
//! is about, and whether the same reviewer had reviewed that line before.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use pairflow_core::bubble::{BubbleState, Command, HeadSeen, PassCommand, Phase, WorktreeSeen};
use pairflow_core::facts::{AcceptanceTests, Answers, Explanation, Finding, Judgement, RowState, Seat, Step};
use pairflow_core::findings::Row;
use pairflow_core::findings::feedback::{MAX_FILE, MAX_REPRODUCER};
use pairflow_core::gates::diff::HunkHeader;
use pairflow_core::ids::{AgentId, FindingId, MsgId, Party, TreeId};
use pairflow_core::log::{Body, Intent, RetryKey};
use pairflow_core::rules::DriverKind;
use pairflow_core::view::StateFields;
use serde::{Deserialize, Serialize};

use crate::engine::{Applied, Bubble, EngineError, is_same_command};
use crate::git::{Git, bare_line_diff};
use crate::perform::{head_seen, seen, store_acceptance};
use crate::workspace::scratch_path;

/// A verb of an agent, with all its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentRequest {
    /// It hands the work over.
    Pass(Box<PassRequest>),
    /// It asks the person.
    AskHuman {
        /// The question.
        question: String,
        /// The files that it refers to.
        #[serde(default)]
        refs: Vec<String>,
        /// The retry key, if one was given.
        key: Option<RetryKey>,
    },
    /// It decides a dispute, as the judge.
    Judge {
        /// What it decides.
        judgement: Judgement,
        /// The retry key, if one was given.
        key: Option<RetryKey>,
    },
    /// It has read its brief.
    BriefRead,
    /// It claims convergence.
    Converged {
        /// The claim in words.
        summary: String,
        /// The files that it refers to.
        #[serde(default)]
        refs: Vec<String>,
        /// The explanation for the person.
        explanation: Option<Explanation>,
        /// The slices of a long change that were read.
        #[serde(default)]
        reviewed: Vec<u32>,
        /// The retry key, if one was given.
        key: Option<RetryKey>,
    },
}

/// The arguments of a hand-over.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PassRequest {
    /// What was done.
    pub summary: String,
    /// The files that it refers to.
    pub refs: Vec<String>,
    /// What the other agent is asked to do; by default it follows from the seat.
    pub intent: Option<Intent>,
    /// The findings; `None` if neither findings nor `--no-findings` was given.
    pub findings: Option<Vec<Finding>>,
    /// Answers to earlier findings.
    pub answers: Answers,
    /// The explanation for the person.
    pub explanation: Option<Explanation>,
    /// The steps of a document's review, or the implementer's dry run.
    pub steps: Vec<Step>,
    /// What the implementer of a document could not resolve in its dry run.
    pub blockers: Vec<String>,
    /// Whether the reviewer wants the person to decide before the loop goes on.
    pub discuss: bool,
    /// Whether the reviewer says explicitly that the work has to change.
    pub insists: bool,
    /// The slices of a long change that were read.
    pub reviewed: Vec<u32>,
    /// The files of the acceptance tests, relative to the bubble's scratch directory.
    pub acceptance: Vec<String>,
    /// The command that runs them.
    pub run: Option<String>,
    /// Whether no acceptance test can be written.
    pub no_acceptance: bool,
    /// The retry key, if one was given.
    pub key: Option<RetryKey>,
}

/// The reply to a verb.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentReply {
    /// Which agent called.
    pub by: AgentId,
    /// The message that records it.
    pub id: Option<MsgId>,
    /// Whether an earlier attempt recorded it.
    pub repeated: bool,
    /// Whether the caller gets no notices and has to wait on its own.
    #[serde(default)]
    pub unnotified: bool,
    /// The state afterwards.
    pub state: StateFields,
    /// Why the work came back, if that is why the caller has the turn.
    #[serde(default)]
    pub came_back: Vec<String>,
    /// Answered findings that no review has accepted or rejected: they block acceptance.
    pub unsettled: Vec<FindingId>,
    /// Disputes that the caller has yet to decide, as the judge.
    #[serde(default)]
    pub undecided: Vec<FindingId>,
}

impl Bubble {
    /// Records a verb of `agent`, whose identity is proven. While its turn is still opening, it waits for a moment.
    ///
    /// `supervised` says whether a supervisor is there to open the turn.
    pub fn handle_agent_request(
        &self,
        agent: &AgentId,
        said: AgentRequest,
        supervised: bool,
    ) -> Result<AgentReply, EngineError> {
        let state = self.load()?.state;
        let applied = match self.command_for(&state, agent, said)? {
            command @ Command::Converged { .. } => self.claim_convergence(agent, command, supervised)?,
            Command::Pass(pass) => self.hand_over(pass, supervised)?,
            command => self.apply_when_open(&command, supervised)?,
        };
        Ok(AgentReply::of(agent, &applied))
    }

    /// Records a hand-over. The worktree is looked at only if the same hand-over came back before: with another tree it is
    /// a new one.
    fn hand_over(&self, pass: PassCommand, supervised: bool) -> Result<Applied, EngineError> {
        let applied = self.apply_when_open(&Command::Pass(pass.clone()), supervised)?;
        let returned = applied.repeated && pass.key.is_none() && applied.state.returned_to(&pass.by).is_some();
        if !returned {
            return Ok(applied);
        }
        let tree = match pass.head {
            // The pass is refused for that.
            HeadSeen::Missing => TreeId(String::new()),
            _ => seen(self, &applied.state)?.tree,
        };
        self.apply_when_open(&Command::Pass(PassCommand { tree: Some(tree), ..pass }), supervised)
    }

    /// Records a claim of convergence, or refuses it with every criterion that is not met.
    fn claim_convergence(&self, agent: &AgentId, mut claim: Command, supervised: bool) -> Result<Applied, EngineError> {
        self.wait_open(&claim, supervised)?;
        let state = self.load()?.state;
        let holds = matches!(&state.phase, Phase::Running(turn) if turn.agent == *agent && turn.is_open());
        // A caller that may not claim anything is refused for that, whatever the worktree looks like.
        if holds && let Command::Converged { seen: now, .. } = &mut claim {
            *now = seen(self, &state)?;
        }
        self.apply(&claim)
    }

    /// Returns the reply to the same request if it was recorded after line `seq` of the log.
    ///
    /// A caller that lost its connection does not know whether its request was recorded. In another turn the same request
    /// would be a new message.
    pub fn reply_since(
        &self,
        seq: u64,
        agent: &AgentId,
        said: &AgentRequest,
    ) -> Result<Option<AgentReply>, EngineError> {
        let state = self.durable()?.state;
        let command = self.command_for(&state, agent, said.clone())?;
        let mut id = None;
        self.log.visit(&mut |envelope| {
            if envelope.seq > seq && is_same_command(&envelope, &command) {
                id = Some(envelope.id);
            }
        })?;
        let recorded = |id| AgentReply::of(agent, &Applied { id: Some(id), state, repeated: true, repaired: None });
        Ok(id.map(recorded))
    }

    /// Returns the command for a request, with the facts that pairflow finds out itself. For a claim of convergence these
    /// come later, once the turn is open.
    fn command_for(&self, state: &BubbleState, agent: &AgentId, said: AgentRequest) -> Result<Command, EngineError> {
        let by = agent.clone();
        Ok(match said {
            AgentRequest::Pass(pass) => {
                let (summary, refs) = self.message(state, &pass.summary, &pass.refs)?;
                let claims = pass.findings.map(|all| all.into_iter().map(claim).collect::<Result<Vec<_>, _>>());
                let findings = claims.transpose()?.map(|claims| self.locate(state, agent, claims)).transpose()?;
                let acceptance = self.acceptance_tests(state, &pass.acceptance, pass.run)?;
                Command::Pass(PassCommand {
                    refs,
                    intent: pass.intent,
                    findings,
                    answers: pass.answers,
                    explanation: pass.explanation,
                    steps: pass.steps,
                    blockers: pass.blockers,
                    discuss: pass.discuss,
                    insists: pass.insists,
                    reviewed: pass.reviewed,
                    acceptance,
                    no_acceptance: pass.no_acceptance,
                    key: pass.key,
                    ..PassCommand::new(by, summary, head_seen(self, state)?)
                })
            }
            AgentRequest::BriefRead => {
                let notice = state.notice_for(&by).map_or(0, |notice| notice.number);
                Command::Acknowledged { agent: by, notice }
            }
            AgentRequest::Judge { judgement, key } => Command::Judge { by, judgement, key },
            AgentRequest::AskHuman { question, refs, key } => {
                let (question, refs) = self.message(state, &question, &refs)?;
                Command::AskHuman { by, question, refs, key }
            }
            AgentRequest::Converged { summary, refs, explanation, reviewed, key } => {
                let (summary, refs) = self.message(state, &summary, &refs)?;
                let seen = WorktreeSeen { tree: TreeId(String::new()), differing: Vec::new() };
                Command::Converged { by, summary, refs, explanation, reviewed, seen, key }
            }
        })
    }

    /// Checks the files that a message refers to, and stores a text that is too long for the log.
    fn message(&self, state: &BubbleState, text: &str, refs: &[String]) -> Result<(String, Vec<String>), EngineError> {
        let mut refs = refs.iter().map(|one| self.reference(state, one)).collect::<Result<Vec<_>, _>>()?;
        let text = self.inline(text, &mut refs)?;
        Ok((text, refs))
    }
}

impl AgentReply {
    fn of(by: &AgentId, applied: &Applied) -> Self {
        let Applied { id, state, repeated, .. } = applied;
        let judges = state.phase.turn().is_some_and(|turn| turn.seat == Seat::Judge && turn.agent == *by);
        let review_follows = state.phase.turn().is_some_and(|turn| turn.seat == Seat::Reviewer);
        let waits = |row: &&Row| matches!(row.state, RowState::Fixed | RowState::Disputed) && !review_follows;
        let answered = state.ledger.blocking().filter(waits).map(|row| row.id);
        Self {
            by: by.clone(),
            id: id.clone(),
            repeated: *repeated,
            came_back: state.came_back_to(by),
            unsettled: answered.collect(),
            undecided: state.rounds.contested.iter().copied().filter(|_| judges).collect(),
            unnotified: state.rules.driver == DriverKind::External,
            state: StateFields::of(state),
        }
    }
}

impl Bubble {
    /// Returns the acceptance tests that an agent hands over, with their files stored. Once there is work they belong
    /// nowhere, and the rules refuse them.
    fn acceptance_tests(
        &self,
        state: &BubbleState,
        files: &[String],
        run: Option<String>,
    ) -> Result<Option<AcceptanceTests>, EngineError> {
        if files.is_empty() && run.is_none() {
            return Ok(None);
        }
        let asked_for = state.rounds.acceptance_turns > 0 && state.evidence.snapshot.is_none();
        let scratch = scratch_path(self.control.repo(), &self.id);
        let files = if asked_for { store_acceptance(self, state, &scratch, files)? } else { Vec::new() };
        Ok(Some(AcceptanceTests { run: run.unwrap_or_default(), files }))
    }
}

/// Takes a reviewer's finding without the fields that only pairflow sets. A file outside the repository is refused,
/// because its text would be read.
fn claim(said: Finding) -> Result<Finding, EngineError> {
    let bad = |why: &str| EngineError::BadInput(format!("a finding {why}"));
    if said.title.trim().is_empty() {
        return Err(bad("needs a title"));
    }
    if let Some(file) = &said.file {
        let leads_out = file.starts_with('/') || file.split('/').any(|part| part == "..");
        if leads_out || file.trim().is_empty() || file.contains('\0') || file.len() > MAX_FILE {
            return Err(bad("must name a file by its path inside the repository"));
        }
    }
    if said.line.is_some_and(|line| line == 0 || said.file.is_none()) {
        return Err(bad("must name a line, counted from 1, together with its file"));
    }
    if let Some(command) = &said.reproducer
        && (command.trim().is_empty() || command.contains('\0') || command.len() > MAX_REPRODUCER)
    {
        return Err(bad(&format!("needs a reproducer of 1 to {MAX_REPRODUCER} bytes")));
    }
    let Finding { severity, title, detail, file, line, class, suggestion, reproducer, repeats, reverses, .. } = said;
    let told = Finding { detail, file, line, class, suggestion, ..Finding::new(severity, title) };
    Ok(Finding { reproducer, repeats, reverses, ..told })
}

/// The largest file in which a line is looked up, in bytes.
const LARGEST: u64 = 8 * 1024 * 1024;
/// How much of a line is kept, in characters.
const ANCHOR: usize = 300;
/// The longest diff of one file that is looked at, in bytes.
const DIFF: usize = 4 * 1024 * 1024;

impl Bubble {
    /// Completes the findings of `by` from the worktree and the earlier reviews.
    pub fn locate(
        &self,
        state: &BubbleState,
        by: &AgentId,
        findings: Vec<Finding>,
    ) -> Result<Vec<Finding>, EngineError> {
        if findings.is_empty() || state.evidence.workspace.is_none() {
            return Ok(findings);
        }
        let workspace = self.workspace(state)?;
        // Nothing is read from a directory that is not our worktree.
        let ours = workspace.connected().is_ok();
        let git = workspace.git();
        let before = Before { state, by, git: &git, diffs: RefCell::default() };
        let located = findings.into_iter().map(|finding| Finding {
            anchor: ours.then(|| anchor(&workspace.path, &finding)).flatten().unwrap_or_default(),
            seen: before.saw(&finding),
            ..finding
        });
        Ok(located.collect())
    }
}

/// Returns the text of the line that a finding is about.
fn anchor(root: &Path, finding: &Finding) -> Option<String> {
    let (file, line) = (finding.file.as_deref()?, usize::try_from(finding.line?).ok()?);
    let path = root.join(file);
    path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
    let bytes = crate::regular::read_up_to(&path, LARGEST).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().nth(line.checked_sub(1)?)?;
    Some(line.trim().chars().take(ANCHOR).collect())
}

/// What an agent has reviewed before.
struct Before<'a> {
    state: &'a BubbleState,
    by: &'a AgentId,
    git: &'a Git,
    /// What changed in each file since, if known. A review names few files, often.
    diffs: RefCell<BTreeMap<String, Option<String>>>,
}

impl Before<'_> {
    /// Returns the round in which this agent reviewed the subject of `finding`, if it is unchanged since.
    fn saw(&self, finding: &Finding) -> Option<u32> {
        let last = self.state.rounds.reviewed_by.get(self.by)?;
        let now = self.state.tree()?;
        let unchanged = last.tree == *now || self.unchanged(&last.tree, now, finding);
        unchanged.then_some(last.round)
    }

    /// Whether the line, or else the file, is the same in both trees. If they cannot be compared, it changed.
    fn unchanged(&self, then: &TreeId, now: &TreeId, finding: &Finding) -> bool {
        let Some(file) = &finding.file else { return false };
        let mut diffs = self.diffs.borrow_mut();
        let diff = diffs.entry(file.clone()).or_insert_with(|| self.diff(then, now, file));
        let Some(text) = diff else { return false };
        match finding.line {
            _ if text.is_empty() => true,
            None => false,
            Some(line) => !text.lines().filter_map(HunkHeader::read).any(|hunk| hunk.new.contain(line)),
        }
    }

    /// Returns the diff of one file between two trees; `None` if it is too long.
    fn diff(&self, then: &TreeId, now: &TreeId, file: &str) -> Option<String> {
        let diff = bare_line_diff(self.git, (then, now), file, DIFF).ok().filter(|diff| !diff.cut)?;
        Some(String::from_utf8_lossy(&diff.stdout).into_owned())
    }
}

impl Bubble {
    /// Returns the person's newest answer to a question of `agent`, if there is one in words.
    pub fn last_answer(&self, agent: &AgentId) -> Result<Option<String>, EngineError> {
        let asker = Party::Agent(agent.clone());
        let (mut asked, mut answer) = (Vec::new(), None);
        self.log().visit(&mut |envelope| match envelope.event.body {
            Body::HumanQuestion(_) if envelope.event.sender == asker => asked.push(envelope.id),
            Body::HumanReply(reply) if envelope.event.in_reply_to.is_some_and(|id| asked.contains(&id)) => {
                answer = Some(reply.message);
            }
            _ => {}
        })?;
        Ok(answer.filter(|text| !text.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use pairflow_core::facts::Severity;

    use super::*;

    #[test]
    fn a_finding_holds_only_what_a_reviewer_may_say() {
        let said = Finding {
            id: Some(FindingId(7)),
            anchor: "forged".to_owned(),
            seen: Some(1),
            file: Some("src/a.rs".to_owned()),
            line: Some(3),
            blocker: true,
            ..Finding::new(Severity::P1, "no lock")
        };
        let taken = claim(said.clone()).unwrap();
        assert!(!taken.blocker);
        assert_eq!((taken.id, taken.seen), (None, None));
        assert_eq!((taken.anchor.as_str(), taken.line), ("", Some(3)));
        for file in ["/etc/passwd", "../x", "a/../../x", "", "a\0b"] {
            assert!(claim(Finding { file: Some(file.to_owned()), ..said.clone() }).is_err(), "{file:?}");
        }
        assert!(claim(Finding { line: Some(0), ..said.clone() }).is_err());
        assert!(claim(Finding { file: None, ..said.clone() }).is_err(), "a line of no file");
        assert!(claim(Finding { title: " \n".to_owned(), ..said.clone() }).is_err());
        assert!(claim(Finding { reproducer: Some(" ".to_owned()), ..said }).is_err());
    }
}
