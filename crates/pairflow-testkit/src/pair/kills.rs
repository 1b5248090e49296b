//! Stories in which the tmux server or the supervisor is killed again and again.

use serde_json::Value;

use super::place::Pair;
use super::story::{self, ANSWER, QUESTION};

/// What was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Killed {
    /// How many tmux servers.
    pub servers: u64,
    /// How many supervisors.
    pub supervisors: u64,
    /// How many stories were lived to their end meanwhile.
    pub stories: u64,
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
/// If a story does not come to its end, or not to the right one.
#[track_caller]
pub fn survive(pair: &Pair, kills: u64, seed: u64) -> Killed {
    let mut killed = Killed::default();
    let mut dice = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    while killed.total() < kills {
        let id = format!("kill-{}-{}", seed, killed.stories);
        pair.start(&id, "Write work.txt\n\n## Acceptance criteria\n- it rolls back");
        let (mut next, mut asked) = (4, 0);
        loop {
            let status = pair.wait_for(&id, "something new", |status| is_news(pair, status, &id, next));
            if status["state"] == "READY_FOR_APPROVAL" {
                break;
            }
            if status["questions"][0]["question"] == QUESTION {
                pair.pairflow(&["reply", &id, "--message", ANSWER]).ok();
            } else if status["state"] == "WAITING_HUMAN" {
                asked += 1;
                assert!(asked <= 3 * kills + 10, "it goes round in circles:\n{}", pair.pairflow(&["log", &id]).stdout);
                resume(pair, &id);
            } else if killed.total() < kills {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                kill(pair, &id, dice >> 33, &mut killed);
            }
            next = pair.lines(&id) + 4 + (dice >> 40) % 5;
        }
        story::finish(pair, &id);
        killed.stories += 1;
    }
    killed
}

/// Whether the bubble has come so far that something is to be done.
fn is_news(pair: &Pair, status: &Value, id: &str, lines: u64) -> bool {
    let waits = status["state"] == "WAITING_HUMAN" || status["state"] == "READY_FOR_APPROVAL";
    waits || pair.lines(id) >= lines
}

fn kill(pair: &Pair, id: &str, dice: u64, killed: &mut Killed) {
    let server = || pair.tmux(id, &["display-message", "-p", "#{pid}"]);
    if dice.is_multiple_of(2)
        && let Some(pid) = server()
    {
        end(pid.trim());
        killed.servers += 1;
        return;
    }
    let status = pair.pairflow(&["supervisor", "status", "--json"]).ok().json();
    if let Some(pid) = status["pid"].as_u64() {
        end(&pid.to_string());
        killed.supervisors += 1;
    }
    resume(pair, id);
}

/// Resumes a bubble; one that meanwhile waits for nothing but the approval needs none.
#[track_caller]
fn resume(pair: &Pair, id: &str) {
    let ran = pair.pairflow(&["resume", id]);
    if ran.code != 0 {
        let state = pair.home.status(id)["state"].clone();
        assert_eq!(state, "READY_FOR_APPROVAL", "{}", ran.stderr);
    }
}

fn end(pid: &str) {
    let ended = std::process::Command::new("kill").args(["-9", pid]).status();
    assert!(ended.is_ok_and(|status| status.success()), "process {pid} was to be killed");
}
