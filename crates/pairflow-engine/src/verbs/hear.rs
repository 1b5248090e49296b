//! What an agent says, and how it is heard: the same whether it comes from a process that writes itself or through the
//! socket of a seat. The words are an agent's and prove nothing; what is true about files and trees is found out here.

use pairflow_core::bubble::{BubbleState, Command, HeadSeen, PassCommand, WorktreeSeen};
use pairflow_core::facts::Seat;
use pairflow_core::facts::{Answers, Explanation, Finding, RowState, Step};
use pairflow_core::findings::Row;
use pairflow_core::findings::feedback::{MAX_FILE, MAX_REPRODUCER};
use pairflow_core::ids::{AgentId, FindingId, MsgId, TreeId};
use pairflow_core::log::{Intent, RetryKey};
use pairflow_core::rules::DriverKind;
use pairflow_core::view::StateFields;
use serde::{Deserialize, Serialize};

use super::Claim;
use crate::engine::{Applied, Bubble, EngineError, says};
use crate::perform::{head_seen, seen};

/// A verb of an agent, with everything that it said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentSays {
    /// It hands the work over.
    Pass(Box<Handover>),
    /// It asks the person.
    AskHuman {
        /// The question.
        question: String,
        /// The files that it points to.
        #[serde(default)]
        refs: Vec<String>,
        /// The retry key, if one was given.
        #[serde(default)]
        key: Option<RetryKey>,
    },
    /// It has read in its brief why its work came back.
    BriefRead,
    /// It claims that nothing is left to do.
    Converged {
        /// In which words.
        summary: String,
        /// The files that it points to.
        #[serde(default)]
        refs: Vec<String>,
        /// What the person has to know to decide.
        #[serde(default)]
        explanation: Option<Explanation>,
        /// The slices of a long change that were read.
        #[serde(default)]
        reviewed: Vec<u32>,
        /// The retry key, if one was given.
        #[serde(default)]
        key: Option<RetryKey>,
    },
}

/// What a hand-over says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Handover {
    /// What was done.
    pub summary: String,
    /// The files that it points to.
    pub refs: Vec<String>,
    /// What the other side is asked to do; by default it follows from the seat.
    pub intent: Option<Intent>,
    /// What was found; nothing if neither findings nor "no findings" was said.
    pub findings: Option<Vec<Finding>>,
    /// What is said to rows of the ledger.
    pub answers: Answers,
    /// What the person has to know to decide.
    pub explanation: Option<Explanation>,
    /// The steps of a document's review, or the implementer's dry run.
    pub steps: Vec<Step>,
    /// What the implementer of a document could not resolve in its dry run.
    pub blockers: Vec<String>,
    /// Whether the reviewer wants the person to decide before the loop goes on.
    pub discuss: bool,
    /// Whether the reviewer says in so many words that the work has to change.
    pub insists: bool,
    /// The slices of a long change that were read.
    pub reviewed: Vec<u32>,
    /// The retry key, if one was given.
    pub key: Option<RetryKey>,
}

/// What became of a verb: all that its caller is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// Who said it.
    pub by: AgentId,
    /// The record that stands for it.
    pub id: Option<MsgId>,
    /// Whether an earlier attempt had recorded it already.
    pub repeated: bool,
    /// Whether nobody tells the caller when there is something to do for it, so that it has to wait by itself.
    #[serde(default)]
    pub unnotified: bool,
    /// The state afterwards.
    pub state: StateFields,
    /// Why the work came back to who said it, if it is its turn for that reason.
    #[serde(default)]
    pub came_back: Vec<String>,
    /// Answered findings that a review has neither taken nor refused: they keep the work from being accepted.
    pub unsettled: Vec<FindingId>,
}

impl Bubble {
    /// Records what `agent`, which is proven, says; while its own turn is still opening, that is waited for a little.
    ///
    /// `attended` says whether anyone is there to open it.
    pub fn hear(&self, agent: &AgentId, said: AgentSays, attended: bool) -> Result<Heard, EngineError> {
        let state = self.load()?.state;
        let applied = match self.meant(&state, agent, said)? {
            Command::Converged { by, summary, refs, explanation, reviewed, key, .. } => {
                self.converged(Claim { by, summary, refs, explanation, reviewed, key }, attended)?
            }
            Command::Pass(pass) => self.hand_over(pass, attended)?,
            command => self.apply_when_open(&command, attended)?,
        };
        Ok(Heard::of(agent, &applied))
    }

    /// Records a hand-over. Only if the same words came back before is the worktree looked at: with another tree they
    /// are a new hand-over.
    fn hand_over(&self, pass: PassCommand, attended: bool) -> Result<Applied, EngineError> {
        let applied = self.apply_when_open(&Command::Pass(pass.clone()), attended)?;
        let returned = applied.repeated && pass.key.is_none() && applied.state.returned_to(&pass.by).is_some();
        if !returned {
            return Ok(applied);
        }
        let tree = match pass.head {
            // It is refused for that.
            HeadSeen::Missing => TreeId(String::new()),
            _ => seen(self, &applied.state)?.tree,
        };
        self.apply_when_open(&Command::Pass(PassCommand { tree: Some(tree), ..pass }), attended)
    }

    /// Returns what became of the same words if they were recorded after line `seq` of the log.
    ///
    /// A caller that lost its line does not know whether it was heard. By now it may be another turn, in which the same
    /// words would be a new message.
    pub fn heard_since(&self, seq: u64, agent: &AgentId, said: &AgentSays) -> Result<Option<Heard>, EngineError> {
        let state = self.durable()?.state;
        let command = self.meant(&state, agent, said.clone())?;
        let mut id = None;
        self.log.visit(&mut |envelope| {
            if envelope.seq > seq && says(&envelope, &command) {
                id = Some(envelope.id);
            }
        })?;
        let recorded = |id| Heard::of(agent, &Applied { id: Some(id), state, repeated: true, repaired: None });
        Ok(id.map(recorded))
    }

    /// The command that the words stand for, with what pairflow finds out itself. Of a claim of convergence that comes
    /// later, once the turn is open.
    fn meant(&self, state: &BubbleState, agent: &AgentId, said: AgentSays) -> Result<Command, EngineError> {
        let by = agent.clone();
        Ok(match said {
            AgentSays::Pass(pass) => {
                let (summary, refs) = self.words(state, &pass.summary, &pass.refs)?;
                let claims = pass.findings.map(|all| all.into_iter().map(claim).collect::<Result<Vec<_>, _>>());
                let findings = claims.transpose()?.map(|claims| self.locate(state, agent, claims)).transpose()?;
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
                    key: pass.key,
                    ..PassCommand::new(by, summary, head_seen(self, state)?)
                })
            }
            AgentSays::BriefRead => {
                let notice = state.notice_for(&by).map_or(0, |notice| notice.number);
                Command::Acknowledged { agent: by, notice }
            }
            AgentSays::AskHuman { question, refs, key } => {
                let (question, refs) = self.words(state, &question, &refs)?;
                Command::AskHuman { by, question, refs, key }
            }
            AgentSays::Converged { summary, refs, explanation, reviewed, key } => {
                let (summary, refs) = self.words(state, &summary, &refs)?;
                let seen = WorktreeSeen { tree: TreeId(String::new()), differing: Vec::new() };
                Command::Converged { by, summary, refs, explanation, reviewed, seen, key }
            }
        })
    }

    /// Checks the files that a message points to, and puts a text away that is too long for a line.
    fn words(&self, state: &BubbleState, text: &str, refs: &[String]) -> Result<(String, Vec<String>), EngineError> {
        let mut refs = refs.iter().map(|one| self.reference(state, one)).collect::<Result<Vec<_>, _>>()?;
        let text = self.inline(text, &mut refs)?;
        Ok((text, refs))
    }
}

impl Heard {
    fn of(by: &AgentId, applied: &Applied) -> Self {
        let Applied { id, state, repeated, .. } = applied;
        let review_follows = state.phase.turn().is_some_and(|turn| turn.seat == Seat::Reviewer);
        // What the review has opened again is not waiting for its word any more.
        let waits = |row: &&Row| matches!(row.state, RowState::Fixed | RowState::Disputed) && !review_follows;
        let answered = state.ledger.blocking().filter(waits).map(|row| row.id);
        Self {
            by: by.clone(),
            id: id.clone(),
            repeated: *repeated,
            came_back: state.came_back_to(by),
            unsettled: answered.collect(),
            unnotified: state.rules.driver == DriverKind::External,
            state: StateFields::of(state),
        }
    }
}

/// Takes over what a reviewer claims. Whatever only pairflow finds out is left out, and a file beyond the repository is
/// refused: its text would be read.
fn claim(said: Finding) -> Result<Finding, EngineError> {
    let bad = |why: &str| EngineError::BadInput(format!("a finding {why}"));
    if said.title.trim().is_empty() {
        return Err(bad("needs a title"));
    }
    if let Some(file) = &said.file {
        let leads_out = file.starts_with('/') || file.split('/').any(|part| part == "..");
        if leads_out || file.trim().is_empty() || file.contains('\0') || file.len() > MAX_FILE {
            return Err(bad("names a file by its path inside the repository"));
        }
    }
    if said.line.is_some_and(|line| line == 0 || said.file.is_none()) {
        return Err(bad("names a line, from 1, of a file"));
    }
    if let Some(command) = &said.reproducer
        && (command.trim().is_empty() || command.contains('\0') || command.len() > MAX_REPRODUCER)
    {
        return Err(bad(&format!("has a command of at most {MAX_REPRODUCER} bytes as its reproducer")));
    }
    let Finding { severity, title, detail, file, line, class, suggestion, reproducer, repeats, reverses, .. } = said;
    let told = Finding { detail, file, line, class, suggestion, ..Finding::new(severity, title) };
    Ok(Finding { reproducer, repeats, reverses, ..told })
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
