//! The only text that pairflow types into a pane.
//!
//! It is a fixed template; only numbers, parsed names and a path of pairflow's own vary. So no text of an agent or a
//! task can get onto a command line or into another agent's input this way.

use std::path::Path;

use pairflow_core::bubble::Notice;
use pairflow_core::facts::Seat;
use pairflow_core::ids::BubbleId;

/// The number that a briefing has in place of a notice's.
pub(super) const BRIEFING: u64 = 0;
/// What precedes the number.
const OPENING: &str = "[pairflow ";

/// Returns the text of a notice; `brief` is the file with the instructions.
pub(super) fn text(notice: &Notice, bubble: &BubbleId, place: (u32, Seat), brief: &Path) -> String {
    let (round, seat) = place;
    let number = notice.number;
    let brief = plain(brief);
    format!(
        "{OPENING}{number}] Round {round}: you are the {seat} of bubble {bubble}. Run `pairflow brief`, which prints \
         {brief}, and do what it says; end your turn with the pairflow command that it names."
    )
}

/// Returns the briefing of an agent whose first turn is still to come.
pub(super) fn standby(bubble: &BubbleId, briefing: &Path) -> String {
    let briefing = plain(briefing);
    format!(
        "{OPENING}{BRIEFING}] You take part in bubble {bubble}. Read {briefing}, then wait: do nothing else until a notice from \
         pairflow gives you the turn."
    )
}

/// Returns the beginning of a notice, by which it is recognised on a screen and in a record.
pub(super) fn mark(number: u64) -> String {
    format!("{OPENING}{number}]")
}

/// Returns the numbers of the notices in a prompt; a busy program joins prompts that arrive meanwhile. The arguments of
/// a slash command, or of a shell line, do not reach the model.
pub(super) fn numbers_in(prompt: &str) -> Vec<u64> {
    if prompt.trim_start().starts_with(['/', '!']) {
        return Vec::new();
    }
    prompt.split(OPENING).skip(1).filter_map(|after| after.split_once(']')?.0.parse().ok()).collect()
}

/// Whether a program's record of its conversation, as lines of JSON, has the notice `number` as a prompt or a line of
/// one. The arguments of a slash command do not count.
pub(super) fn is_recorded(number: u64, record: &str) -> bool {
    let (first, later) = (format!("\"{}", mark(number)), format!("\\n{}", mark(number)));
    record.lines().any(|line| !line.contains("<command-") && (line.contains(&first) || line.contains(&later)))
}

/// Returns a path that is safe to type: control characters become question marks.
fn plain(path: &Path) -> String {
    path.to_string_lossy().chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice() -> Notice {
        Notice { number: 7, agent: "claude".parse().unwrap(), turn: 3, attempts: 0, sent: None }
    }

    #[test]
    fn a_notice_is_found_again_in_what_was_submitted() {
        let bubble = "b1".parse().unwrap();
        let text = text(&notice(), &bubble, (2, Seat::Reviewer), Path::new("/r/brief-claude.md"));
        assert!(text.starts_with("[pairflow 7] Round 2: you are the reviewer of bubble b1. Run `pairflow brief`"));
        assert!(text.contains("/r/brief-claude.md"));
        assert_eq!(numbers_in(&text), [7]);
        assert_eq!(numbers_in(&format!("half a line that a person typed {text}\n[pairflow 8] and so on")), [7, 8]);
        assert!(numbers_in("no notice, though it says pairflow 7]").is_empty());
        assert!(numbers_in("[pairflow x]").is_empty());
        for command in [format!("/clear {text}"), format!(" /mo{text}"), format!("! ls {text}")] {
            assert!(numbers_in(&command).is_empty(), "{command}");
        }
    }

    #[test]
    fn a_record_has_a_notice_as_a_prompt_and_not_behind_a_command() {
        for record in [
            r#"{"type":"user","message":{"role":"user","content":"[pairflow 7] Round 2"}}"#,
            r#"{"a":1}
{"type":"event_msg","payload":{"message":"see this\n[pairflow 7] Round 2"}}"#,
        ] {
            assert!(is_recorded(7, record) && !is_recorded(8, record), "{record}");
        }
        for record in [
            r#"{"content":"<command-name>/clear</command-name>\n<command-args>[pairflow 7] Round 2</command-args>"}"#,
            r#"{"content":"/clear [pairflow 7] Round 2"}"#,
            "",
        ] {
            assert!(!is_recorded(7, record), "{record}");
        }
    }

    #[test]
    fn hostile_paths_bring_no_keys_into_a_pane() {
        let bubble = "b1".parse().unwrap();
        let text = text(&notice(), &bubble, (2, Seat::Reviewer), Path::new("/r\n; rm -rf /\u{1b}[A/x.md"));
        assert!(!text.contains(char::is_control), "{text:?}");
    }
}
