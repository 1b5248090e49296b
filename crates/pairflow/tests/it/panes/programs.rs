//! The tmux driver with toy agents: what an agent cannot start, what is left of a bubble that is over, and whose
//! environment its programs get.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use pairflow_core::bubble::Command as Verb;
use pairflow_engine::clock::SystemClock;
use pairflow_engine::engine::{Engine, UserDirs};
use pairflow_engine::store::RealDisk;
use pairflow_testkit::toys::{Machine, ToyBubble};
use pairflow_testkit::wait::eventually_or;

use crate::support::bubbles::toys;

/// Programs that do not listen when they are asked to end, and neither do their children.
const PLAY_DEAF: &str = "trap '' TERM HUP INT\nact() { gate never; }";

/// Calls what would start or write anything, without all that tells of pairflow but its parents.
const PLAY_LAUNCH: &str = r#"
bare() { env -i PATH="$PATH" HOME="$HOME" "$@"; echo "$1 $2 $3 ended with $?"; }
act() {
  local file="$PAIRFLOW_REPO/.pairflow/runtime/$bubble/evil.launch"
  (umask 077; printf '{"argv":["/usr/bin/touch","%s/pwned"],"env":[],"cwd":"/"}' "$here" >"$file")
  bare pairflow launch "$file"
  pairflow launch "$file"; echo "launch ended with $?"
  pairflow man "$here/pages"; echo "man ended with $?"
  pairflow export --html --out "$here/page.html" --force; echo "export ended with $?"
  pairflow export --html >/dev/null; echo "bare export ended with $?"
  pairflow export --html --out - >/dev/null; echo "shown export ended with $?"
  echo all said
  gate never
}
"#;

#[test]
fn an_agent_starts_no_program_and_writes_no_file_through_pairflow() {
    let machine = toys(PLAY_LAUNCH, "");
    let bubble = machine.start("guarded");
    let said = || std::fs::read_to_string(machine.beside("said")).ok().filter(|said| said.contains("all said"));
    let said = eventually_or("the end of its attempts", || bubble.everything(), said);
    let launch = bubble.repo.join(".pairflow/runtime/guarded/evil.launch");
    for line in [
        format!("pairflow launch {} ended with 77", launch.display()),
        "\nlaunch ended with 77".to_owned(),
        "\nman ended with 77".to_owned(),
        "\nexport ended with 77".to_owned(),
        "\nbare export ended with 77".to_owned(),
        "\nshown export ended with 0".to_owned(),
    ] {
        assert!(said.contains(&line), "{line:?} in {said}");
    }
    for name in ["pwned", "pages", "page.html"] {
        assert!(!machine.beside(name).exists(), "{name}");
    }
    bubble.stop();
}

#[test]
fn stop_and_delete_return_when_programs_that_do_not_listen_are_gone() {
    let machine = toys(PLAY_DEAF, "");
    let (stopped, deleted) = (machine.start("stopped"), machine.start("deleted"));
    let servers: Vec<_> = [&stopped, &deleted].map(server).to_vec();
    stopped.run("stop", &["--yes"]).ok();
    assert_eq!(stopped.processes(), Vec::<String>::new());
    assert!(!alive(&servers[0]));
    deleted.run("delete", &["--yes"]).ok();
    assert_eq!(deleted.processes(), Vec::<String>::new());
    assert!(!alive(&servers[1]));
    assert!(!deleted.repo.join(".pairflow/runtime/deleted").exists());
}

/// Waits until both programs run, and returns the process of the tmux server.
fn server(bubble: &ToyBubble<'_>) -> String {
    bubble.wait_for_note("codex", 0);
    bubble.wait_for_note("claude", 0);
    bubble.tmux(&["display-message", "-p", "#{pid}"]).unwrap()
}

/// Whether a process runs; one that only waits to be taken notice of does not.
fn alive(pid: &str) -> bool {
    std::fs::read(Path::new("/proc").join(pid).join("cmdline")).is_ok_and(|words| !words.is_empty())
}

/// Has the bubble cancelled by somebody who does not live to end its programs; returns its tmux server.
fn orphaned(machine: &Machine, bubble: &ToyBubble<'_>) -> String {
    let server = server(bubble);
    let status = machine.home.pairflow(&["supervisor", "status", "--json"]).ok().json();
    let pid = status["pid"].as_u64().unwrap().to_string();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    eventually_or("the end of the supervisor", || bubble.everything(), || (!alive(&pid)).then_some(()));
    let root = machine.home.root().canonicalize().unwrap();
    let dir = |name: &str| {
        let below = match name {
            "HOME" => "home",
            "XDG_RUNTIME_DIR" => "run",
            "XDG_STATE_HOME" => "state",
            _ => "config",
        };
        Some(root.join(below).into())
    };
    let engine = Engine::new(Arc::new(RealDisk), Arc::new(SystemClock), UserDirs::find(dir).unwrap());
    let handle = engine.bubble(&bubble.repo, &bubble.id.parse().unwrap()).unwrap();
    handle.apply(&Verb::Stop { reason: "a test".to_owned() }).unwrap();
    assert_eq!(bubble.status()["state"], "CANCELLED");
    assert!(!bubble.processes().is_empty() && alive(&server), "its programs know nothing of it");
    server
}

#[test]
fn the_next_supervisor_ends_what_is_left_of_a_bubble_that_is_over() {
    let machine = toys("act() { gate never; }", "");
    let bubble = machine.start("left");
    let server = orphaned(&machine, &bubble);
    let warned = machine.home.pairflow(&["doctor"]);
    assert!(warned.stdout.contains("bubble left has ended, but 2 programs of it still run"), "{warned:?}");
    machine.home.pairflow(&["supervise"]).ok();
    let gone = || (bubble.processes().is_empty() && !alive(&server)).then_some(());
    eventually_or("the end of its programs", || bubble.everything(), gone);
    let warned = machine.home.pairflow(&["doctor"]);
    assert!(!warned.stdout.contains("still run"), "{warned:?}");
}

#[test]
fn delete_ends_what_is_left_of_a_bubble_that_is_over() {
    let machine = toys("act() { gate never; }", "");
    let bubble = machine.start("left");
    let server = orphaned(&machine, &bubble);
    bubble.run("delete", &["--yes"]).ok();
    assert_eq!(bubble.processes(), Vec::<String>::new());
    assert!(!alive(&server));
}

/// Notes which PATH each program got; the implementer asks first.
const PLAY_PATH: &str = r#"
echo "$PATH" >>"$here/path.$agent"
act() {
  if [ "$seat" = implementer ]; then
    if [ ! -e "$here/asked" ]; then touch "$here/asked"; pairflow ask-human --question 'Which port?'; return; fi
    briefed; echo one >work.txt; pairflow pass --summary 'worked on it'
  else gate never; fi
}
"#;

#[test]
fn an_answer_from_another_shell_does_not_change_what_agents_get() {
    let machine = toys(PLAY_PATH, "");
    let bubble = machine.start("home");
    bubble.wait_for_state("WAITING_HUMAN");
    bubble.wait_for_note("claude", 0);
    let elsewhere = |verb: &[&str]| {
        let mut command = machine.home.command(&[&[verb[0], &bubble.id], &verb[1..]].concat());
        let path = std::env::var("PATH").unwrap();
        command.current_dir(&bubble.repo).env("PATH", format!("/elsewhere:{path}"));
        machine.home.finish(command).ok();
    };
    elsewhere(&["reply", "--message", "8080"]);
    // The review is a program of its own.
    let path = |agent: &str, nth: usize| {
        let text = std::fs::read_to_string(machine.beside(&format!("path.{agent}"))).unwrap_or_default();
        text.lines().nth(nth).map(str::to_owned)
    };
    let review = eventually_or("the program of the review", || bubble.everything(), || path("claude", 1));
    assert!(!review.contains("/elsewhere"), "{review}");
    bubble.wait_for_note("claude", 1);
    elsewhere(&["restart"]);
    let again = eventually_or("the program after the restart", || bubble.everything(), || path("claude", 2));
    assert!(again.contains("/elsewhere"), "{again}\n{}", bubble.everything());
    bubble.stop();
}

#[test]
fn a_launch_file_that_nobody_reads_does_not_stay() {
    let machine = toys("act() { gate never; }", "");
    let bubble = machine.start("unread");
    server(&bubble);
    let worktree = PathBuf::from(bubble.status()["worktree"].as_str().unwrap());
    assert!(worktree.is_dir(), "{}", bubble.status());
    let aside = worktree.with_file_name("aside");
    std::fs::rename(&worktree, &aside).unwrap();
    bubble.run("restart", &[]).ok();
    bubble.wait_for_state("WAITING_HUMAN");
    let left = std::fs::read_dir(bubble.repo.join(".pairflow/runtime/unread")).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(!left.iter().any(|name| name.contains(".launch")), "{left:?}");
    std::fs::rename(&aside, &worktree).unwrap();
    bubble.run("stop", &["--yes"]).ok();
}
