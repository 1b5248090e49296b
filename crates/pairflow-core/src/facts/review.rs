//! What a reviewer claims.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::ids::FindingId;

/// How severe a finding is. Ordered: `P0 < P1`, so the most severe is the minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Display, EnumString)]
pub enum Severity {
    /// Critical.
    P0,
    /// Major.
    P1,
    /// Minor.
    P2,
    /// A nitpick.
    P3,
}

/// One claim of a reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its name in this bubble, given by pairflow when the pass is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<FindingId>,
    /// How severe it is.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub title: String,
    /// The claim at length, if the title is not all of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The file it is about, relative to the root of the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in that file, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What kind of fault it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// What the reviewer would do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub suggestion: String,
    /// A command that fails as long as the fault is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproducer: Option<String>,
    /// The text of the line it is about, as pairflow read it when the finding was filed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub anchor: String,
    /// The round in which the same agent had reviewed the same lines before, as pairflow found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<u32>,
    /// Whether it touches core logic, security or data integrity, as pairflow found out when the pass was recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub risk: bool,
    /// The row that it repeats, says its reviewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<FindingId>,
    /// The row that asked for what this finding wants undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverses: Option<FindingId>,
    /// The files that its reproducer needs, if it is about acceptance tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overlay: Vec<AcceptanceFile>,
    /// Whether the implementer of a document filed it: it blocks the implementation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocker: bool,
}

/// What kind of fault a finding is. The first three are risks: a P2 of theirs has to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Display, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Class {
    /// What the program is for does not work.
    CoreLogic,
    /// Someone can do what they must not.
    Security,
    /// Data is lost or wrong.
    DataIntegrity,
    /// It is slow, or uses too much.
    Performance,
    /// Tests are missing, wrong or weakened.
    Tests,
    /// Documentation and messages.
    Docs,
    /// How the code reads.
    Style,
    /// Anything else.
    Other,
}

impl Class {
    /// Returns its name, as it is written in findings files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether a minor finding of this class has to be answered nevertheless.
    pub fn is_risk(self) -> bool {
        matches!(self, Self::CoreLogic | Self::Security | Self::DataIntegrity)
    }
}

/// Why a text is no class.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no class '{0}'; there are core_logic, security, data_integrity, performance, tests, docs, style, other"
)]
pub struct BadClass(String);

impl FromStr for Class {
    type Err = BadClass;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let word = text.trim().to_lowercase().replace(['-', ' '], "_");
        let known = Self::VARIANTS.iter().find(|class| class.name() == word);
        known.copied().ok_or_else(|| BadClass(text.to_owned()))
    }
}

impl Finding {
    /// A claim of which only the title is known.
    pub fn new(severity: Severity, title: impl Into<String>) -> Self {
        Self {
            id: None,
            severity,
            title: title.into(),
            detail: String::new(),
            file: None,
            line: None,
            class: None,
            suggestion: String::new(),
            reproducer: None,
            anchor: String::new(),
            seen: None,
            risk: false,
            repeats: None,
            reverses: None,
            overlay: Vec::new(),
            blocker: false,
        }
    }

    /// Acceptance tests as a claim: they fail as long as the task is not done.
    pub fn acceptance(tests: &AcceptanceTests) -> Self {
        let title = "the acceptance tests written from the task fail";
        let (reproducer, overlay) = (Some(tests.run.clone()), tests.files.clone());
        Self { reproducer, overlay, class: Some(Class::CoreLogic), ..Self::new(Severity::P1, title) }
    }

    /// What an implementer cannot resolve in its dry run of a document.
    pub fn blocker(title: impl Into<String>) -> Self {
        Self { blocker: true, ..Self::new(Severity::P1, title) }
    }

    /// The claim as its reviewer made it, without what pairflow found out about it.
    #[must_use]
    pub fn as_said(&self) -> Self {
        Self { id: None, anchor: String::new(), seen: None, risk: false, ..self.clone() }
    }

    /// Whether the same agent should have said this earlier: it had reviewed these lines, and nothing proves the fault.
    pub fn late(&self) -> bool {
        self.seen.is_some() && self.reproducer.is_none()
    }
}

impl Severity {
    /// Whether a finding of this severity keeps the loop going.
    pub fn blocks(self) -> bool {
        self <= Self::P1
    }
}

/// Why a text is no finding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a finding is written as SEVERITY:TITLE with a severity out of P0, P1, P2, P3 and a title, e.g. 'P1:no rollback'"
)]
pub struct BadFinding;

impl FromStr for Finding {
    type Err = BadFinding;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (severity, title) = text.split_once(':').ok_or(BadFinding)?;
        let severity = severity.trim().parse().map_err(|_| BadFinding)?;
        let title = title.trim();
        if title.is_empty() {
            return Err(BadFinding);
        }
        Ok(Self::new(severity, title))
    }
}

/// Answers to rows of the ledger: an implementer's first, then a reviewer's.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Answers {
    /// Rows that the implementer has fixed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<FindingId>,
    /// Rows that are no faults, says the implementer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disputed: Vec<Dispute>,
    /// Rows of which the reviewer takes the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub confirmed: Vec<FindingId>,
    /// Rows of which the reviewer does not take the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reopened: Vec<FindingId>,
    /// Rows whose reproducer its author takes back; whichever seat the author has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retracted: Vec<FindingId>,
    /// Commands that show fixes: each fails without its fix and passes with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<FixTest>,
    /// Fixed rows for which no test can be written, says the implementer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untestable: Vec<Dispute>,
}

/// A command that shows that a finding is fixed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixTest {
    /// Which row.
    pub finding: FindingId,
    /// The command line.
    pub command: String,
}

/// A judge's decision on a disputed finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// Which row.
    pub finding: FindingId,
    /// What was decided.
    pub ruling: Ruling,
    /// Why.
    pub reason: String,
}

/// How a dispute is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Display, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Ruling {
    /// The finding holds.
    Upheld,
    /// The finding does not hold.
    Dismissed,
}

/// Tests that the reviewer's agent wrote from the task, before it saw any work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptanceTests {
    /// The command line that runs them, in a checkout over which the files are laid.
    pub run: String,
    /// The files.
    pub files: Vec<AcceptanceFile>,
}

/// One file of acceptance tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptanceFile {
    /// Where it is laid, relative to the root of the repository.
    pub path: String,
    /// Its content, as `artifact://acceptance/<sha256>`.
    pub content: String,
}

/// An implementer's reason why a finding is no fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispute {
    /// Which row.
    pub finding: FindingId,
    /// Why.
    pub reason: String,
}

impl Answers {
    /// Whether nothing is answered.
    pub fn is_empty(&self) -> bool {
        let rows = self.of_implementer().chain(self.of_reviewer()).chain(self.shown());
        rows.chain(self.retracted.iter().copied()).next().is_none()
    }

    /// The rows that are answered as an implementer does.
    pub fn of_implementer(&self) -> impl Iterator<Item = FindingId> {
        self.fixed.iter().copied().chain(self.disputed.iter().map(|one| one.finding))
    }

    /// The rows of which it is said how their fix is shown.
    pub fn shown(&self) -> impl Iterator<Item = FindingId> {
        self.tests.iter().map(|test| test.finding).chain(self.untestable.iter().map(|one| one.finding))
    }

    /// The rows that are answered as a reviewer does.
    pub fn of_reviewer(&self) -> impl Iterator<Item = FindingId> {
        self.confirmed.iter().chain(&self.reopened).copied()
    }
}

/// The explanation pack: what a person has to know to decide.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Explanation {
    /// What changed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub what: String,
    /// Why it changed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// What is risky or was traded away.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub risks: String,
    /// How a person tries it by hand.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub test_plan: String,
}

/// The headings of an explanation pack, with the words that open each part.
const PARTS: [(&str, &[&str]); 4] = [
    ("what changed", &["what changed", "what", "changes", "summary"]),
    ("why", &["why it changed", "why", "reason", "rationale", "motivation"]),
    ("risks", &["risks", "risk", "key tradeoffs", "tradeoffs", "trade-offs", "residual risks"]),
    ("manual test plan", &["manual test plan", "test plan", "manual tests", "how to test"]),
];

impl Explanation {
    /// Reads the parts of a Markdown text: what stands beneath a heading of that name.
    pub fn read(text: &str) -> Self {
        let mut explained = Self::default();
        let (mut part, mut fenced) = (None, false);
        for line in text.lines() {
            fenced ^= line.trim_start().starts_with("```");
            if line.starts_with('#') && !fenced {
                part = part_of(line);
            } else if let Some(part) = part {
                let text = explained.part_mut(part);
                text.push_str(line);
                text.push('\n');
            }
        }
        (0..PARTS.len()).for_each(|part| {
            let text = explained.part_mut(part);
            *text = text.trim().to_owned();
        });
        explained
    }

    /// The parts, each with its name.
    pub fn parts(&self) -> [(&'static str, &str); 4] {
        let texts = [&self.what, &self.why, &self.risks, &self.test_plan];
        std::array::from_fn(|at| (PARTS[at].0, texts[at].as_str()))
    }

    /// The names of the parts that are not there.
    pub fn missing(&self) -> Vec<&'static str> {
        self.parts().into_iter().filter(|(_, text)| text.trim().is_empty()).map(|(name, _)| name).collect()
    }

    /// Replaces the parts that a newer pack has.
    pub fn take_over(&mut self, newer: &Self) {
        for part in 0..PARTS.len() {
            let text = newer.parts()[part].1;
            if !text.trim().is_empty() {
                text.clone_into(self.part_mut(part));
            }
        }
    }

    fn part_mut(&mut self, part: usize) -> &mut String {
        match part {
            0 => &mut self.what,
            1 => &mut self.why,
            2 => &mut self.risks,
            _ => &mut self.test_plan,
        }
    }
}

/// Which part a heading opens.
fn part_of(heading: &str) -> Option<usize> {
    let words = heading.trim_start_matches('#').trim().trim_end_matches([':', '?', '.']).to_lowercase();
    let words = words.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ')' | ' '));
    PARTS
        .iter()
        .position(|(_, openers)| openers.contains(&words))
        .or_else(|| PARTS.iter().position(|(_, openers)| openers.iter().any(|opener| words.starts_with(opener))))
}

/// A step of a document review that has to be done for its own sake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Which one.
    pub step: StepName,
    /// What came of it, in the reviewer's words.
    pub result: String,
}

/// The steps of a document review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, EnumString, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "kebab-case")]
pub enum StepName {
    /// Do scope, requirements and acceptance criteria contradict one another?
    Contradictions,
    /// Could it be implemented as it stands? An outline, and what blocks it.
    DryRun,
    /// Which edge cases and risks does it leave open?
    Adversarial,
}

impl StepName {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Contradictions, Self::DryRun, Self::Adversarial];

    /// The word for it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Why a text is no step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a step is written as NAME=RESULT with a name out of contradictions, dry-run, adversarial, and a result")]
pub struct BadStep;

impl std::str::FromStr for Step {
    type Err = BadStep;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, result) = text.split_once('=').ok_or(BadStep)?;
        let step = name.trim().replace('_', "-").parse().map_err(|_| BadStep)?;
        let result = result.trim();
        if result.is_empty() { Err(BadStep) } else { Ok(Self { step, result: result.to_owned() }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_explanation_is_read_by_its_headings() {
        let text = "# Notes\nx\n## What changed\nA lock.\n\n## 2. Why it changed\nA race.\n## Risks:\n```\n# no heading\n```\n";
        let read = Explanation::read(text);
        assert_eq!(
            read.parts(),
            [
                ("what changed", "A lock."),
                ("why", "A race."),
                ("risks", "```\n# no heading\n```"),
                ("manual test plan", ""),
            ]
        );
        assert_eq!(read.missing(), ["manual test plan"]);
    }

    #[test]
    fn a_newer_pack_replaces_only_the_parts_it_has() {
        let mut pack = Explanation { what: "a".into(), why: "b".into(), ..Explanation::default() };
        pack.take_over(&Explanation { why: "c".into(), test_plan: "d".into(), ..Explanation::default() });
        let is = Explanation { what: "a".into(), why: "c".into(), risks: String::new(), test_plan: "d".into() };
        assert_eq!(pack, is);
    }
}
