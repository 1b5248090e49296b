//! Reads the figures of one bubble off its log, line by line.

use std::collections::BTreeMap;

use crate::bubble::{BubbleState, Phase, advance};
use crate::facts::{RowState, Ruling, Severity};
use crate::findings::{FixStand, ReproducerState, Row};
use crate::ids::{AgentId, BubbleId, FindingId, Party};
use crate::log::{ApprovalDecision, Body, Envelope, Evidence, GateDecision, Lifecycle, MAX_ESCAPED, Pass};
use crate::rules::BubbleKind;
use crate::view::metrics::figures::{EscapedEntry, KindCount, Metrics, Rework, Tally, count_kind};

/// How many findings of one bubble are followed.
const ROWS_FOLLOWED: usize = 10_000;

/// Reads the figures of one bubble off its log.
#[derive(Debug, Clone)]
pub struct BubbleMeter {
    state: BubbleState,
    rows: BTreeMap<FindingId, RowMeter>,
    /// Looks, rounds, and whether a person accepted it, when the work was accepted first.
    converged: Option<(u32, u32, bool)>,
    rework: Rework,
    questions: Vec<KindCount>,
    escaped: Vec<EscapedEntry>,
}

/// What is known of one finding.
#[derive(Debug, Clone)]
struct RowMeter {
    severity: Severity,
    finder: AgentId,
    /// Whether it stands for acceptance tests, which no reviewer filed.
    acceptance: bool,
    state: RowState,
    settled: bool,
    disputed: bool,
    upheld: bool,
    /// The reproducer's author and state.
    reproducer: Option<(AgentId, ReproducerState)>,
    withdrawn: u32,
    /// For each author: reproducers brought, withdrawn and dropped.
    commands: BTreeMap<AgentId, [u64; 3]>,
    fix_by: Option<AgentId>,
    fix: Option<FixProof>,
}

/// How a fix is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FixProof {
    Shown,
    Untestable,
    Unproven,
    /// Its test has not been run yet.
    Pending,
}

impl BubbleMeter {
    /// Begins to read a bubble.
    pub fn new(id: BubbleId) -> Self {
        Self {
            state: BubbleState::new(id),
            rows: BTreeMap::new(),
            converged: None,
            rework: Rework::default(),
            questions: Vec::new(),
            escaped: Vec::new(),
        }
    }

    /// Takes the next line.
    pub fn step(&mut self, envelope: &Envelope) {
        let approved = matches!(self.state.phase, Phase::Approved(_));
        advance(&mut self.state, envelope);
        match &envelope.event.body {
            Body::Convergence(claim) if self.converged.is_none() => {
                let rounds = &self.state.rounds;
                self.converged = Some((rounds.looks, rounds.round, claim.certificate.by_person()));
            }
            Body::ApprovalDecision(ApprovalDecision { decision, .. }) if *decision != GateDecision::Approve => {
                self.rework.bubbles = 1;
                self.rework.requests += 1;
                self.rework.after_approval += u64::from(approved);
            }
            Body::HumanQuestion(question) => count_kind(&mut self.questions, question.kind, 1),
            Body::Lifecycle(Lifecycle::Escaped { severity, text }) if self.escaped.len() < MAX_ESCAPED => {
                let (bubble_id, at) = (self.state.id.clone(), envelope.at.ts);
                self.escaped.push(EscapedEntry { bubble_id, severity: *severity, text: text.clone(), at });
            }
            _ => {}
        }
        if touches_ledger(&envelope.event.body) {
            self.read_ledger(envelope);
        }
    }

    fn read_ledger(&mut self, envelope: &Envelope) {
        let pass = match &envelope.event.body {
            Body::Pass(pass) => Some(pass),
            _ => None,
        };
        for row in &self.state.ledger.rows {
            let full = self.rows.len() >= ROWS_FOLLOWED;
            match self.rows.get_mut(&row.id) {
                Some(meter) => meter.read(row, pass, &envelope.event.sender),
                None if full => {}
                None => {
                    let mut meter = RowMeter::new(row);
                    meter.read(row, pass, &envelope.event.sender);
                    self.rows.insert(row.id, meter);
                }
            }
        }
    }
}

impl BubbleMeter {
    /// Adds the bubble to the figures of others, once its whole log was read.
    pub fn add_to(self, metrics: &mut Metrics, archived: bool) {
        let state = &self.state;
        metrics.bubbles.add(state, archived);
        if let Some((looks, rounds, by_person)) = self.converged {
            metrics.converged.bubbles += 1;
            metrics.converged.by_person += u64::from(by_person);
            metrics.converged.looks.add(looks);
            metrics.converged.rounds.add(rounds);
        }
        let (over, code) = (state.phase.is_final(), state.rules.kind != BubbleKind::Document);
        let followed = self.rows.len() as u64;
        metrics.findings_left_out += u64::from(state.ledger.named).saturating_sub(followed);
        for row in self.rows.values() {
            metrics.count(Some(&row.finder), row.severity, &row.outcome());
            // No test shows the fix of a document.
            if code {
                metrics.count(row.fix_by.as_ref(), row.severity, &row.proof(over));
            }
            for (author, [reproducers, withdrawn, dropped]) in &row.commands {
                let (reproducers, withdrawn, dropped) = (*reproducers, *withdrawn, *dropped);
                let commands = Tally { reproducers, withdrawn, dropped, ..Tally::default() };
                metrics.count(Some(author), row.severity, &commands);
            }
        }
        metrics.rework.bubbles += self.rework.bubbles;
        metrics.rework.requests += self.rework.requests;
        metrics.rework.after_approval += self.rework.after_approval;
        metrics.questions.add(&self.questions);
        metrics.escaped.add(self.escaped);
    }
}

/// Whether a line can change a row of the ledger.
fn touches_ledger(body: &Body) -> bool {
    matches!(
        body,
        Body::Pass(_)
            | Body::Convergence(_)
            | Body::Verdict(_)
            | Body::Control(_)
            | Body::HumanReply(_)
            | Body::ApprovalDecision(_)
            | Body::Evidence(Evidence::Reproduced { .. } | Evidence::FixTested { .. })
            | Body::Lifecycle(Lifecycle::Adopted { .. })
    )
}

impl RowMeter {
    fn new(row: &Row) -> Self {
        Self {
            severity: row.severity,
            finder: row.by.clone(),
            acceptance: row.is_acceptance() || row.has_lost_tests(),
            state: row.state,
            settled: row.settled,
            disputed: false,
            upheld: false,
            reproducer: None,
            withdrawn: 0,
            commands: BTreeMap::new(),
            fix_by: None,
            fix: None,
        }
    }

    fn read(&mut self, row: &Row, pass: Option<&Pass>, sender: &Party) {
        (self.severity, self.state, self.settled) = (row.severity, row.state, row.settled);
        self.disputed |= row.state == RowState::Disputed;
        self.upheld |= matches!(row.ruling, Some((Ruling::Upheld, _)));
        self.read_reproducer(row);
        if let (Some(pass), Party::Agent(by)) = (pass, sender)
            && pass.answers.fixed.contains(&row.id)
        {
            self.fix_by = Some(by.clone());
        }
        self.fix = row.fix.as_ref().map(|fix| {
            let passes = row.reproducer.as_ref().is_some_and(|one| one.stand == ReproducerState::Passes);
            match fix.stand {
                FixStand::Shown => FixProof::Shown,
                _ if passes => FixProof::Shown,
                _ if !fix.untestable.is_empty() => FixProof::Untestable,
                FixStand::Pending => FixProof::Pending,
                FixStand::NotRed | FixStand::NotGreen | FixStand::CouldNotRun => FixProof::Unproven,
            }
        });
    }

    fn read_reproducer(&mut self, row: &Row) {
        let before = self.reproducer.take();
        let now = row.reproducer.as_ref().map(|one| (one.by.clone().unwrap_or_else(|| row.by.clone()), one.stand));
        let newly = row.withdrawn.saturating_sub(self.withdrawn);
        self.withdrawn = row.withdrawn;
        if newly > 0 {
            let author = before.as_ref().map_or(&row.by, |(author, _)| author);
            self.commands.entry(author.clone()).or_default()[1] += u64::from(newly);
        }
        if let Some((author, stand)) = &now {
            let was = before.as_ref().filter(|_| newly == 0).map(|(_, stand)| *stand);
            // A command that counts no more is only ever replaced by a new one.
            let replaced = was.is_some_and(|was| *stand == ReproducerState::Pending && was != ReproducerState::Pending);
            let counts = self.commands.entry(author.clone()).or_default();
            counts[0] += u64::from(was.is_none() || replaced);
            counts[2] += u64::from(*stand == ReproducerState::Dropped && was != Some(ReproducerState::Dropped));
        }
        self.reproducer = now;
    }

    /// What became of the finding itself.
    fn outcome(&self) -> Tally {
        let is = |holds: bool| u64::from(holds && !self.acceptance);
        let (fixed, disputed) = (self.state == RowState::Fixed, self.state == RowState::Disputed);
        let (waived, dismissed) = (self.state == RowState::Waived, self.state == RowState::Dismissed);
        Tally {
            filed: is(true),
            confirmed: is(self.settled && fixed),
            conceded: is(self.settled && disputed),
            dismissed: is(dismissed),
            waived: is(waived),
            open: is(!waived && !dismissed && !(self.settled && (fixed || disputed))),
            disputed: is(self.disputed),
            upheld: is(self.upheld),
            ..Tally::default()
        }
    }

    /// How the last fix is shown. One that is still to be tested counts once the bubble is over.
    fn proof(&self, over: bool) -> Tally {
        let is = |proof: FixProof| u64::from(self.fix == Some(proof) && self.severity.blocks() && !self.acceptance);
        let pending = if over { is(FixProof::Pending) } else { 0 };
        Tally {
            fixes_shown: is(FixProof::Shown),
            fixes_untestable: is(FixProof::Untestable),
            fixes_unproven: is(FixProof::Unproven) + pending,
            ..Tally::default()
        }
    }
}
