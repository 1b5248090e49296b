//! The verbs that are put to the test: when each fits, how it is called, and what it leaves in the log.

use pairflow_core::bubble::{BubbleState, Command, HeadSeen, PassCommand, Phase, Turn, WorktreeSeen};
use pairflow_core::facts::Seat;
use pairflow_core::facts::{Explanation, Finding, Severity};
use pairflow_core::ids::AgentId;
use pairflow_core::log::{Body, Lifecycle, RetryKey};

use super::scene::{BRANCH, Scene};
use super::scene::{EXPLANATION, Site};

/// A verb of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// `create`
    Create,
    /// `start`
    Start,
    /// `pass` by the implementer
    PassWork,
    /// `pass` by the reviewer, with findings
    PassFindings,
    /// `pass` by the reviewer, without findings
    PassClean,
    /// `ask-human`
    AskHuman,
    /// `converged`, by the second reviewer
    Converged,
    /// `reply`
    Reply,
    /// `approve`
    Approve,
    /// `request-rework`
    Rework,
    /// `commit`
    Commit,
    /// `pause`
    Pause,
    /// `resume`
    Resume,
    /// `env`
    Env,
    /// `stop`
    Stop,
    /// `status`
    Status,
}

impl Verb {
    /// Every verb.
    pub const ALL: [Self; 16] = [
        Self::Create,
        Self::Start,
        Self::PassWork,
        Self::PassFindings,
        Self::PassClean,
        Self::AskHuman,
        Self::Converged,
        Self::Reply,
        Self::Approve,
        Self::Rework,
        Self::Commit,
        Self::Pause,
        Self::Resume,
        Self::Env,
        Self::Stop,
        Self::Status,
    ];

    /// Returns how it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Start => "start",
            Self::PassWork => "pass",
            Self::PassFindings => "pass --finding",
            Self::PassClean => "pass --no-findings",
            Self::AskHuman => "ask-human",
            Self::Converged => "converged",
            Self::Reply => "reply",
            Self::Approve => "approve",
            Self::Rework => "request-rework",
            Self::Commit => "commit",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Env => "env",
            Self::Stop => "stop",
            Self::Status => "status",
        }
    }

    /// Whether a bubble in this state would accept it.
    pub fn fits(self, state: &BubbleState) -> bool {
        let open = |seat: Seat| !state.paused && open_turn(state).is_some_and(|turn| turn.seat == seat);
        match self {
            Self::Create => false,
            Self::Start => state.phase == Phase::Created,
            Self::PassWork => open(Seat::Implementer),
            Self::PassFindings | Self::PassClean => open(Seat::Reviewer),
            Self::AskHuman => matches!(state.phase, Phase::Running(_)) && !state.paused,
            Self::Converged => open(Seat::Reviewer) && state.rounds.streak.len() == 1,
            Self::Reply => state.gate.questions.len() == 1,
            Self::Approve => matches!(state.phase, Phase::ReadyForApproval(_)),
            Self::Rework => matches!(state.phase, Phase::ReadyForApproval(_) | Phase::Approved(_)),
            Self::Commit => matches!(state.phase, Phase::Approved(_)),
            Self::Pause => matches!(state.phase, Phase::Running(_)) && !state.paused,
            Self::Resume => matches!(state.phase, Phase::Running(_)) && state.paused,
            Self::Env | Self::Status | Self::Stop => !state.phase.is_final(),
        }
    }

    /// Makes a bubble that would accept it.
    pub(super) fn scene(self, site: &Site) -> Result<Scene, String> {
        if matches!(self, Self::Create | Self::Start) {
            return site.created();
        }
        let mut scene = site.scene()?;
        for command in self.way_there(&scene) {
            scene.apply(&command)?;
            scene.settle(site.workspace())?;
        }
        if self == Self::Commit {
            let approve = approve(scene.state()).ok_or("nothing is up for approval")?;
            scene.apply(&approve)?;
        }
        if self.fits(scene.state()) { Ok(scene) } else { Err(format!("{} does not fit its own scene", self.name())) }
    }

    /// The commands that lead to a state in which it fits.
    fn way_there(self, scene: &Scene) -> Vec<Command> {
        let (codex, claude) = (&scene.state().rounds.seats.implementer, &scene.state().rounds.seats.reviewer);
        let reviewed = || vec![pass(codex, None), pass(claude, Some(Vec::new()))];
        let ready = || [reviewed(), vec![pass(codex, Some(Vec::new()))]].concat();
        match self {
            Self::PassFindings | Self::PassClean => vec![pass(codex, None)],
            Self::Converged => reviewed(),
            Self::Reply => vec![ask(codex)],
            Self::Approve | Self::Rework | Self::Commit => ready(),
            Self::Resume => vec![Command::Pause { reason: "lunch".to_owned() }],
            _ => Vec::new(),
        }
    }

    /// Returns the agent that calls it, if it is an agent's.
    pub(super) fn agent(self, state: &BubbleState) -> Option<AgentId> {
        let agents =
            matches!(self, Self::PassWork | Self::PassFindings | Self::PassClean | Self::AskHuman | Self::Converged);
        let turn = state.phase.turn().map(|turn| turn.agent.clone());
        agents.then(|| turn.unwrap_or_else(|| state.rounds.seats.implementer.clone()))
    }

    /// Returns the arguments; `words` makes them different from those of any other call.
    pub(super) fn args(self, id: &str, words: &str) -> Vec<String> {
        let key = format!("key-{words}");
        let finding = format!("P1:no rollback {words}");
        let parts: Vec<&str> = match self {
            Self::Create => {
                let (task, by_hand) = ("fix the login race", "log in twice");
                vec!["create", "--id", id, "--base", "main", "--task", task, "--no-tests", "--manual-check", by_hand]
            }
            Self::Start => vec!["start", id],
            Self::PassWork => vec!["pass", "--summary", words, "--key", &key],
            Self::PassFindings => vec!["pass", "--summary", words, "--finding", &finding, "--key", &key],
            Self::PassClean => {
                vec!["pass", "--summary", words, "--no-findings", "--explain", EXPLANATION, "--key", &key]
            }
            Self::AskHuman => vec!["ask-human", "--question", words, "--key", &key],
            Self::Converged => vec!["converged", "--summary", words, "--explain", EXPLANATION, "--key", &key],
            Self::Reply => vec!["reply", id, "--message", words],
            Self::Approve => vec!["approve", id, "--yes"],
            Self::Rework => vec!["request-rework", id, "--message", words],
            Self::Commit => vec!["commit", id, "--message", words, "--yes"],
            Self::Pause => vec!["pause", id],
            Self::Resume => vec!["resume", id],
            Self::Env => vec!["env", id, "--agent", "codex"],
            Self::Stop => vec!["stop", id, "--yes"],
            Self::Status => vec!["status", id],
        };
        parts.into_iter().map(str::to_owned).collect()
    }

    /// Whether this is the record that it leaves.
    pub(super) fn leaves(self, body: &Body) -> bool {
        match body {
            Body::Lifecycle(fact) => match fact {
                Lifecycle::Created { .. } => self == Self::Create,
                Lifecycle::StartRequested { .. } => self == Self::Start,
                Lifecycle::CommitRequested { .. } => self == Self::Commit,
                Lifecycle::TokenMinted { .. } => self == Self::Env,
                Lifecycle::Cancelled { .. } => self == Self::Stop,
                _ => false,
            },
            Body::Pass(_) => matches!(self, Self::PassWork | Self::PassFindings | Self::PassClean),
            Body::HumanQuestion(_) => self == Self::AskHuman,
            Body::Convergence(_) => self == Self::Converged,
            Body::HumanReply(_) => self == Self::Reply,
            Body::ApprovalDecision(_) => matches!(self, Self::Approve | Self::Rework),
            Body::Control(_) => matches!(self, Self::Pause | Self::Resume),
            _ => false,
        }
    }
}

/// The turn in which an agent may act, if there is one.
fn open_turn(state: &BubbleState) -> Option<&Turn> {
    if let Phase::Running(turn) = &state.phase { Some(turn).filter(|turn| turn.is_open()) } else { None }
}

/// A hand-over of `by`.
pub(super) fn pass(by: &AgentId, findings: Option<Vec<Finding>>) -> Command {
    let head = HeadSeen::Branch(BRANCH.to_owned());
    let said = || "said".to_owned();
    let explanation = Explanation { what: said(), why: said(), risks: said(), test_plan: said() };
    let plain = PassCommand::new(by.clone(), "done", head);
    Command::Pass(PassCommand { findings, explanation: Some(explanation), ..plain })
}

/// The approval of what is up for it.
fn approve(state: &BubbleState) -> Option<Command> {
    let request = state.phase.request()?;
    let seen = WorktreeSeen { tree: request.tree.clone(), differing: Vec::new() };
    Some(Command::Approve { package_sha256: request.package_sha256.clone(), seen, key: None })
}

/// A question of `by`.
pub(super) fn ask(by: &AgentId) -> Command {
    Command::AskHuman { by: by.clone(), question: "which one?".to_owned(), refs: Vec::new(), key: None }
}

/// A hand-over with words and a key of its own.
pub(super) fn pass_with(by: &AgentId, findings: Option<Vec<Finding>>, words: &str) -> Command {
    let Command::Pass(plain) = pass(by, findings) else { return Command::Tick { active: None } };
    Command::Pass(PassCommand { summary: words.to_owned(), key: Some(RetryKey(words.to_owned())), ..plain })
}

/// A blocking_findings finding.
pub(super) fn blocking_findings(title: &str) -> Vec<Finding> {
    vec![Finding::new(Severity::P1, title)]
}
