//! Modelled agents: what an implementer does with a finding, what a reviewer finds, and how claims are worded.
//!
//! Every subject has a thing and a fault, and every fault can be said in several ways.

use pairflow_core::facts::{Class, Severity};

use super::Params;
use super::code::{Code, Dice, FILES, Model, Opinion, PARTS, Subject};

/// What an implementer says to a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// It is fixed. Which may be a lie.
    Fixed,
    /// It is no fault.
    Disputed,
}

/// Answers one finding, and does to the work what it does.
pub(super) fn answer(code: &mut Code, params: &Params, dice: &mut Dice, by: Model, subject: Subject) -> Answer {
    if code.holds(subject) {
        if dice.chance(params.disputes_true) {
            return Answer::Disputed;
        }
        fix(code, params, dice, by, subject);
        return Answer::Fixed;
    }
    let gone = !matches!(subject, Subject::Opinion(_));
    if gone || dice.chance(params.disputes_false) {
        // What is fixed already, or failed by chance, needs no change, and the implementer says so.
        return Answer::Disputed;
    }
    heed(code, params, dice, by, subject);
    Answer::Fixed
}

/// Tries to fix a defect, or only says so. Returns whether it tried.
pub(super) fn fix(code: &mut Code, params: &Params, dice: &mut Dice, by: Model, subject: Subject) -> bool {
    let Subject::Defect(at) = subject else { return false };
    if dice.chance(params.lie) {
        return false;
    }
    if dice.chance(params.mended) {
        code.defects[at].alive = false;
    }
    code.change(params, dice, by, code.defects[at].part);
    true
}

/// Answers a blocking finding for which a test can be written and has to be. For what is no fault none can be written that
/// fails, so it is disputed. Returns whether there is a test: who only says that it is fixed has none.
pub(super) fn answer_with_test(
    code: &mut Code,
    params: &Params,
    dice: &mut Dice,
    by: Model,
    subject: Subject,
) -> (Answer, bool) {
    if !code.holds(subject) || dice.chance(params.disputes_true) {
        return (Answer::Disputed, false);
    }
    (Answer::Fixed, fix(code, params, dice, by, subject))
}

/// Does what a wrong claim asks for: right code is changed, or what was fixed is undone.
pub(super) fn heed(code: &mut Code, params: &Params, dice: &mut Dice, by: Model, subject: Subject) {
    let Subject::Opinion(at) = subject else { return };
    let (part, undoes) = (code.opinions[at].part, code.opinions[at].undoes);
    if let Some(Subject::Defect(undone)) = undoes {
        code.defects[undone].alive = true;
    }
    code.change(params, dice, by, part);
}

/// One claim of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Claim {
    pub subject: Subject,
    /// How severe the reviewer calls it.
    pub severity: Severity,
    /// In which words.
    pub wording: usize,
    /// The command that comes with it.
    pub proof: Option<Proof>,
}

/// A command that is to show a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// It fails as long as the defect is there.
    Right,
    /// It fails whatever is done.
    Wrong,
}

impl Claim {
    /// A claim that a reviewer repeats because an answer to it was not taken.
    pub(super) fn again(subject: Subject, severity: Severity) -> Self {
        Self { subject, severity, wording: 0, proof: None }
    }
}

/// What a reviewer knows besides the work itself.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Past<'a> {
    /// What was settled in earlier rounds.
    pub settled: &'a [Subject],
    /// What was fixed because a reviewer asked for it.
    pub fixed: &'a [Subject],
}

/// One look of `model` at the work; nothing if it approves without looking.
pub(super) fn look(
    code: &mut Code,
    params: &Params,
    dice: &mut Dice,
    model: Model,
    past: Past<'_>,
) -> Option<Vec<Claim>> {
    if dice.chance(params.lazy) {
        return None;
    }
    let mut claims = Vec::new();
    for at in 0..code.defects.len() {
        if code.defects[at].alive && dice.chance(code.defects[at].seen_by(model)) {
            claims.push(claim(code, params, dice, Subject::Defect(at)));
        }
    }
    for _ in 0..dice.poisson(code.noise) {
        let opinion = opinion(params, dice);
        let testable = code.aside.chance(params.testable);
        code.opinions.push(Opinion { testable, ..opinion });
        claims.push(claim(code, params, dice, Subject::Opinion(code.opinions.len() - 1)));
    }
    if dice.chance(params.repeat) {
        claims.extend(dice.pick(past.settled).map(|subject| claim(code, params, dice, subject)));
    }
    if dice.chance(params.reversal) {
        claims.extend(dice.pick(past.fixed).map(|fixed| undo(code, params, dice, fixed)));
    }
    claims.dedup_by_key(|claim| claim.subject);
    Some(claims)
}

/// Whether a reviewer takes an answer.
pub(super) fn takes(code: &Code, params: &Params, dice: &mut Dice, subject: Subject, answer: Answer) -> bool {
    if subject == Subject::Flake {
        return true;
    }
    let right = !code.holds(subject);
    let misjudged = dice.chance(params.misjudged);
    let insists = right && answer == Answer::Disputed && dice.chance(params.stubborn);
    right != misjudged && !insists
}

/// A claim in some words, called as severe as it is or one step off, perhaps with a command.
fn claim(code: &Code, params: &Params, dice: &mut Dice, subject: Subject) -> Claim {
    let wording = if dice.chance(params.reworded) { dice.below(WORDINGS) } else { 0 };
    let severity = called(params, dice, code.about(subject).1);
    let (brought, wrong) = (dice.chance(params.reproducer), dice.chance(params.wrong_reproducer));
    let proof = match (brought && severity.blocks(), code.holds(subject), wrong) {
        (true, _, true) => Some(Proof::Wrong),
        (true, true, false) => Some(Proof::Right),
        // Nothing shows what is not there.
        _ => None,
    };
    Claim { subject, severity, wording, proof }
}

/// What a reviewer calls a fault of this severity.
fn called(params: &Params, dice: &mut Dice, severity: Severity) -> Severity {
    let (off, up) = (dice.chance(params.wrong_severity), dice.chance(0.5));
    match (off, severity) {
        (false, _) => severity,
        (true, Severity::P0) => Severity::P1,
        (true, Severity::P1) => {
            if up {
                Severity::P0
            } else {
                Severity::P2
            }
        }
        (true, Severity::P2) => {
            if up {
                Severity::P1
            } else {
                Severity::P3
            }
        }
        (true, Severity::P3) => Severity::P2,
    }
}

/// A claim about nothing.
fn opinion(params: &Params, dice: &mut Dice) -> Opinion {
    let severity = match (dice.chance(params.noise_grave), dice.chance(0.5)) {
        (true, _) => Severity::P1,
        (false, true) => Severity::P2,
        (false, false) => Severity::P3,
    };
    let tagged = severity == Severity::P2 && dice.chance(params.tagged);
    Opinion { severity, part: dice.below(FILES * PARTS), tagged, undoes: None, testable: false }
}

/// A claim that wants undone what was fixed.
fn undo(code: &mut Code, params: &Params, dice: &mut Dice, fixed: Subject) -> Claim {
    let (part, severity, tagged) = code.about(fixed);
    let testable = code.aside.chance(params.testable);
    code.opinions.push(Opinion { severity, part, tagged, undoes: Some(fixed), testable });
    claim(code, params, dice, Subject::Opinion(code.opinions.len() - 1))
}

/// How many ways there are to say the same.
pub(super) const WORDINGS: usize = 4;

/// How many lines a part has.
const LINES: u32 = 40;

const THINGS: [&str; 24] = [
    "retry budget",
    "session token",
    "file lock",
    "upload buffer",
    "cursor position",
    "tenant id",
    "rate limiter",
    "cache entry",
    "worker pool",
    "invoice total",
    "config reload",
    "temp directory",
    "audit record",
    "time zone",
    "page size",
    "socket handle",
    "migration step",
    "user quota",
    "search index",
    "webhook signature",
    "password hash",
    "log rotation",
    "feature flag",
    "email queue",
];

/// A title and a longer text for each way to say it; `{}` is the thing.
const FAULTS: [[(&str, &str); WORDINGS]; 8] = [
    [
        ("{} is not released on the error path", "An early return leaves the {} held."),
        ("error path leaks the {}", "When the call fails, nothing frees the {}."),
        ("the {} stays held after a failure", "Release the {} also where the function returns early."),
        ("missing release of the {} when an error is returned", "Every failure leaves one more {} held."),
    ],
    [
        ("{} is off by one at the upper bound", "The last value of the {} is skipped: `<` should be `<=`."),
        ("upper bound of the {} is wrong by one", "The comparison leaves out the last {}."),
        ("the last {} is never handled", "The loop over the {} ends one too early at its upper bound."),
        ("off-by-one: bound of the {} excludes its last value", "Use `<=` for the {}."),
    ],
    [
        ("{} is read without holding the mutex", "Two threads can see a torn {}."),
        ("data race on the {}", "The {} is read while another thread writes it; no mutex is held."),
        ("unsynchronised access to the {}", "Take the mutex before the {} is read."),
        ("reading the {} races with its writer", "Nothing holds the mutex here, so the {} may be half written."),
    ],
    [
        ("{} is not checked for null", "A missing {} crashes the request."),
        ("crash when the {} is missing", "The {} is dereferenced although it may be null."),
        ("null {} leads to a panic", "Check the {} for null before it is used."),
        ("missing null check of the {}", "Without a {} this panics."),
    ],
    [
        ("input is put into the {} without escaping", "A crafted value breaks out of the {}."),
        ("injection through the {}", "The value reaches the {} unescaped."),
        ("unescaped user input in the {}", "Escape the input before it becomes part of the {}."),
        ("the {} takes raw input and can be injected", "Nothing escapes what users send into the {}."),
    ],
    [
        ("error of the {} is swallowed", "The result is dropped, so nobody learns that the {} failed."),
        ("failure of the {} is ignored", "The {} returns an error that is thrown away."),
        ("a failing {} goes unnoticed", "Report the error of the {} instead of swallowing it."),
        ("ignored error result from the {}", "The error is discarded; the {} may have failed."),
    ],
    [
        ("no test covers the {}", "Nothing would fail if the {} broke."),
        ("the {} is untested", "Add a test for the {}."),
        ("missing test for the {}", "The {} has no coverage."),
        ("tests do not exercise the {}", "A broken {} would pass the suite."),
    ],
    [
        ("name of the {} helper is unclear", "Rename the helper so that it says what it does with the {}."),
        ("rename the {} helper", "Its name says nothing about the {}."),
        ("unclear naming around the {}", "The helper for the {} should be called after what it does."),
        ("the {} helper is badly named", "A reader cannot tell what happens to the {}."),
    ],
];

/// How a wish to undo something is worded.
const UNDO: [&str; WORDINGS] = [
    "revert the change to the {}: {}",
    "undo this, the {} was right before: {}",
    "remove what was added for the {} again: {}",
    "restore the earlier {}; the fix is not needed: {}",
];

/// Returns the title and the detail of a claim in one of its wordings.
pub(super) fn say(code: &Code, subject: Subject, wording: usize) -> (String, String) {
    let number = number_of(subject);
    let thing = THINGS[number % THINGS.len()];
    if let Some(undone) = undone(code, subject) {
        let (title, detail) = say(code, undone, 0);
        let older = THINGS[number_of(undone) % THINGS.len()];
        return (fill(UNDO[wording % WORDINGS], &[older, &title]), detail);
    }
    let (title, detail) = FAULTS[fault_of(code, subject)][wording % WORDINGS];
    (fill(title, &[thing]), fill(detail, &[thing]))
}

/// Returns the file and the line of a claim; lines move a little with every change of the part.
pub(super) fn place(code: &Code, subject: Subject) -> (String, u32) {
    let (part, _, _) = code.about(subject);
    let within = u32::try_from(number_of(subject) % 30).unwrap_or_default();
    let base = u32::try_from(part % PARTS).unwrap_or_default() * LINES;
    (file_of(part), base + within + 1 + code.versions[part] % 8)
}

/// Returns the name of the file that holds a part.
pub(super) fn file_of(part: usize) -> String {
    format!("src/part{}.rs", (part / PARTS) % FILES)
}

/// Returns the text of the line that a claim is about.
pub(super) fn anchor(code: &Code, subject: Subject) -> String {
    let (part, _, _) = code.about(subject);
    let thing = THINGS[number_of(subject) % THINGS.len()].replace(' ', "_");
    format!("let {thing} = take_{thing}({part}, {});", code.versions[part])
}

/// Returns what kind of fault a claim is called.
pub(super) fn class(code: &Code, claim: &Claim) -> Class {
    let (_, _, tagged) = code.about(claim.subject);
    match (claim.severity, tagged) {
        (Severity::P0 | Severity::P1, _) | (_, true) => Class::CoreLogic,
        (Severity::P2, false) => Class::Tests,
        (Severity::P3, false) => Class::Style,
    }
}

fn undone(code: &Code, subject: Subject) -> Option<Subject> {
    match subject {
        Subject::Opinion(at) => code.opinions[at].undoes,
        Subject::Defect(_) | Subject::Flake | Subject::Acceptance => None,
    }
}

fn number_of(subject: Subject) -> usize {
    match subject {
        Subject::Defect(at) => at * 7 + 1,
        Subject::Opinion(at) => at * 11 + 5,
        Subject::Flake => 3,
        Subject::Acceptance => 4,
    }
}

/// Severe claims speak of severe faults, minor ones of minor faults.
fn fault_of(code: &Code, subject: Subject) -> usize {
    let (_, severity, _) = code.about(subject);
    let number = number_of(subject) / 3;
    if severity.blocks() { number % 5 } else { 3 + number % 5 }
}

fn fill(template: &str, words: &[&str]) -> String {
    words.iter().fold(template.to_owned(), |text, word| text.replacen("{}", word, 1))
}
