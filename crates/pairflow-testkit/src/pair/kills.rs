//! Stories in which the tmux server or the supervisor is killed again and again.

use serde_json::Value;

use super::machine::Pair;
use super::machine::Transcript;
use super::story;

/// What was killed, and what has survived it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Killed {
    /// How many tmux servers.
    pub servers: u64,
    /// How many supervisors.
    pub supervisors: u64,
    /// How many stories were lived to their end meanwhile.
    pub stories: u64,
    /// How many lines stood in the logs at the moments of the kills. All of them stand there in the end.
    pub kept: u64,
    /// How many hand-overs the logs have: those of the stories, each once.
    pub handovers: u64,
    /// How many messages the agents were told to be recorded, as far as they lived to hear it. The logs have them all.
    pub promised: u64,
    /// How many notices were acknowledged, each once.
    pub acknowledged: u64,
    /// How many notices a model began to act on more than once. A program that is killed before it acknowledged a notice
    /// gets the notice again, so this may be more than zero.
    pub twice: u64,
}

impl Killed {
    /// Returns how many kills there were.
    pub fn total(&self) -> u64 {
        self.servers + self.supervisors
    }
}

/// Lives stories, one after the other, until `kills` kills were survived. `seed` says where they fall.
///
/// # Panics
/// If a story does not come to its end, or not to the right one, or if anything of it is lost or there twice.
#[track_caller]
pub fn survive(pair: &Pair, kills: u64, seed: u64) -> Killed {
    let mut run = KillRun { pair, kills, dice: roll(seed), killed: Killed::default() };
    while run.goes_on() {
        let id = format!("kill-{}-{}", seed, run.killed.stories);
        run.live(&id);
        pair.mock.forget();
    }
    run.killed.twice = pair.model_script().begun().values().filter(|times| **times > 1).count() as u64;
    run.killed
}

/// Stories under kills.
struct KillRun<'a> {
    pair: &'a Pair,
    kills: u64,
    dice: u64,
    killed: Killed,
}

impl KillRun<'_> {
    fn goes_on(&self) -> bool {
        self.killed.total() < self.kills
    }

    /// Lives one story to its end, with kills as long as there are any left.
    #[track_caller]
    fn live(&mut self, id: &str) {
        story::start(self.pair, id);
        let (mut kept, mut next, mut asked) = (self.pair.transcript(id), 4, 0);
        loop {
            let status = self.pair.wait_for(id, "something new", |status| self.is_news(status, id, next));
            kept = self.look_again(id, &kept);
            if status["state"] == "READY_FOR_APPROVAL" {
                break;
            }
            if story::question(&status).is_some() {
                story::answer(self.pair, id, &status);
            } else if status["state"] == "WAITING_HUMAN" {
                asked += 1;
                let log = || self.pair.pairflow(&["log", id]).stdout;
                assert!(asked <= 3 * self.kills + 10, "it goes round in circles:\n{}", log());
                resume(self.pair, id);
            } else if self.goes_on() {
                self.kill(id, &kept);
            }
            kept = self.look_again(id, &kept);
            next = kept.lines() + 4 + (self.dice >> 40) % 5;
        }
        story::finish(self.pair, id, "one\ntwo");
        let log = story::happened(self.pair, id);
        self.look_again(id, &kept);
        self.killed.stories += 1;
        self.killed.handovers += log.handovers().len() as u64;
        let promised = story::AGENTS.map(|(kind, _)| self.pair.promised(kind, id).len() as u64);
        self.killed.promised += promised.iter().sum::<u64>();
        self.killed.acknowledged += log.acknowledged().len() as u64;
    }

    /// Whether the bubble has come so far that something is to be done.
    fn is_news(&self, status: &Value, id: &str, lines: u64) -> bool {
        let waits = status["state"] == "WAITING_HUMAN" || status["state"] == "READY_FOR_APPROVAL";
        waits || self.pair.transcript(id).lines() >= lines
    }

    /// Reads the log again, in which everything that `kept` has must stand where it stood.
    #[track_caller]
    fn look_again(&self, id: &str, kept: &Transcript) -> Transcript {
        let log = self.pair.transcript(id);
        if let Some((number, line)) = log.first_lost(kept) {
            panic!("line {number} of the log of {id} was lost or changed by a kill: {line}");
        }
        log
    }

    /// Kills a server or a supervisor. `kept` is what the log has at this moment.
    #[track_caller]
    fn kill(&mut self, id: &str, kept: &Transcript) {
        self.dice = roll(self.dice);
        let server = || self.pair.tmux(id, &["display-message", "-p", "#{pid}"]);
        if (self.dice >> 33).is_multiple_of(2)
            && let Some(pid) = server()
        {
            end(pid.trim());
            self.killed.servers += 1;
            self.killed.kept += kept.lines();
            return;
        }
        let status = self.pair.pairflow(&["supervisor", "status", "--json"]).ok().json();
        if let Some(pid) = status["pid"].as_u64() {
            end(&pid.to_string());
            self.killed.supervisors += 1;
            self.killed.kept += kept.lines();
        }
        resume(self.pair, id);
    }
}

/// Returns the next number of a sequence that looks like chance.
fn roll(dice: u64) -> u64 {
    dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407)
}

/// Resumes a bubble. One that meanwhile waits for the approval needs none, and one whose agent has meanwhile asked its
/// question needs the answer to it.
#[track_caller]
fn resume(pair: &Pair, id: &str) {
    let ran = pair.pairflow(&["resume", id]);
    if ran.code != 0 {
        let status = pair.home.status(id);
        assert!(needs_no_resume(&status), "{}\n{status:#}", ran.stderr);
    }
}

/// Whether `resume` is refused with good reason: nothing else than a decision or the answer of the person is wanted.
fn needs_no_resume(status: &Value) -> bool {
    let asks = status["state"] == "WAITING_HUMAN" && story::question(status).is_some();
    status["state"] == "READY_FOR_APPROVAL" || asks
}

fn end(pid: &str) {
    let ended = std::process::Command::new("kill").args(["-9", pid]).status();
    assert!(ended.is_ok_and(|status| status.success()), "process {pid} was to be killed");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pair::story::QUESTION;

    #[test]
    fn only_the_approval_and_the_storys_own_question_need_no_resume() {
        let asks = |state: &str, questions: &[&str]| {
            let open: Vec<_> = questions.iter().map(|one| json!({"question": one})).collect();
            needs_no_resume(&json!({"state": state, "questions": open}))
        };
        assert!(asks("READY_FOR_APPROVAL", &[]));
        assert!(asks("WAITING_HUMAN", &[QUESTION]));
        assert!(asks("WAITING_HUMAN", &["codex ended", QUESTION]));
        assert!(!asks("WAITING_HUMAN", &[]));
        assert!(!asks("WAITING_HUMAN", &["codex ended"]));
        assert!(!asks("RUNNING", &[QUESTION]));
        assert!(!asks("FAILED", &[]));
    }
}
