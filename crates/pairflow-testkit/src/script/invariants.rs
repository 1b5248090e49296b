//! What must hold in every state that a bubble can get into. Whether an acceptance was justified is judged by the log alone
//! and not by the code that accepted.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use pairflow_core::bubble::{
    BubbleState, KEYS_KEPT, Phase, Recomputed, SUMMARIES_KEPT, Stage, VerdictStand, advance, next_deadline, owed,
    recompute, recompute_verdicts,
};
use pairflow_core::facts::{FileChange, Outcome, Ruling, Severity};
use pairflow_core::findings::{CHANGES_KEPT, ROWS_KEPT};
use pairflow_core::ids::{AgentId, FindingId, MsgId, Party, TreeId};
use pairflow_core::log::{
    Body, Control, ControlAction, Convergence, Decision, Envelope, Evidence, GateDecision, Lifecycle, Pass,
    QuestionKind, Reply, Waivable,
};
use pairflow_core::rules::BubbleKind;

/// Returns every invariant that does not hold, as a sentence.
pub fn broken(state: &BubbleState, log: &[Envelope]) -> Vec<String> {
    let rules = [
        ("a bubble waits for a person exactly while a question is open", waits_for_a_reason(state)),
        ("the turn belongs to the agent in its seat", turn_fits_seats(state)),
        ("every round has its entries in the role history, the newest with the present seats", history_fits(state)),
        ("no more rounds and reviews than the rules allow", budget_fits(state)),
        ("nothing is owed and no time runs in a final state", !state.phase.is_final() || at_rest(state)),
        ("a deadline runs only while an agent may act", deadline_fits(state)),
        ("what is up for approval is the newest snapshot, with its certificate", package_fits(state)),
        ("only a loop can be paused", !state.paused || state.phase.turn().is_some() || state.phase.is_final()),
        ("what is remembered is bounded", bounded(state)),
        ("every clean review that counts is of the newest snapshot's tree", streak_fits(state, log)),
        ("the last decision before a commit approved exactly its tree", commit_was_approved(log)),
        ("what is accepted has its evidence in the log", accepted_justly(state, log)),
        ("the certificate can be recomputed from the log", certificate_follows(state, log)),
        ("every verdict can be recomputed from the log", verdicts_follow(state, log)),
        ("the log gives the same state when no policy can be asked", is_same_without_policies(state, log)),
    ];
    rules.into_iter().filter(|(_, holds)| !holds).map(|(rule, _)| rule.to_owned()).collect()
}

/// Says why a bubble that owes nothing cannot go on, if that is so.
pub fn stuck(state: &BubbleState) -> Option<String> {
    let Phase::Running(turn) = &state.phase else { return None };
    let goes_on = state.paused || state.gate.updating || turn.is_open();
    (!goes_on).then(|| format!("no one may act, nothing is owed, and no question is open: {:?}", turn.stage))
}

fn waits_for_a_reason(state: &BubbleState) -> bool {
    matches!(state.phase, Phase::WaitingHuman(_)) != state.gate.questions.is_empty()
}

fn turn_fits_seats(state: &BubbleState) -> bool {
    // While a hand-over is closing, the turn may still be the one that is handed over.
    state
        .phase
        .turn()
        .is_none_or(|turn| *state.rounds.seats.agent(turn.seat) == turn.agent && turn.number == state.rounds.turns)
}

fn history_fits(state: &BubbleState) -> bool {
    let rounds = state.rounds.history.chunk_by(|one, next| one.round == next.round);
    let numbered = rounds.zip(1..=state.rounds.round).all(|(seatings, round)| seatings[0].round == round);
    let newest = state.rounds.history.last().is_none_or(|roles| {
        roles.implementer == state.rounds.seats.implementer && roles.reviewer == state.rounds.seats.reviewer
    });
    numbered && newest && state.rounds.history.last().map_or(0, |roles| roles.round) == state.rounds.round
}

fn budget_fits(state: &BubbleState) -> bool {
    let open = matches!(&state.phase, Phase::Running(turn) if turn.is_open());
    !open
        || (state.rounds.spent.rounds <= state.rules.max_rounds
            && state.rounds.spent.looks < state.policy().max_looks())
}

fn at_rest(state: &BubbleState) -> bool {
    owed(state).is_empty() && next_deadline(state, None).is_none() && state.gate.questions.is_empty()
}

fn deadline_fits(state: &BubbleState) -> bool {
    let may_act = matches!(&state.phase, Phase::Running(turn) if turn.stage == Stage::Open) && !state.paused;
    next_deadline(state, None).is_some() == may_act
}

fn package_fits(state: &BubbleState) -> bool {
    let tree = match &state.phase {
        Phase::ReadyForApproval(request) => &request.tree,
        Phase::Approved(approval) => &approval.request.tree,
        Phase::Committed(at) | Phase::Done(at) => &at.tree,
        _ => return true,
    };
    let newest = state.evidence.snapshot.as_ref().is_some_and(|snapshot| snapshot.tree == *tree);
    newest && state.gate.certificate.as_ref().is_some_and(|certificate| certificate.tree == *tree)
}

fn bounded(state: &BubbleState) -> bool {
    let rows = &state.ledger.rows;
    let ledger = rows.len() <= ROWS_KEPT && rows.iter().all(|row| row.history.len() <= CHANGES_KEPT);
    ledger && state.keys.len() <= KEYS_KEPT && state.gate.summaries.len() <= SUMMARIES_KEPT
}

/// Replays the log with the name of a policy that panics when it is asked anything.
fn is_same_without_policies(state: &BubbleState, log: &[Envelope]) -> bool {
    let (mut told, mut replayed) = (BubbleState::new(state.id.clone()), BubbleState::new(state.id.clone()));
    for envelope in log {
        advance(&mut told, envelope);
        let mut envelope = envelope.clone();
        if let Body::Lifecycle(
            Lifecycle::Created { rules, .. }
            | Lifecycle::StartRequested { rules }
            | Lifecycle::Configured { rules, .. },
        ) = &mut envelope.event.body
        {
            rules.policy = "panics".to_owned();
        }
        advance(&mut replayed, &envelope);
    }
    replayed.rules.policy.clone_from(&told.rules.policy);
    replayed == told
}

/// Looks each counted review up in the log, with the tree that was the newest when it was made.
fn streak_fits(state: &BubbleState, log: &[Envelope]) -> bool {
    let reviewed = reviews(log);
    let of_newest =
        |agent: &AgentId, round: u32| reviewed.get(&(agent.clone(), round)).map(Option::as_ref) == Some(state.tree());
    state.rounds.streak.iter().all(|review| of_newest(&review.agent, review.round))
}

/// Who reviewed which tree in which round, the last time it did.
fn reviews(log: &[Envelope]) -> HashMap<(AgentId, u32), Option<TreeId>> {
    let mut tree: Option<TreeId> = None;
    let mut reviewed: HashMap<(AgentId, u32), Option<TreeId>> = HashMap::new();
    let mut base_only = false;
    for envelope in log {
        let event = &envelope.event;
        match (&event.body, &event.sender) {
            (Body::Lifecycle(Lifecycle::WorkspaceReady { workspace }), _) => tree = Some(workspace.base_tree.clone()),
            (Body::Lifecycle(Lifecycle::Updated { same_patch, .. }), _) => base_only = *same_patch,
            (Body::Evidence(Evidence::Snapshot { snapshot }), _) => {
                let before = tree.replace(snapshot.tree.clone());
                if std::mem::take(&mut base_only) {
                    // A review of the same change counts for the merged tree.
                    reviewed.values_mut().filter(|of| **of == before).for_each(|of| of.clone_from(&tree));
                }
            }
            (Body::Pass(_) | Body::Convergence(_), Party::Agent(by)) => {
                reviewed.insert((by.clone(), event.round), tree.clone());
            }
            _ => {}
        }
    }
    reviewed
}

/// What `verify` says of it is looked at while the package is up for approval, so once for each acceptance.
fn certificate_follows(state: &BubbleState, log: &[Envelope]) -> bool {
    !matches!(state.phase, Phase::ReadyForApproval(_)) || recompute(&state.id, log) == Some(Ok(()))
}

/// Like the certificate, and once more at the end of a bubble that was never accepted.
fn verdicts_follow(state: &BubbleState, log: &[Envelope]) -> bool {
    let looked_at = matches!(state.phase, Phase::ReadyForApproval(_)) || state.phase.is_final();
    let follows = |one: &Recomputed| one.stand == VerdictStand::Follows;
    !looked_at || recompute_verdicts(&state.id, log).iter().all(follows)
}

fn commit_was_approved(log: &[Envelope]) -> bool {
    let mut approved: Option<TreeId> = None;
    let mut newest = None;
    log.iter().all(|envelope| {
        match &envelope.event.body {
            Body::Evidence(Evidence::Snapshot { snapshot }) => newest = Some(snapshot.tree.clone()),
            Body::ApprovalDecision(it) => approved = (it.decision == GateDecision::Approve).then(|| it.tree.clone()),
            Body::Lifecycle(Lifecycle::Updated { .. }) => approved = None,
            Body::Lifecycle(Lifecycle::Committed { .. }) => return approved.is_some() && approved == newest,
            Body::DonePackage(done) => return approved.as_ref() == Some(&done.tree),
            _ => {}
        }
        true
    })
}

/// What the lines of a log have shown so far.
#[derive(Default)]
struct Shown {
    tree: Option<TreeId>,
    /// Who reviewed this tree without a blocking finding. It holds while the tree is the same.
    clean: Vec<AgentId>,
    /// Whether the last review of this tree had a blocking finding: whatever became of it, another look is needed.
    contradicted: bool,
    /// How many reviews there were in all.
    looks: u64,
    /// The fewest that the newest tree needs.
    needed: u64,
    /// Whether the next tree differs from this one by the base alone.
    base_only: bool,
    /// The checks that passed on this tree, or that the person called not available.
    passed: BTreeSet<String>,
    /// The checks that the person waived.
    spared: BTreeSet<String>,
    /// The highest severity that each finding has had.
    worst: BTreeMap<FindingId, Severity>,
    /// The findings whose reproducer failed when it was last run.
    failing: BTreeSet<FindingId>,
    /// The findings that the person waived.
    waived: BTreeSet<FindingId>,
    /// The findings that a judge or the person dismissed, and those of them that no command has opened again.
    ruled_out: BTreeSet<FindingId>,
    dismissed: BTreeSet<FindingId>,
    questions: BTreeMap<MsgId, (QuestionKind, Vec<FindingId>)>,
    understood: Option<TreeId>,
}

/// Whether the work that is up for approval was accepted on evidence: no question open, every check passed on exactly
/// this tree, no blocking finding shown by a reproducer or open, two agents' clean reviews of it, and of a document
/// the person's word. Only a person may have said otherwise.
pub(super) fn accepted_justly(state: &BubbleState, log: &[Envelope]) -> bool {
    if !matches!(state.phase, Phase::ReadyForApproval(_)) {
        return true;
    }
    let mut shown = Shown::default();
    let mut just = false;
    for envelope in log {
        if let Body::Convergence(claim) = &envelope.event.body {
            just = shown.justifies(state, claim, &envelope.event.sender);
        }
        shown.see(envelope);
    }
    just
}

impl Shown {
    fn justifies(&self, state: &BubbleState, claim: &Convergence, sender: &Party) -> bool {
        let by_person = !claim.certificate.waived.is_empty();
        let this_tree = self.tree.as_ref() == Some(&claim.certificate.tree);
        let met = |check: &str| self.passed.contains(check) || self.spared.contains(check);
        let checked = state.rules.checks.iter().all(|check| met(&check.name));
        let proven = self.failing.iter().any(|id| self.blocks(*id));
        let blocked = proven || state.ledger.open().any(|row| row.severity.blocks());
        let read =
            state.rules.kind != BubbleKind::Document || (self.understood.is_some() && self.understood == self.tree);
        let agreed = !blocked && read && self.reviewed(state, sender);
        // Other policies than that of a bubble need other reviews, never other evidence.
        let agreed = agreed || state.rules.policy != "strict";
        this_tree && checked && self.questions.is_empty() && (by_person || agreed)
    }

    fn reviewed(&self, state: &BubbleState, sender: &Party) -> bool {
        let claims = match sender {
            Party::Agent(by) => Some(by),
            _ => None,
        };
        let looks = self.looks + u64::from(claims.is_some());
        let reviews: Vec<_> = self.clean.iter().chain(claims).collect();
        let agents: BTreeSet<_> = reviews.iter().collect();
        let last = claims.is_some() || !self.contradicted;
        let enough = agents.len() >= 2 || (state.rules.agents.same_model() && reviews.len() >= 2);
        last && enough && looks >= self.needed.max(u64::from(state.rules.min_looks))
    }

    fn blocks(&self, id: FindingId) -> bool {
        self.worst.get(&id).is_some_and(|severity| severity.blocks())
            && !self.waived.contains(&id)
            && !self.dismissed.contains(&id)
    }

    fn dismiss(&mut self, findings: impl IntoIterator<Item = FindingId>) {
        let findings: Vec<_> = findings.into_iter().collect();
        self.ruled_out.extend(findings.iter().copied());
        self.dismissed.extend(findings);
    }

    fn see(&mut self, envelope: &Envelope) {
        let event = &envelope.event;
        match (&event.body, &event.sender) {
            (Body::Lifecycle(Lifecycle::WorkspaceReady { workspace }), _) => self.on(&workspace.base_tree),
            (Body::Pass(pass), Party::Agent(by)) => self.passed_on(by, pass),
            (Body::Evidence(fact), _) => self.measured(fact),
            (Body::Control(control), _) => self.spare(control),
            (Body::HumanQuestion(question), _) => {
                self.questions.insert(envelope.id.clone(), (question.kind, question.findings.clone()));
            }
            (Body::HumanReply(reply), _) => self.answered(event.in_reply_to.as_ref(), reply),
            (Body::Convergence(_), Party::Agent(by)) => {
                self.looks += 1;
                self.clean.push(by.clone());
            }
            // Where a person wants something else, or a merge of the base changes the work, the reviews begin anew.
            (Body::ApprovalDecision(it), _) if it.decision == GateDecision::Approve => {}
            (Body::ApprovalDecision(_) | Body::Lifecycle(Lifecycle::Updated { same_patch: false, .. }), _) => {
                self.clean.clear();
            }
            (Body::Lifecycle(Lifecycle::Updated { .. }), _) => self.base_only = true,
            _ => {}
        }
    }

    fn on(&mut self, tree: &TreeId) {
        let base_only = std::mem::take(&mut self.base_only);
        if self.tree.as_ref() != Some(tree) {
            if !base_only {
                self.clean.clear();
                self.contradicted = false;
            }
            self.passed.clear();
            self.tree = Some(tree.clone());
        }
    }

    fn passed_on(&mut self, by: &AgentId, pass: &Pass) {
        for id in &pass.answers.retracted {
            self.failing.remove(id);
        }
        if let Some(judgement) = pass.judgement.as_ref().filter(|one| one.ruling == Ruling::Dismissed) {
            // Only a person dismisses a P0.
            let severe = self.worst.get(&judgement.finding) == Some(&Severity::P0);
            self.dismiss(Some(judgement.finding).filter(|_| !severe));
        }
        let Some(findings) = &pass.findings else { return };
        for (id, severity) in findings.iter().filter_map(|finding| Some((finding.id?, finding.severity))) {
            let worst = self.worst.entry(id).or_insert(severity);
            if severity.blocks() && severity < *worst {
                // What was waived was less than what is claimed now.
                self.waived.remove(&id);
            }
            let exceeds = severity.blocks() && severity < *worst;
            *worst = severity.min(*worst);
            if exceeds {
                self.dismissed.remove(&id);
            }
        }
        for id in findings.iter().filter(|one| one.reproducer.is_some()).filter_map(|one| one.id) {
            mark(&mut self.dismissed, &id, false);
        }
        let named = findings.iter().filter_map(|finding| finding.id).chain(pass.answers.reopened.iter().copied());
        let blocked = named.into_iter().any(|id| self.blocks(id));
        if pass.acceptance || findings.iter().any(|finding| finding.blocker) {
            // Neither an implementer's hand-over is a review, nor tests that are written before there is any work.
            return;
        }
        self.looks += 1;
        self.contradicted = blocked;
        if !blocked {
            self.clean.push(by.clone());
        }
    }

    fn measured(&mut self, fact: &Evidence) {
        match fact {
            Evidence::Snapshot { snapshot } => {
                let lines = |file: &FileChange| file.added.unwrap_or(51) + file.removed.unwrap_or(0);
                self.needed = match snapshot.changed.iter().map(lines).sum::<u64>() {
                    0..=50 => 2,
                    51..=400 => 3,
                    _ => 4,
                };
                self.on(&snapshot.tree);
            }
            Evidence::Receipt { receipt } => mark(&mut self.passed, &receipt.check, receipt.outcome.passed()),
            Evidence::NotAvailable { check, .. } => mark(&mut self.passed, check, true),
            Evidence::Reproduced { finding, receipt } => {
                let fails = matches!(receipt.outcome, Outcome::Failed { .. });
                mark(&mut self.failing, finding, fails);
                if !fails && self.ruled_out.contains(finding) {
                    self.dismissed.insert(*finding);
                }
            }
            // What the test of a fix shows is for the reviewer; it closes nothing.
            Evidence::FixTested { .. } => {}
        }
    }

    fn spare(&mut self, control: &Control) {
        let spares = control.action == ControlAction::Waive;
        let lost = match &control.waived {
            Some(Waivable::Finding(id)) => {
                mark(&mut self.waived, id, spares);
                self.blocks(*id)
            }
            Some(Waivable::Check(name)) => {
                mark(&mut self.spared, name, spares);
                !self.passed.contains(name)
            }
            None => false,
        };
        if lost && control.action == ControlAction::Withdraw {
            // The review took place while the finding was waived.
            self.clean.clear();
        }
    }

    fn answered(&mut self, question: Option<&MsgId>, reply: &Reply) {
        let (kind, findings) = question.and_then(|id| self.questions.remove(id)).unzip();
        if reply.decision == Some(Decision::SideWithImplementer) {
            self.dismiss(findings.unwrap_or_default());
        }
        if kind == Some(QuestionKind::Comprehension) && reply.decision == Some(Decision::Accept) {
            self.understood.clone_from(&self.tree);
        }
    }
}

/// Puts `one` in or takes it out.
fn mark<T: Ord + Clone>(all: &mut BTreeSet<T>, one: &T, is: bool) {
    if is {
        all.insert(one.clone());
    } else {
        all.remove(one);
    }
}
