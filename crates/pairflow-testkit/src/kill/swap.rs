//! A process that puts good files into the worktree while a check runs, and the broken ones back afterwards.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::home::{Agent, Home};
use crate::wait::within;

const CODE: &str = "code.txt";
const BUBBLE: &str = "b1";
/// How many checks run on each tree.
const CHECKS: usize = 3;

/// Hands over broken work again and again, while each check of it is shown good files in the worktree.
///
/// Returns how many receipts say that a broken tree passed, and how many checks ran while good files lay in the worktree.
pub fn swap(home: &Home, tries: usize) -> (usize, usize) {
    home.commit(CODE, "good\n", "code that works");
    let marks = home.root().join("marks");
    std::fs::create_dir_all(&marks).expect("the home can be written to");
    let [test, types, lint] = ["test", "types", "lint"].map(|name| check(&marks, name));
    let create = ["create", "--id", BUBBLE, "--task", "x", "--test", &test, "--typecheck", &types, "--lint", &lint];
    home.pairflow(&create).ok();
    home.pairflow(&["start", BUBBLE]).ok();
    home.wait_for_turn(BUBBLE, "codex");
    let (codex, claude) = (home.agent(BUBBLE, "codex"), home.agent(BUBBLE, "claude"));
    let swapper = Swapper::start(&marks, codex.worktree.join(CODE));
    for n in 0..tries.div_ceil(CHECKS) {
        hand_over(home, &codex, &claude, n);
    }
    (wrong(home), swapper.end())
}

/// A check that waits for the swap, looks, and waits until the files are as before.
fn check(marks: &Path, name: &str) -> String {
    let at = |step: &str| marks.join(format!("{name}-{step}")).display().to_string();
    let wait =
        |step: &str| format!("n=0; while [ ! -e '{}' ] && [ $n -lt 400 ]; do sleep 0.005; n=$((n+1)); done", at(step));
    format!(
        "rm -f '{}' '{}'; touch '{}'; {}; grep -q good {CODE}; said=$?; touch '{}'; {}; exit $said",
        at("swapped"),
        at("restored"),
        at("runs"),
        wait("swapped"),
        at("looked"),
        wait("restored"),
    )
}

/// Answers the marks of the checks until it is dropped.
struct Swapper {
    over: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<usize>,
}

impl Swapper {
    fn start(marks: &Path, code: PathBuf) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (marks, stop) = (marks.to_owned(), over.clone());
        let thread = std::thread::spawn(move || {
            let (mut broken, mut swapped) = (None, 0);
            while !stop.load(Ordering::Relaxed) {
                let answered = || answer(&marks, &code, &mut broken).then_some(());
                let full = within(Duration::from_millis(100), answered).is_some() && broken.is_none();
                swapped += usize::from(full);
            }
            swapped
        });
        Self { over, thread }
    }

    /// Ends, and says how often a check was shown good files and then the broken ones again.
    fn end(self) -> usize {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// Does what a check waits for, if one does: good files in, or the broken ones back.
fn answer(marks: &Path, code: &Path, broken: &mut Option<Vec<u8>>) -> bool {
    let mut answered = false;
    for name in ["test", "types", "lint"] {
        let at = |step: &str| marks.join(format!("{name}-{step}"));
        if std::fs::remove_file(at("runs")).is_ok() {
            *broken = std::fs::read(code).ok();
            answered = std::fs::write(code, "good\n").is_ok() && std::fs::write(at("swapped"), "").is_ok();
        }
        if std::fs::remove_file(at("looked")).is_ok() {
            let before = broken.take().unwrap_or_default();
            answered = std::fs::write(code, before).is_ok() && std::fs::write(at("restored"), "").is_ok();
        }
    }
    answered
}

/// One more broken tree is handed over. Where it comes to a review, the reviewer sends it back.
fn hand_over(home: &Home, codex: &Agent<'_>, claude: &Agent<'_>, n: usize) {
    codex.write(CODE, &format!("broken {n}\n"));
    codex.pairflow(&["pass", "--summary", &format!("try {n}")]).ok();
    let open = |status: &Value| status["turn_state"] == "open" && receipts(home).len() >= (n + 1) * CHECKS;
    let status = home.wait_for(BUBBLE, open);
    if status["active_agent"] == "claude" {
        claude.pairflow(&["pass", "--summary", "no", "--finding", "P1:it is broken"]).ok();
        home.wait_for_turn(BUBBLE, "codex");
    }
}

/// The receipts of trees that were handed over: the tree, and whether the check passed.
fn receipts(home: &Home) -> Vec<(String, bool)> {
    let log = std::fs::read_to_string(home.log(BUBBLE)).expect("the bubble has a log");
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let receipts = lines.filter_map(|line| line["payload"].get("receipt").cloned());
    let of_work = receipts.filter(|receipt| receipt["place"] != "base");
    let tree = |receipt: &Value| receipt["tree"].as_str().unwrap_or_default().to_owned();
    of_work.map(|receipt| (tree(&receipt), receipt["outcome"]["result"] == "passed")).collect()
}

/// How many receipts say that a tree passed whose code is broken.
fn wrong(home: &Home) -> usize {
    let broken = |tree: &str| !home.git(&["cat-file", "blob", &format!("{tree}:{CODE}")]).contains("good");
    receipts(home).iter().filter(|(tree, passed)| *passed && broken(tree)).count()
}
