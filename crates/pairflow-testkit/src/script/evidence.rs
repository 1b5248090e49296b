//! Whether an acceptance was just, judged by the log alone and not by the code that accepted.

use std::collections::{BTreeMap, BTreeSet};

use pairflow_core::bubble::{BubbleState, Phase};
use pairflow_core::facts::Outcome;
use pairflow_core::facts::Severity;
use pairflow_core::ids::{AgentId, FindingId, MsgId, Party, TreeId};
use pairflow_core::log::{
    Body, Control, ControlAction, Convergence, Decision, Envelope, Evidence, GateDecision, Lifecycle, Pass,
    QuestionKind, Reply, Waivable,
};
use pairflow_core::rules::BubbleKind;

/// What the lines of a log have shown so far.
#[derive(Default)]
struct Shown {
    tree: Option<TreeId>,
    /// Who reviewed this tree last, one after the other, without naming anything grave.
    clean: Vec<AgentId>,
    /// Whether the next tree differs from this one by the base alone.
    base_only: bool,
    /// The checks that passed on this tree, or that the person called not available.
    passed: BTreeSet<String>,
    /// The checks that the person waived.
    spared: BTreeSet<String>,
    /// How grave each finding was at its worst.
    gravest: BTreeMap<FindingId, Severity>,
    /// The findings whose reproducer failed when it was last run.
    failing: BTreeSet<FindingId>,
    /// The findings that the person waived.
    waived: BTreeSet<FindingId>,
    questions: BTreeMap<MsgId, QuestionKind>,
    understood: Option<TreeId>,
}

/// Whether the work that is up for approval was accepted on evidence: no question open, every check passed on exactly
/// this tree, nothing grave shown by a reproducer or left open, two agents' clean reviews of it, and of a document
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
        let grave = proven || state.ledger.open().any(|row| row.severity.blocks());
        let read =
            state.rules.kind != BubbleKind::Document || (self.understood.is_some() && self.understood == self.tree);
        let agreed = !grave && read && self.reviewed(state, sender);
        // Other policies than that of a bubble need other reviews, never other evidence.
        let agreed = agreed || state.rules.policy != "strict";
        this_tree && checked && self.questions.is_empty() && (by_person || agreed)
    }

    fn reviewed(&self, state: &BubbleState, sender: &Party) -> bool {
        let claims = match sender {
            Party::Agent(by) => Some(by),
            _ => None,
        };
        let reviews: Vec<_> = self.clean.iter().chain(claims).collect();
        let agents: BTreeSet<_> = reviews.iter().collect();
        agents.len() >= 2 || (state.rules.agents.same_model() && reviews.len() >= 2)
    }

    fn blocks(&self, id: FindingId) -> bool {
        self.gravest.get(&id).is_some_and(|severity| severity.blocks()) && !self.waived.contains(&id)
    }

    fn see(&mut self, envelope: &Envelope) {
        let event = &envelope.event;
        match (&event.body, &event.sender) {
            (Body::Lifecycle(Lifecycle::WorkspaceReady { workspace }), _) => self.on(&workspace.base_tree),
            (Body::Pass(pass), Party::Agent(by)) => self.passed_on(by, pass),
            (Body::Evidence(fact), _) => self.measured(fact),
            (Body::Control(control), _) => self.spare(control),
            (Body::HumanQuestion(question), _) => {
                self.questions.insert(envelope.id.clone(), question.kind);
            }
            (Body::HumanReply(reply), _) => self.answered(event.in_reply_to.as_ref(), reply),
            (Body::Convergence(_), Party::Agent(by)) => self.clean.push(by.clone()),
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
            }
            self.passed.clear();
            self.tree = Some(tree.clone());
        }
    }

    fn passed_on(&mut self, by: &AgentId, pass: &Pass) {
        for id in &pass.answers.retracted {
            self.failing.remove(id);
        }
        let Some(findings) = &pass.findings else { return };
        for (id, severity) in findings.iter().filter_map(|finding| Some((finding.id?, finding.severity))) {
            let gravest = self.gravest.entry(id).or_insert(severity);
            if severity.blocks() && severity < *gravest {
                // What was waived was less than what is claimed now.
                self.waived.remove(&id);
            }
            *gravest = severity.min(*gravest);
        }
        let named = findings.iter().filter_map(|finding| finding.id).chain(pass.answers.reopened.iter().copied());
        let grave = named.into_iter().any(|id| self.blocks(id));
        if findings.iter().any(|finding| finding.blocker) {
            // An implementer's hand-over is no review.
            return;
        }
        if grave { self.clean.clear() } else { self.clean.push(by.clone()) }
    }

    fn measured(&mut self, fact: &Evidence) {
        match fact {
            Evidence::Snapshot { snapshot } => self.on(&snapshot.tree),
            Evidence::Receipt { receipt } => mark(&mut self.passed, &receipt.check, receipt.outcome.passed()),
            Evidence::NotAvailable { check, .. } => mark(&mut self.passed, check, true),
            Evidence::Reproduced { finding, receipt } => {
                mark(&mut self.failing, finding, matches!(receipt.outcome, Outcome::Failed { .. }));
            }
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
            // Whoever reviewed did so while the person lived with it.
            self.clean.clear();
        }
    }

    fn answered(&mut self, question: Option<&MsgId>, reply: &Reply) {
        let kind = question.and_then(|id| self.questions.remove(id));
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
