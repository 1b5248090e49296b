//! The tmux driver with toy agents: nobody speaks for another one, and nothing that an agent started outlives it.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

use pairflow_engine::engine::ControlDir;
use pairflow_testkit::toys::ToyBubble;
use pairflow_testkit::wait::eventually_or;
use serde_json::Value;

use crate::support::bubbles::toys;

/// The implementer reviews its own work, in the name and through the socket of the reviewer, as soon as that has the turn.
const PLAY_FORGED: &str = r#"
forged="pass --summary forged --no-findings"
bare() { env -i PATH="$PATH" PAIRFLOW_SOCKET="$theirs" PAIRFLOW_AGENT=claude "$@"; }
act() {
  if [ "$seat" = reviewer ]; then touch "$here/reviewing"; gate read; explain | pairflow pass --summary 'read it' --no-findings --explain -; return; fi
  briefed
  echo one >work.txt
  pairflow pass --summary 'first cut'
  gate reviewing
  theirs=${PAIRFLOW_SOCKET/seat-codex/seat-claude}
  [ -S "$theirs" ] || echo "there is no $theirs"
  PAIRFLOW_SOCKET=$theirs PAIRFLOW_AGENT=claude pairflow $forged; echo "plain ended with $?"
  bare pairflow $forged; echo "bare ended with $?"
  bare setsid -f bash -c "until [ -e '$here/alone' ]; do sleep 0.05; done; pairflow $forged >'$here/stray' 2>&1; echo \$? >>'$here/stray'"
  touch "$here/alone"
  until [ -s "$here/stray" ] && tail -n1 "$here/stray" | grep -q '^[0-9]'; do sleep 0.05; done
  echo "stray ended with $(tail -n1 "$here/stray")"
  echo '{"hook_event_name":"Stop","session_id":"x"}' | PAIRFLOW_SOCKET=$theirs pairflow hook Stop; echo "hook ended with $?"
  echo all said
  gate never
}
"#;

/// The lines of a bubble's log.
fn log(bubble: &ToyBubble<'_>) -> Vec<Value> {
    let path = bubble.repo.join(".pairflow/bubbles").join(&bubble.id).join("transcript.ndjson");
    let text = std::fs::read_to_string(path).unwrap();
    // A line that is being appended right now is not there yet.
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn passes_of(bubble: &ToyBubble<'_>, agent: &str) -> usize {
    log(bubble).iter().filter(|line| line["type"] == "PASS" && line["sender"] == agent).count()
}

/// What `party` was warned of: the command and the reason of each warning.
fn warned(bubble: &ToyBubble<'_>, party: &str) -> Vec<(String, String)> {
    let mut lines = log(bubble);
    lines.retain(|line| line["type"] == "PROTOCOL_WARNING" && line["recipient"] == party);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    lines.iter().map(|line| (text(&line["payload"]["command"]), text(&line["payload"]["reason"]))).collect()
}

#[test]
fn no_agent_speaks_through_the_socket_of_another() {
    let machine = toys(PLAY_FORGED, "");
    let bubble = machine.start("forged");
    let said = || std::fs::read_to_string(machine.beside("said")).ok().filter(|said| said.contains("all said"));
    let said = eventually_or("the end of its attempts", || bubble.everything(), said);
    for line in ["plain ended with 1", "bare ended with 1", "stray ended with 1", "hook ended with 0"] {
        assert!(said.contains(line), "{line:?} in {said}");
    }
    assert!(said.contains("this is the socket of claude, and the caller belongs to codex"), "{said}");
    assert!(!said.contains("there is no "), "{said}");
    assert_eq!(passes_of(&bubble, "claude"), 0, "{}", bubble.everything());
    let reason = "codex has called through the socket of claude of bubble forged".to_owned();
    let told = warned(&bubble, "codex");
    assert_eq!(told, [("pass".to_owned(), reason.clone()), ("hook".to_owned(), reason)]);
    assert_eq!(warned(&bubble, "claude"), []);
    // Its own reviewer is heard.
    machine.open("read");
    eventually_or("the real review", || bubble.everything(), || (passes_of(&bubble, "claude") == 1).then_some(()));
    bubble.stop();
}

#[test]
fn no_check_speaks_through_the_socket_of_an_agent() {
    let machine = toys("act() { briefed; echo one >work.txt; pairflow pass --summary cut; gate never; }", "");
    let socket =
        ControlDir::of(&machine.home.repo).seat_socket(&"checked".parse().unwrap(), &"claude".parse().unwrap());
    let (probe, heard) = (machine.beside("probe.sh"), machine.beside("heard"));
    let program = env!("CARGO_BIN_EXE_pairflow");
    let forged = format!("PAIRFLOW_SOCKET='{}' {program} pass --summary forged --no-findings", socket.display());
    let probed = format!("test -S '{}' || echo none; {forged}; echo $?; env -i {forged}; echo $?", socket.display());
    std::fs::write(&probe, format!("({probed}) >'{}' 2>&1\n", heard.display())).unwrap();
    let check = format!("sh '{}'", probe.display());
    let create = ["create", "--id", "checked", "--task", "Write", "--test", &check, "--yes", "--start"];
    machine.home.pairflow(&create).ok();
    let bubble = ToyBubble { machine: &machine, repo: machine.home.repo.clone(), id: "checked".to_owned() };
    let review = bubble.wait_for_note("claude", 1);
    assert_eq!(review.seat, "reviewer");
    let heard = std::fs::read_to_string(heard).unwrap();
    let refused = heard.matches("this is the socket of claude, and the caller belongs to `test: sh").count();
    assert_eq!((refused, heard.lines().filter(|line| *line == "1").count()), (2, 2), "{heard}");
    assert_eq!(passes_of(&bubble, "claude"), 0, "{}", bubble.everything());
    let told = warned(&bubble, "orchestrator");
    assert!(matches!(&told[..], [(verb, why)] if verb == "pass" && why.contains("the socket of claude")), "{told:?}");
    bubble.stop();
}

/// Starts what neither the group nor the environment of its program tells of, and says so.
const PLAY_STRAY: &str = r#"
env -i PATH="$PATH" setsid -f sh -c 'trap "" HUP TERM; echo $$ >>"$1"; exec sleep 600 >/dev/null 2>&1 </dev/null' sh "$here/strays.$agent"
handed="shell_environment_policy.set.PF_PROCESS_MARK=\"$PF_PROCESS_MARK\""
[ -n "$PF_PROCESS_MARK" ] && printf '%s\n' "$@" | grep -qxF "$handed" && touch "$here/handed.$agent"
act() { gate never; }
"#;

/// The stray processes of `agent`, once there are `many`.
fn strays(bubble: &ToyBubble<'_>, agent: &str, many: usize) -> Vec<String> {
    let read = || {
        let text = std::fs::read_to_string(bubble.machine.beside(&format!("strays.{agent}"))).ok()?;
        Some(text.lines().map(str::to_owned).collect::<Vec<_>>()).filter(|pids| pids.len() == many)
    };
    eventually_or("what it has started", || bubble.everything(), read)
}

fn alive(pid: &str) -> bool {
    std::fs::read(Path::new("/proc").join(pid).join("cmdline")).is_ok_and(|words| !words.is_empty())
}

#[test]
fn what_hides_from_its_program_ends_with_it() {
    let machine = toys(PLAY_STRAY, "");
    let bubble = machine.start("stray");
    bubble.wait_for_note("codex", 0);
    bubble.wait_for_note("claude", 0);
    let first = strays(&bubble, "codex", 1).remove(0);
    let other = strays(&bubble, "claude", 1).remove(0);
    assert!(alive(&first) && alive(&other));
    assert!(machine.beside("handed.codex").exists(), "the shells of codex get the mark whatever else they get");
    bubble.run("restart", &[]).ok();
    bubble.wait_for_note("codex", 1);
    assert!(!alive(&first), "it is gone before the next program begins");
    let second = strays(&bubble, "codex", 2).remove(1);
    let left = || [&second, &other].iter().any(|pid| alive(pid));
    assert!(left());
    bubble.stop();
    assert!(!left(), "nothing of a bubble that is stopped is left");
}

/// Fails at once, and names a pipe as the record of its conversation.
const PLAY_PIPE: &str = r#"
act() { mkfifo "$here/pipe"; hook StopFailure ",\"error\":\"boom\",\"transcript_path\":\"$here/pipe\""; gate never; }
"#;

#[test]
fn a_record_that_is_a_pipe_keeps_nobody_waiting() {
    let machine = toys(PLAY_PIPE, "");
    let bubble = machine.start("pipe");
    bubble.wait_for_state("WAITING_HUMAN");
    assert!(machine.beside("pipe").exists());
    bubble.stop();
}

#[test]
fn what_nobody_has_launched_is_gone_with_the_bubble() {
    let machine = toys("act() { gate never; }", "");
    let bubble = machine.start("over");
    bubble.wait_for_note("codex", 0);
    bubble.wait_for_note("claude", 0);
    let runtime = bubble.repo.join(".pairflow/runtime/over");
    let left: [PathBuf; 2] = [runtime.join("codex.launch"), runtime.join("claude.launch.1234")];
    for path in &left {
        std::fs::write(path, "{\"env\": [[\"KEY\", \"secret\"]]}").unwrap();
    }
    bubble.stop();
    let gone = || left.iter().all(|path| !path.exists()).then_some(());
    eventually_or("the end of what holds secrets", || format!("{left:?}"), gone);
    let shown = Command::new("grep").args(["-rl", "secret"]).arg(&runtime).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&shown.stdout), "");
}
