//! Lines about agents as programs in panes: what they read, and what becomes of them.
//!
//! ```text
//! given panes                     given turns 60                    notice sent         notice undelivered 'why'
//! codex: reads                    codex: is active                  codex: stops        codex: runs 's1'
//! codex: wants 'Bash rm'          codex: shows 'trust'              codex: fails 'why'  codex: limited 'why' [for 2h]
//! codex: holds 'Bash rm'          wait 6m active                    codex: loses its conversation
//!
//! An agent without a notice `reads` its brief.
//! ```

use pairflow_core::bubble::{Command, Hindrance};
use pairflow_core::ids::AgentId;
use pairflow_core::time::Timestamp;

use super::lines::millis;
use super::run::{ScriptRun, Sent};
use super::words::Words;

impl ScriptRun {
    /// What an agent's program does.
    pub(super) fn program(&mut self, agent: AgentId, what: &str, words: &mut Words) -> Sent {
        let notice = self.state.notice_for(&agent).map_or(0, |notice| notice.number);
        let command = match what {
            "reads" => Command::Acknowledged { agent, notice },
            "is" if words.take("active") => Command::Active { agent },
            "stops" => Command::Stopped { agent },
            "runs" => {
                // An agent without the turn is started for none.
                let turn = self.state.phase.turn().filter(|turn| turn.agent == agent);
                let (turn, seat) = (turn.map_or(0, |turn| turn.number), turn.map(|turn| turn.seat));
                Command::AgentSession { agent, turn, seat, session: words.quoted() }
            }
            "loses" if words.take("its") && words.take("conversation") => {
                let seat = self.state.presence.sessions.get(&agent).and_then(|session| session.seat);
                Command::AgentSession { agent, turn: 0, seat, session: None }
            }
            "wants" => hindered(agent, Hindrance::Permission, words),
            "holds" => hindered(agent, Hindrance::Permit, words),
            "shows" => hindered(agent, Hindrance::Dialog, words),
            "fails" => hindered(agent, Hindrance::Failure, words),
            "limited" => {
                let what = words.need_quoted("what it says");
                let until =
                    words.take("for").then(|| Timestamp::from_millis(self.world.now.ts.millis() + millis(words)));
                Command::Hindered { agent, by: Hindrance::Limit { until }, what }
            }
            _ => words.reject(
                "pass, converged, asks, reads, is active, stops, runs, loses its conversation, wants, holds, shows, \
                 fails or limited",
            ),
        };
        self.send(&command)
    }

    /// What the supervisor does with the notice that is out.
    pub(super) fn notice(&mut self, words: &mut Words) -> Sent {
        let notice = self.state.presence.outbox.first().map_or(0, |notice| notice.number);
        let command = match words.need("sent or undelivered").as_str() {
            "sent" => Command::Sent { notice },
            "undelivered" => Command::Undelivered { notice, why: words.need_quoted("why") },
            _ => words.reject("sent or undelivered"),
        };
        self.send(&command)
    }
}

fn hindered(agent: AgentId, by: Hindrance, words: &mut Words) -> Command {
    Command::Hindered { agent, by, what: words.need_quoted("what") }
}
