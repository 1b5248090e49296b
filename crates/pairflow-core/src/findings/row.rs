//! One row of the ledger.

use serde::{Deserialize, Serialize};
use strum::Display;

use crate::facts::{AcceptanceFile, Class, Finding, RowState, Ruling, Severity};
use crate::ids::{AgentId, FindingId, Party, TreeId};

/// How many changes of one row are remembered.
pub const CHANGES_KEPT: usize = 24;

/// How much of the note of a change is remembered, in characters.
const NOTE_KEPT: usize = 600;

/// One finding over all rounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub id: FindingId,
    /// How severe it is: the most severe that it was filed with.
    pub severity: Severity,
    /// What is wrong.
    pub title: String,
    /// The claim at length.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The file it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, where it was last reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What kind of fault it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// What the reviewer would do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub suggestion: String,
    /// The text of the line it is about.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub anchor: String,
    /// Who found it first.
    pub by: AgentId,
    /// In which round.
    pub round: u32,
    /// Where it stands.
    pub state: RowState,
    /// Whether a reviewer, a passing reproducer or the person has closed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settled: bool,
    /// Whether an implementer has ever said that it is fixed, or why it is no fault.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
    /// Whether the person sent it back by name, so that it has to be answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub demanded: bool,
    /// Whether it touches core logic, security or data integrity.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub risk: bool,
    /// The round in which the agent that filed it last had reviewed the same lines without saying so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<u32>,
    /// The command that shows the fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproducer: Option<Reproducer>,
    /// How many reproducers their authors took back.
    #[serde(default, skip_serializing_if = "is_none")]
    pub withdrawn: u32,
    /// The row that asked for what this one wants undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverses: Option<FindingId>,
    /// Whether the implementer of a document said that it blocks the implementation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocker: bool,
    /// How its last fix is shown; nothing before one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
    /// How a dispute about it was decided last, and by whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ruling: Option<(Ruling, Party)>,
    /// What happened to it, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<RowChange>,
}

/// A fix that an implementer claims, and how it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// The command that fails without the fix and passes with it, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// Why no test can be written, says the implementer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub untestable: String,
    /// The tree without the fix: the one that was reviewed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<TreeId>,
    /// What is known.
    pub stand: FixStand,
    /// Whether the work went back because the fix was not shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub returned: bool,
    /// The last lines of the run that did not go as it should.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
}

/// What is known of a fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum FixStand {
    /// Its test has not been run; or there is none.
    Pending,
    /// Its test fails without the fix and passes with it.
    Shown,
    /// Its test passes without the fix, so it shows nothing.
    NotRed,
    /// Its test fails with the fix.
    NotGreen,
    /// Its test could not be run.
    CouldNotRun,
}

/// What shows a fix, or why nothing does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixEvidence {
    /// Whether a test shows it.
    pub shown: bool,
    /// By what, or why not.
    pub why: String,
}

fn is_none(count: &u32) -> bool {
    *count == 0
}

/// One change of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowChange {
    /// In which round.
    pub round: u32,
    /// By whom.
    pub by: Party,
    /// What it became.
    pub to: RowState,
    /// Whether that closed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settled: bool,
    /// Why, or how.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// A command that fails as long as the fault is there, and what it said last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reproducer {
    /// The command line.
    pub command: String,
    /// What is known of it.
    pub stand: ReproducerState,
    /// The tree it was last run on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeId>,
    /// Who brought it; nothing in older logs, where it is who filed the row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<AgentId>,
    /// The last lines of what it printed, if it failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
    /// The files that are laid over the tree before it runs: it stands for acceptance tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overlay: Vec<AcceptanceFile>,
}

/// What a reproducer has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReproducerState {
    /// Nothing: it has not been run yet.
    Pending,
    /// The fault: it fails.
    Fails,
    /// That the fault is gone: it failed once, and passes now.
    Passes,
    /// Nothing of worth: it did not fail when it was filed, or could not be run. It counts no more.
    Dropped,
}

impl Reproducer {
    /// Returns the reproducer that comes with a claim, if there is one.
    pub(super) fn of(finding: &Finding, by: &AgentId) -> Option<Self> {
        Some(Self {
            command: finding.reproducer.clone()?,
            stand: ReproducerState::Pending,
            tree: None,
            by: Some(by.clone()),
            tail: String::new(),
            overlay: finding.overlay.clone(),
        })
    }
}

impl RowChange {
    /// Whether an agent other than `by` opened the row in this round.
    pub(super) fn opens_for_others(&self, by: &AgentId, round: u32) -> bool {
        let another = matches!(&self.by, Party::Agent(author) if author != by);
        let opened = matches!(self.to, RowState::Open | RowState::Reopened | RowState::Reversal) && !self.settled;
        opened && another && self.round == round
    }
}

impl Row {
    /// Whether nobody has closed it.
    pub fn is_open(&self) -> bool {
        !self.settled && !matches!(self.state, RowState::Waived | RowState::Dismissed)
    }

    /// Whether it keeps the work from being accepted: a severe one, or a risk without an answer.
    pub fn blocks(&self) -> bool {
        self.is_open() && self.blocks_if_open()
    }

    /// Whether it would do so if it were open.
    pub fn blocks_if_open(&self) -> bool {
        self.severity.blocks() || self.lacks_answer()
    }

    /// Whether it has to be answered once, although it is not severe.
    pub fn wants_answer(&self) -> bool {
        self.is_open() && self.lacks_answer()
    }

    fn lacks_answer(&self) -> bool {
        let tagged = self.severity == Severity::P2 && self.risk;
        !self.severity.blocks() && !self.answered && (tagged || self.demanded)
    }

    /// Whether the same agent should have said this earlier: it had reviewed these lines, and nothing proves the fault.
    pub fn late(&self) -> bool {
        let proven = self.reproducer.as_ref().is_some_and(|one| one.stand != ReproducerState::Dropped);
        self.seen.is_some() && !proven
    }

    /// Whether its reproducer, not a reviewer, says that the fault is still there.
    pub fn proven(&self) -> bool {
        self.reproducer.as_ref().is_some_and(|one| one.stand == ReproducerState::Fails)
    }

    /// Who brought its reproducer, if it has one that counts.
    pub fn reproducer_by(&self) -> Option<&AgentId> {
        let counts = self.reproducer.as_ref().filter(|one| one.stand != ReproducerState::Dropped);
        counts.map(|one| one.by.as_ref().unwrap_or(&self.by))
    }

    /// Whether `agent` has claimed it, too, in the round in which it was found.
    pub fn is_claimed_by(&self, agent: &AgentId) -> bool {
        let claims = |change: &RowChange| change.round == self.round && change.by == Party::Agent(agent.clone());
        self.history.iter().any(claims)
    }

    /// Whether it stands for acceptance tests that still count.
    pub fn is_acceptance(&self) -> bool {
        self.reproducer.as_ref().is_some_and(|one| !one.overlay.is_empty() && one.stand != ReproducerState::Dropped)
    }

    /// Whether it stood for acceptance tests that could not be run.
    pub fn has_lost_tests(&self) -> bool {
        self.reproducer.as_ref().is_some_and(|one| !one.overlay.is_empty() && one.stand == ReproducerState::Dropped)
    }

    /// Whether it is severe and said to be fixed, and no reproducer says whether it is.
    pub fn needs_test(&self) -> bool {
        let claimed = self.state == RowState::Fixed && !self.settled && self.severity.blocks();
        claimed && self.reproducer_by().is_none()
    }

    /// Whether the implementer disputed it, the reviewer insists, no command shows it, and nobody has decided.
    pub fn is_contested(&self) -> bool {
        let changes = self.history.iter().rev().filter(|change| matches!(change.by, Party::Agent(_)));
        let mut changes = changes.skip_while(|change| change.to == RowState::Reopened).peekable();
        let insists = self.history.iter().rev().find(|change| matches!(change.by, Party::Agent(_)));
        let insists = insists.is_some_and(|last| last.to == RowState::Reopened);
        let disputed = changes.peek().is_some_and(|before| before.to == RowState::Disputed);
        let open = self.is_open() && self.state == RowState::Reopened && self.severity.blocks();
        open && insists && disputed && self.ruling.is_none() && self.reproducer_by().is_none()
    }

    /// Whether only a person can decide it: the implementer disputes what a judge upheld, or a judge dismissed a P0.
    pub fn is_deadlocked(&self) -> bool {
        let open = self.is_open() && self.severity.blocks() && !self.proven();
        let by_agent = |by: &Party| matches!(by, Party::Agent(_));
        open && match &self.ruling {
            Some((Ruling::Upheld, by)) => by_agent(by) && self.state == RowState::Disputed,
            Some((Ruling::Dismissed, by)) => by_agent(by) && self.severity == Severity::P0,
            None => false,
        }
    }

    /// Whether the person decided that it holds: it has to be fixed.
    pub fn must_be_fixed(&self) -> bool {
        self.is_open() && self.ruling == Some((Ruling::Upheld, Party::Human))
    }

    /// Whether it is a blocker that no implementer has answered yet: no reviewer can close it.
    pub fn unresolved(&self) -> bool {
        self.blocker && self.is_open() && !matches!(self.state, RowState::Fixed | RowState::Disputed)
    }

    /// Says what shows that a severe row is fixed, or why nothing does; nothing if no fix is claimed, or a reproducer tells.
    pub fn fix_evidence(&self) -> Option<FixEvidence> {
        let claimed = self.state == RowState::Fixed && self.severity.blocks() && self.reproducer_by().is_none();
        let fix = self.fix.as_ref().filter(|_| claimed)?;
        let test = fix.test.as_ref().map_or_else(|| "the project's tests".to_owned(), |test| format!("`{test}`"));
        let why = match fix.stand {
            FixStand::Shown => {
                return Some(FixEvidence { shown: true, why: format!("{test}: red without it, green with it") });
            }
            _ if !fix.untestable.is_empty() => format!("no test can show it: {}", fix.untestable),
            FixStand::Pending if fix.test.is_some() => format!("{test} has not run yet"),
            FixStand::Pending => "no test was named".to_owned(),
            FixStand::NotRed => format!("{test} passes without it, too"),
            FixStand::NotGreen => format!("{test} fails with it"),
            FixStand::CouldNotRun => format!("{test} could not be run: {}", fix.tail.trim()),
        };
        Some(FixEvidence { shown: false, why })
    }

    /// Where it stands, as people read it.
    pub fn stands(&self) -> &'static str {
        self.state.told(self.settled)
    }

    /// The row in short: `F3 P1 no rollback`.
    pub fn short(&self) -> String {
        format!("{} {} {}", self.id, self.severity, self.title)
    }

    /// The row as a claim.
    pub fn claim(&self) -> Finding {
        Finding {
            id: Some(self.id),
            detail: self.detail.clone(),
            file: self.file.clone(),
            line: self.line,
            class: self.class,
            suggestion: self.suggestion.clone(),
            reproducer: self.reproducer.as_ref().map(|one| one.command.clone()),
            anchor: self.anchor.clone(),
            blocker: self.blocker,
            ..Finding::new(self.severity, self.title.clone())
        }
    }

    /// Writes down that it became `to`.
    pub(super) fn become_state(&mut self, mut change: RowChange) {
        // The log has the whole of it.
        if let Some((end, _)) = change.note.char_indices().nth(NOTE_KEPT) {
            change.note.truncate(end);
        }
        self.state = change.to;
        self.settled = change.settled;
        self.history.push(change);
        let surplus = self.history.len().saturating_sub(CHANGES_KEPT);
        self.history.drain(..surplus);
    }
}
