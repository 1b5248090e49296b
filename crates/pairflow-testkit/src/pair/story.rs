//! A bubble's whole life with both real CLIs: briefing, first cut, finding, fix, clean review, seat swap, a question to
//! the person, second clean review, approval, commit. Every step can be repeated without harm, as after a crash.

use super::minds::{Minds, Turn};
use super::place::Pair;
use crate::model::{Kind, Reply};

/// The finding of the first review.
pub const FINDING: &str = "no rollback when the write fails: 50% of \"rows\" stay, größer 漢字";
/// What the second reviewer asks the person.
pub const QUESTION: &str = "Is larger better?";
/// What the person answers.
pub const ANSWER: &str = "Ja, größer ist besser: $HOME, #{pane_id} and `id` stay as they are";

/// What both models do in a story, whichever bubble it is.
pub fn minds() -> Minds {
    Minds::new(|turn: &Turn, kind| steps(turn, kind))
}

fn steps(turn: &Turn, kind: Kind) -> Vec<Reply> {
    let read = || Reply::shell("pairflow brief");
    let say = |words: &str| Reply::shell(format!("pairflow {words}"));
    match (kind, turn.round, turn.seat.as_str()) {
        (Kind::Codex, 1, "implementer") => {
            vec![read(), Reply::shell("echo one > work.txt"), say("pass --summary 'first cut'")]
        }
        (Kind::Claude, 1, "reviewer") => {
            // A file of pairflow's own is read without a question, wherever it lies.
            let brief = Reply::read(&turn.brief);
            vec![brief, read(), say(&format!("pass --summary 'looked at it' --finding 'P1:{FINDING}'"))]
        }
        (Kind::Codex, 2, "implementer") => {
            vec![
                read(),
                Reply::shell("printf 'one\\ntwo\\n' > work.txt"),
                say("pass --summary 'rolled back' --fixed F1"),
            ]
        }
        (Kind::Claude, 2, "reviewer") => vec![read(), say("pass --summary 'all is well' --no-findings")],
        // Before the person has answered it asks; the brief that it reads afterwards holds the answer.
        (Kind::Codex, 3, "reviewer") => vec![
            read(),
            Reply::shell(format!(
                "if pairflow brief | grep -q 'besser:'; then pairflow pass --summary agreed --no-findings; \
                 else pairflow ask-human --question '{QUESTION}'; fi"
            )),
        ],
        _ => Vec::new(),
    }
}

/// Lives a whole story in the bubble `id`.
///
/// # Panics
/// If anything of it does not happen, with the log and every screen.
#[track_caller]
pub fn live(pair: &Pair, id: &str) {
    pair.start(id, "Write work.txt\n\n## Acceptance criteria\n- it rolls back");
    let asked = pair.wait_for_state(id, "WAITING_HUMAN");
    assert_eq!(asked["questions"][0]["question"], QUESTION, "{asked:#}\n{}", pair.screens(id));
    pair.pairflow(&["reply", id, "--message", ANSWER]).ok();
    pair.wait_for_state(id, "READY_FOR_APPROVAL");
    finish(pair, id);
    // Briefings and notices are no messages of the protocol.
    let count = |kind: &str| pair.count(id, kind);
    let said = ["TASK", "PASS", "HUMAN_QUESTION", "HUMAN_REPLY", "CONVERGENCE", "APPROVAL_REQUEST"].map(count);
    assert_eq!(said, [1, 5, 1, 1, 1, 1], "{}", pair.pairflow(&["log", id]).stdout);
    for (kind, text) in [(Kind::Codex, FINDING), (Kind::Codex, ANSWER), (Kind::Claude, "it rolls back")] {
        assert!(pair.has_read(kind, text), "{kind:?} never read {text:?} verbatim");
    }
}

/// Lives whole stories in all of `ids` at the same time, after a first one: of several Codex in a new home all but one
/// fail, because each wants to make its database.
///
/// # Panics
/// If one of them does.
pub fn live_together(pair: &Pair, ids: &[String]) {
    live(pair, "before-all");
    std::thread::scope(|scope| {
        let lives: Vec<_> = ids.iter().map(|id| scope.spawn(move || live(pair, id))).collect();
        for life in lives {
            life.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause));
        }
    });
}

/// Approves and commits what the agents have made, and looks at it.
#[track_caller]
pub fn finish(pair: &Pair, id: &str) {
    pair.pairflow(&["approve", id]).ok();
    pair.pairflow(&["commit", id, "--message", "work"]).ok();
    pair.wait_for_state(id, "DONE");
    assert_eq!(pair.home.git(&["show", &format!("bubble/{id}:work.txt")]), "one\ntwo");
    pair.pairflow(&["verify", id]).ok();
    let socket = pair.home.repo.join(format!(".pairflow/runtime/{id}/tmux.sock"));
    // The programs are told to end, and take a moment.
    pair.wait_for(id, "the end of everything that ran for it", |_| pair.processes(id).is_empty() && !socket.exists());
}
