//! The figures of some bubbles, and how they read as tables.

use std::collections::{BTreeMap, VecDeque};

use serde::{Serialize, Serializer};

use crate::bubble::{BubbleState, Phase};
use crate::facts::Severity;
use crate::ids::{AgentId, BubbleId};
use crate::log::QuestionKind;
use crate::text::counted;
use crate::time::Timestamp;
use crate::view::words::question_kind;

/// The schema of [`MetricsReport`] as JSON; `pairflow.` comes before it.
pub const SCHEMA: &str = "metrics/1";

/// How many agents have figures of their own.
const AGENTS: usize = 32;
/// Who the others are.
const OTHERS: &str = "other agents";
/// How many escaped defects and unreadable bubbles are listed.
const LISTED: usize = 50;
/// With fewer bubbles that converged, medians say little.
const ENOUGH: u64 = 5;
/// The severities, the most severe first.
pub(super) const SEVERITIES: [Severity; 4] = [Severity::P0, Severity::P1, Severity::P2, Severity::P3];

/// The figures of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct MetricsReport {
    /// The repository's root.
    pub repo: String,
    /// The figures of this user's bubbles.
    pub own: Metrics,
    /// The figures of bubbles that are not this user's: what their logs say may be anyone's claim.
    pub foreign: Metrics,
    /// The bubbles that could not be read, and are in no figure.
    pub unreadable: Vec<UnreadableBubble>,
    /// How many more there are.
    pub unreadable_left_out: u64,
}

/// A bubble that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnreadableBubble {
    /// Its name; of an archived one, that of its archive.
    pub bubble_id: String,
    /// Whether it was deleted and archived.
    pub archived: bool,
    /// Why it cannot be read.
    pub error: String,
}

/// The figures of some bubbles.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Metrics {
    /// How many bubbles there are, and where they stand.
    pub bubbles: BubbleTotals,
    /// What it took to converge.
    pub converged: Converged,
    /// The findings, by severity.
    pub by_severity: BTreeMap<Severity, Tally>,
    /// The findings and fixes of each agent, by severity.
    pub by_agent: BTreeMap<String, BTreeMap<Severity, Tally>>,
    /// How many findings were not followed because one bubble had too many.
    pub findings_left_out: u64,
    /// What a person sent back after the loop had accepted it.
    pub rework: Rework,
    /// What people were asked.
    pub questions: Questions,
    /// The defects that were found later.
    pub escaped: Escaped,
}

/// How many bubbles there are, and where they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct BubbleTotals {
    /// All of them.
    pub total: u64,
    /// Those that were deleted; their logs are in the archive.
    pub archived: u64,
    /// Those whose work is committed.
    pub done: u64,
    /// Those that were stopped.
    pub stopped: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that go on.
    pub active: u64,
}

/// What it took until the work was accepted for the first time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Converged {
    /// How many bubbles did.
    pub bubbles: u64,
    /// How many of them because a person accepted the work at a tie-break.
    pub by_person: u64,
    /// The reviews it took.
    pub looks: Spread,
    /// The rounds it took.
    pub rounds: Spread,
}

/// How often each number occurred.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spread(pub BTreeMap<u32, u64>);

/// What became of findings, and of the fixes and reproducers that belong to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// How many were filed. Each of them is now confirmed, conceded, dismissed, waived or open.
    pub filed: u64,
    /// Fixed, as a reviewer or a passing reproducer confirmed.
    pub confirmed: u64,
    /// Disputed by the implementer, and the reviewer agreed.
    pub conceded: u64,
    /// Dismissed by a judge or a person.
    pub dismissed: u64,
    /// Waived by a person.
    pub waived: u64,
    /// Not closed.
    pub open: u64,
    /// Disputed by the implementer at some time.
    pub disputed: u64,
    /// Upheld by a judge or a person at some time.
    pub upheld: u64,
    /// Reproducers that came with findings.
    pub reproducers: u64,
    /// Reproducers that their authors withdrew.
    pub withdrawn: u64,
    /// Reproducers that did not fail, or could not be run, when they were filed.
    pub dropped: u64,
    /// Claimed fixes of P0 and P1 whose test or reproducer failed before and passes now.
    pub fixes_shown: u64,
    /// Claimed fixes of P0 and P1 that nothing shows.
    pub fixes_unproven: u64,
    /// Claimed fixes of P0 and P1 for which no test can be written, says the implementer.
    pub fixes_untestable: u64,
}

/// What a person sent back after the loop had accepted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Rework {
    /// How many bubbles.
    pub bubbles: u64,
    /// How often.
    pub requests: u64,
    /// How often although it was approved already.
    pub after_approval: u64,
}

/// What people were asked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Questions {
    /// How many bubbles asked at least once.
    pub bubbles: u64,
    /// How many questions there were.
    pub total: u64,
    /// How many of each kind, the most frequent first.
    pub by_kind: Vec<KindCount>,
}

/// How many questions of one kind there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct KindCount {
    /// The kind.
    pub kind: QuestionKind,
    /// How many.
    pub count: u64,
}

/// The defects that were found later.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Escaped {
    /// How many.
    pub total: u64,
    /// In how many bubbles.
    pub bubbles: u64,
    /// How many of each severity.
    pub by_severity: BTreeMap<Severity, u64>,
    /// The newest of them, oldest first.
    pub newest: VecDeque<EscapedEntry>,
}

/// One defect that was found later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EscapedEntry {
    /// In whose work.
    pub bubble_id: BubbleId,
    /// How severe it is.
    pub severity: Severity,
    /// What is wrong.
    pub text: String,
    /// When it was recorded.
    pub at: Timestamp,
}

impl Metrics {
    /// Adds a tally to its severity, and to its agent.
    pub(super) fn count(&mut self, agent: Option<&AgentId>, severity: Severity, tally: &Tally) {
        if *tally == Tally::default() {
            return;
        }
        self.by_severity.entry(severity).or_default().add(tally);
        let Some(agent) = agent else { return };
        let known = self.by_agent.contains_key(agent.as_str()) || self.by_agent.len() < AGENTS;
        let name = if known { agent.as_str() } else { OTHERS };
        self.by_agent.entry(name.to_owned()).or_default().entry(severity).or_default().add(tally);
    }

    /// Whether there is no bubble in it.
    pub fn is_empty(&self) -> bool {
        self.bubbles.total == 0
    }

    /// All findings and fixes together.
    pub fn total(&self) -> Tally {
        sum(self.by_severity.values())
    }

    /// Says that there is too little to rely on the figures, if so.
    pub fn caution(&self) -> Option<String> {
        match (self.bubbles.total, self.converged.bubbles) {
            (0, _) => Some("There is no bubble to measure.".to_owned()),
            (_, 0) => Some("No bubble has converged yet, so there is nothing to say about the loop.".to_owned()),
            (_, few) if few < ENOUGH => {
                let have = if few == 1 { "has" } else { "have" };
                Some(format!("Only {} {have} converged: the figures say little yet.", counted(few, "bubble")))
            }
            _ => None,
        }
    }

    /// Says how many bubbles there are: "3 bubbles: 2 done, 1 active; 1 archived".
    pub fn summary(&self) -> String {
        let BubbleTotals { total, archived, done, stopped, failed, active } = self.bubbles;
        let parts = [(done, "done"), (active, "active"), (stopped, "stopped"), (failed, "failed")];
        let parts: Vec<_> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        let archived = if archived > 0 { format!("; {archived} of them archived") } else { String::new() };
        let colon = if parts.is_empty() { "" } else { ": " };
        format!("{}{colon}{}{archived}", counted(total, "bubble"), parts.join(", "))
    }
}

impl BubbleTotals {
    pub(super) fn add(&mut self, state: &BubbleState, archived: bool) {
        self.total += 1;
        self.archived += u64::from(archived);
        match state.phase {
            Phase::Committed(_) | Phase::Done(_) => self.done += 1,
            Phase::Cancelled => self.stopped += 1,
            Phase::Failed { .. } => self.failed += 1,
            _ => self.active += 1,
        }
    }
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.filed += other.filed;
        self.confirmed += other.confirmed;
        self.conceded += other.conceded;
        self.dismissed += other.dismissed;
        self.waived += other.waived;
        self.open += other.open;
        self.disputed += other.disputed;
        self.upheld += other.upheld;
        self.reproducers += other.reproducers;
        self.withdrawn += other.withdrawn;
        self.dropped += other.dropped;
        self.fixes_shown += other.fixes_shown;
        self.fixes_unproven += other.fixes_unproven;
        self.fixes_untestable += other.fixes_untestable;
    }
}

/// Adds tallies up.
pub(super) fn sum<'a>(tallies: impl Iterator<Item = &'a Tally>) -> Tally {
    tallies.fold(Tally::default(), |mut all, one| {
        all.add(one);
        all
    })
}

impl Questions {
    pub(super) fn add(&mut self, asked: &[KindCount]) {
        self.bubbles += u64::from(!asked.is_empty());
        for KindCount { kind, count } in asked {
            self.total += count;
            count_kind(&mut self.by_kind, *kind, *count);
        }
        self.by_kind.sort_by_key(|one| (std::cmp::Reverse(one.count), question_kind(one.kind)));
    }

    /// How many there were, by what people call their kind; two kinds may have one name.
    pub(super) fn named(&self) -> Vec<(&'static str, u64)> {
        let mut named: Vec<(&'static str, u64)> = Vec::new();
        for one in &self.by_kind {
            let name = question_kind(one.kind);
            match named.iter_mut().find(|(known, _)| *known == name) {
                Some((_, count)) => *count += one.count,
                None => named.push((name, one.count)),
            }
        }
        named
    }
}

/// Adds to the count of one kind.
pub(super) fn count_kind(counts: &mut Vec<KindCount>, kind: QuestionKind, more: u64) {
    match counts.iter_mut().find(|one| one.kind == kind) {
        Some(one) => one.count += more,
        None => counts.push(KindCount { kind, count: more }),
    }
}

impl Escaped {
    pub(super) fn add(&mut self, found: Vec<EscapedEntry>) {
        self.bubbles += u64::from(!found.is_empty());
        for one in found {
            self.total += 1;
            *self.by_severity.entry(one.severity).or_default() += 1;
            let at = self.newest.partition_point(|known| known.at <= one.at);
            self.newest.insert(at, one);
            let surplus = self.newest.len().saturating_sub(LISTED);
            self.newest.drain(..surplus);
        }
    }
}

impl Spread {
    pub(super) fn add(&mut self, value: u32) {
        *self.0.entry(value).or_default() += 1;
    }

    /// Returns the smallest number that at least `percent` of all are not above; nothing if there is none.
    pub fn percentile(&self, percent: u64) -> Option<u32> {
        let all: u64 = self.0.values().sum();
        let rank = (all * percent).div_ceil(100).max(1);
        let mut seen = 0;
        self.0.iter().find_map(|(value, count)| {
            seen += count;
            (seen >= rank).then_some(*value)
        })
    }

    /// Returns the largest number; nothing if there is none.
    pub fn most(&self) -> Option<u32> {
        self.0.keys().next_back().copied()
    }
}

impl Serialize for Spread {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            median: Option<u32>,
            p90: Option<u32>,
            most: Option<u32>,
            counts: &'a BTreeMap<u32, u64>,
        }
        let (median, p90, most) = (self.percentile(50), self.percentile(90), self.most());
        Shown { median, p90, most, counts: &self.0 }.serialize(serializer)
    }
}

impl MetricsReport {
    /// Names a bubble that could not be read.
    pub fn add_unreadable(&mut self, bubble: UnreadableBubble) {
        if self.unreadable.len() < LISTED {
            self.unreadable.push(bubble);
        } else {
            self.unreadable_left_out += 1;
        }
    }
}

/// One table of figures: the first column has names, the others numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsTable {
    /// The heads of the columns.
    pub heads: Vec<&'static str>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl MetricsTable {
    fn new(heads: &[&'static str]) -> Self {
        Self { heads: heads.to_vec(), rows: Vec::new() }
    }

    fn row(&mut self, name: &str, numbers: &[u64]) {
        self.rows.push(std::iter::once(name.to_owned()).chain(numbers.iter().map(u64::to_string)).collect());
    }
}

impl Metrics {
    /// Returns the figures as tables, those without any figure left out.
    pub fn tables(&self) -> Vec<MetricsTable> {
        let all = [
            self.convergence_table(),
            self.severity_table(),
            self.agent_table(),
            self.evidence_table(),
            self.question_table(),
            self.escaped_table(),
        ];
        all.into_iter().filter(|table| !table.rows.is_empty()).collect()
    }

    fn convergence_table(&self) -> MetricsTable {
        let mut table = MetricsTable::new(&["TO CONVERGE", "BUBBLES", "MEDIAN", "P90", "MOST"]);
        for (name, spread) in [("looks", &self.converged.looks), ("rounds", &self.converged.rounds)] {
            if let (Some(median), Some(p90), Some(most)) = (spread.percentile(50), spread.percentile(90), spread.most())
            {
                table.row(name, &[self.converged.bubbles, median.into(), p90.into(), most.into()]);
            }
        }
        table
    }

    pub(super) fn severity_table(&self) -> MetricsTable {
        let rows =
            SEVERITIES.iter().filter_map(|severity| Some((severity.to_string(), *self.by_severity.get(severity)?)));
        findings_table("FINDINGS", rows.collect())
    }

    pub(super) fn agent_table(&self) -> MetricsTable {
        let rows = self.by_agent.iter().map(|(agent, tallies)| (agent.clone(), sum(tallies.values())));
        findings_table("FILED BY", rows.collect())
    }

    /// The reproducers and fixes of each agent.
    pub(super) fn evidence_table(&self) -> MetricsTable {
        let heads = ["EVIDENCE BY", "REPRODUCERS", "WITHDRAWN", "DROPPED", "FIXES SHOWN", "UNPROVEN", "UNTESTABLE"];
        let mut table = MetricsTable::new(&heads);
        let mut rows: Vec<_> =
            self.by_agent.iter().map(|(agent, tallies)| (agent.clone(), sum(tallies.values()))).collect();
        rows.push(("all".to_owned(), self.total()));
        for (name, it) in rows {
            let numbers =
                [it.reproducers, it.withdrawn, it.dropped, it.fixes_shown, it.fixes_unproven, it.fixes_untestable];
            if numbers.iter().any(|number| *number > 0) {
                table.row(&name, &numbers);
            }
        }
        table
    }

    fn question_table(&self) -> MetricsTable {
        let mut table = MetricsTable::new(&["QUESTIONS", "ASKED"]);
        self.questions.named().into_iter().for_each(|(name, count)| table.row(name, &[count]));
        table
    }

    fn escaped_table(&self) -> MetricsTable {
        let mut table = MetricsTable::new(&["ESCAPED", "DEFECTS"]);
        for (severity, count) in &self.escaped.by_severity {
            table.row(&severity.to_string(), &[*count]);
        }
        table
    }

    /// Returns what no table says, as sentences.
    pub fn remarks(&self) -> Vec<String> {
        let mut said = Vec::new();
        if self.converged.by_person > 0 {
            let (accepted, all) = (self.converged.by_person, self.converged.bubbles);
            said.push(format!("A person accepted {accepted} of {all} at a tie-break."));
        }
        let Rework { bubbles, requests, after_approval } = self.rework;
        if requests > 0 {
            let (requests, bubbles) = (counted(requests, "time"), counted(bubbles, "bubble"));
            said.push(format!(
                "Accepted work was sent back {requests} in {bubbles}; {after_approval} of that after approval."
            ));
        }
        let Questions { bubbles, total, .. } = self.questions;
        if total > 0 {
            let (asked, all) = (counted(total, "question"), counted(self.bubbles.total, "bubble"));
            said.push(format!("{bubbles} of {all} asked a person, {asked} in all."));
        }
        if self.escaped.total > 0 {
            let (found, bubbles) = (counted(self.escaped.total, "defect"), self.escaped.bubbles);
            let done = counted(self.bubbles.done, "bubble");
            said.push(format!("{found} escaped from {bubbles} of {done} done."));
        }
        if self.findings_left_out > 0 {
            said.push(format!("{} more findings were not followed: a bubble has too many.", self.findings_left_out));
        }
        said
    }
}

/// A table of what became of findings; with more than one row, the last one is the total.
fn findings_table(what: &'static str, mut rows: Vec<(String, Tally)>) -> MetricsTable {
    let heads = ["FILED", "CONFIRMED", "CONCEDED", "DISMISSED", "WAIVED", "OPEN", "DISPUTED", "UPHELD"];
    let mut table = MetricsTable::new(&std::iter::once(what).chain(heads).collect::<Vec<_>>());
    rows.retain(|(_, tally)| tally.filed > 0);
    if rows.len() > 1 {
        let all = sum(rows.iter().map(|(_, tally)| tally));
        rows.push(("all".to_owned(), all));
    }
    for (name, it) in rows {
        let ends = [it.filed, it.confirmed, it.conceded, it.dismissed, it.waived, it.open];
        table.row(&name, &[&ends[..], &[it.disputed, it.upheld]].concat());
    }
    table
}
