//! Each way in which a log can arrive, with each trigger: nothing of it runs, nothing is removed, and the person is told
//! what to do. What they are told is then done, and has to work.
//!
//! Every arrival meets every trigger. Each log would have a command run or a directory removed by a pairflow that
//! believes it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pairflow_testkit::home::{Home, Ran};
use pairflow_testkit::wait::eventually;
use serde_json::json;

use super::evil::{Attacker, DOOMED, EVIL, canary, len_before_workspace, roll_back, transcript};
use super::support::insist_on_root;
use crate::support::bubbles::home;

/// How a log arrives in a repository of the victim's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrival {
    Clone,
    PullRequest,
    Copy,
    Moved,
    Archive,
    OtherUser,
    LinkedControl,
    RolledBack,
}

/// What is done there then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trigger {
    New,
    Start,
    SuperviseOnce,
    LiveSupervisor,
    RefusedResume,
    ForgedWake,
    Delete,
    List,
}

const ARRIVALS: [Arrival; 8] = [
    Arrival::Clone,
    Arrival::PullRequest,
    Arrival::Copy,
    Arrival::Moved,
    Arrival::Archive,
    Arrival::OtherUser,
    Arrival::LinkedControl,
    Arrival::RolledBack,
];

const TRIGGERS: [Trigger; 8] = [
    Trigger::New,
    Trigger::Start,
    Trigger::SuperviseOnce,
    Trigger::LiveSupervisor,
    Trigger::RefusedResume,
    Trigger::ForgedWake,
    Trigger::Delete,
    Trigger::List,
];

/// A user that no test runs as.
const NOBODY: u32 = 65_534;

#[test]
fn nothing_foreign_acts() {
    insist_on_root();
    let attacker = Attacker::new();
    let failed: Vec<String> = std::thread::scope(|scope| {
        let attacker = &attacker;
        let rows: Vec<_> = ARRIVALS.map(|arrival| scope.spawn(move || row(arrival, attacker))).into();
        rows.into_iter().flat_map(|row| row.join().expect("every row is met")).collect()
    });
    // Each arrival also has its advice followed.
    let tries = ARRIVALS.len() * (TRIGGERS.len() + 1);
    assert!(failed.is_empty(), "{} of {tries} tries failed:\n{}", failed.len(), failed.join("\n"));
}

/// Meets one arrival with every trigger, and returns what is wrong.
fn row(arrival: Arrival, attacker: &Attacker) -> Vec<String> {
    let victim = Victim::new(arrival, attacker);
    let cell = |trigger| {
        let problems = victim.meets(trigger);
        (!problems.is_empty()).then(|| format!("{arrival:?} x {trigger:?}: {}", problems.join("; ")))
    };
    let mut failed: Vec<String> = TRIGGERS.into_iter().filter_map(cell).collect();
    failed.extend(victim.follows_the_advice().map(|problem| format!("{arrival:?}, as advised: {problem}")));
    victim.restore();
    failed
}

/// A person with a home, who is made to meet foreign logs.
struct Victim {
    home: Home,
    root: PathBuf,
    arrival: Arrival,
    /// How long the log of one of the victim's own bubbles was when it owed its check.
    owing: usize,
}

/// A repository with foreign logs.
struct Scene {
    repo: PathBuf,
    /// Where the repository was before it was moved.
    from: Option<PathBuf>,
    /// What must be there afterwards as it was before.
    kept: Vec<(PathBuf, Vec<u8>)>,
}

impl Victim {
    fn new(arrival: Arrival, attacker: &Attacker) -> Self {
        let home = home();
        let root = home.root().canonicalize().unwrap();
        let mut victim = Self { home, root, arrival, owing: 0 };
        victim.work_elsewhere();
        match arrival {
            Arrival::Moved => victim.make_own(),
            Arrival::Copy | Arrival::RolledBack => {
                victim.make_own();
                victim.go_on();
            }
            _ => victim.be_attacked(attacker),
        }
        victim.home.pairflow(&["supervisor", "stop"]).ok();
        let _ = std::fs::remove_file(victim.canary());
        victim.sh("mkdir saved && cp -a work state saved/");
        victim
    }

    /// Makes a running bubble in another repository: a supervisor has something of its own to look after.
    fn work_elsewhere(&self) {
        let base = self.root.join("work/base");
        self.home.git(&["clone", "--quiet", ".", base.to_str().unwrap()]);
        let create = ["create", "--id", "own", "--task", "x", "--test", "true", "--yes", "--start"];
        self.home.pairflow_in(&base, &create).ok();
    }

    /// Makes the bubbles with the victim's own pairflow.
    fn make_own(&self) {
        self.home.configure(&format!("[commands]\nsetup = '{}'\n", canary("setup")));
        for id in [EVIL, DOOMED] {
            let create = ["create", "--id", id, "--task", "x", "--test", &canary("check"), "--yes", "--start"];
            self.home.pairflow(&create).ok();
            self.home.wait_for_turn(id, "codex");
        }
        self.home.configure("");
        let agents = [EVIL, DOOMED].map(|id| self.home.agent(id, "codex"));
        self.home.pairflow(&["supervisor", "stop"]).ok();
        for codex in agents {
            codex.write("work.txt", "hours of work\n");
            // Nobody looks after it now: the check is owed from here on.
            codex.pairflow(&["pass", "--summary", "done"]).ok();
        }
    }

    /// Notes how a log was when the check was owed, and lets the bubbles go on.
    fn go_on(&mut self) {
        self.owing = std::fs::read(transcript(&self.home.repo, EVIL)).unwrap().len();
        self.home.pairflow(&["supervise", "--once"]).ok();
    }

    /// Lets the attacker prepare a repository.
    fn be_attacked(&self, attacker: &Attacker) {
        let (attack, precious) = (self.root.join("attack/repo"), self.root.join("work/precious"));
        self.home.git(&["clone", "--quiet", ".", attack.to_str().unwrap()]);
        std::fs::create_dir_all(&precious).unwrap();
        std::fs::write(precious.join("work.txt"), "hours of work\n").unwrap();
        let linked = self.arrival == Arrival::LinkedControl;
        let control = attack.join(if linked { "control" } else { ".pairflow" });
        attacker.plant(&control, &self.lands_at(), &precious);
        if linked {
            std::os::unix::fs::symlink("control", attack.join(".pairflow")).unwrap();
        }
        self.home.git_in(&attack, &["add", "--force", "."]);
        self.home.git_in(&attack, &["commit", "--quiet", "-m", "a useful change"]);
    }

    /// Where the repository with the foreign logs will be.
    fn lands_at(&self) -> PathBuf {
        let name = match self.arrival {
            Arrival::Clone | Arrival::LinkedControl => "clone",
            Arrival::PullRequest | Arrival::OtherUser | Arrival::RolledBack => "repo",
            Arrival::Copy => "copy",
            Arrival::Moved => "moved",
            Arrival::Archive => "unpacked/repo",
        };
        self.root.join("work").join(name)
    }

    /// Lets everything be as it was before the first arrival.
    fn restore(&self) {
        self.sh("rm -rf work state && cp -a saved/work saved/state .");
        let _ = std::fs::remove_file(self.canary());
    }

    /// Lets the foreign logs arrive where nothing has happened yet.
    fn arrive(&self) -> Scene {
        self.restore();
        let repo = self.lands_at();
        self.sh(match self.arrival {
            Arrival::Clone | Arrival::LinkedControl => "git clone --quiet attack/repo work/clone",
            Arrival::PullRequest => {
                "cd work/repo && git fetch --quiet ../../attack/repo main && git checkout --quiet -b pr FETCH_HEAD"
            }
            Arrival::Copy => "cp -a work/repo work/copy",
            Arrival::Moved => "mv work/repo work/moved",
            Arrival::Archive => "mkdir work/unpacked && tar -C attack -cf a.tar repo && tar -C work/unpacked -xf a.tar",
            Arrival::OtherUser => "cp -a attack/repo/.pairflow work/repo/",
            Arrival::RolledBack => ":",
        });
        match self.arrival {
            // The copy was made when the check was owed; the original has gone on since.
            Arrival::Copy => roll_back(&transcript(&repo, EVIL), self.owing),
            Arrival::RolledBack => {
                roll_back(&transcript(&repo, EVIL), self.owing);
                let doomed = transcript(&repo, DOOMED);
                roll_back(&doomed, len_before_workspace(&doomed, DOOMED));
            }
            Arrival::OtherUser => self.sh(&format!("chown -R {NOBODY}:{NOBODY} work/repo/.pairflow/bubbles/*")),
            _ => {}
        }
        let from = (self.arrival == Arrival::Moved).then(|| self.root.join("work/repo"));
        Scene { kept: self.kept(&repo), repo, from }
    }

    /// What must stay: the foreign logs themselves, and the files that they name.
    fn kept(&self, repo: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let logs = [EVIL, DOOMED].map(|id| transcript(repo, id));
        let listed = self.sh_prints("find work -name work.txt -not -path '*/.git/*'");
        let files = listed.lines().map(|path| self.root.join(path));
        logs.into_iter().chain(files).map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
    }

    /// Lets the logs arrive and pulls one trigger. Returns everything that is wrong then.
    fn meets(&self, trigger: Trigger) -> Vec<String> {
        let scene = self.arrive();
        assert!(scene.kept.len() > 2, "there is nothing to lose: {:?}", scene.kept);
        let mut problems = self.pull(trigger, &scene);
        self.wait_until_idle();
        if let Ok(ran) = std::fs::read_to_string(self.canary()) {
            problems.push(format!("ran: {}", ran.split_whitespace().collect::<Vec<_>>().join(", ")));
        }
        for (path, before) in &scene.kept {
            let name = path.strip_prefix(&self.root).unwrap().display();
            match std::fs::read(path) {
                Err(_) => problems.push(format!("removed: {name}")),
                Ok(now) if now != *before => problems.push(format!("changed: {name}")),
                Ok(_) => {}
            }
        }
        self.anywhere(&["supervisor", "stop"]);
        problems
    }

    /// Pulls a trigger. Returns what is wrong with what was said.
    fn pull(&self, trigger: Trigger, scene: &Scene) -> Vec<String> {
        match trigger {
            Trigger::New => self.makes_another(scene),
            Trigger::Start => self.refuses(scene, &["start", EVIL]),
            Trigger::SuperviseOnce => {
                let ran = self.run(scene, &["supervise", "--once"]);
                self.advice(scene, "supervise --once", EVIL, &ran).into_iter().collect()
            }
            Trigger::LiveSupervisor => {
                // A bubble of its own beside the foreign ones has the supervisor look into this repository.
                let created = self.run(scene, &["create", "--id", "beside", "--task", "x", "--test", "true", "--yes"]);
                let problems = self.works_or_says_why("create", &created);
                self.supervise();
                problems.into_iter().chain(self.is_labelled(scene)).collect()
            }
            Trigger::RefusedResume => {
                self.supervise();
                self.refuses(scene, &["resume", EVIL])
            }
            Trigger::ForgedWake => {
                self.supervise();
                [EVIL, DOOMED].iter().for_each(|id| self.wake(&scene.repo, id));
                self.is_labelled(scene)
            }
            Trigger::Delete => {
                let each = [EVIL, DOOMED].map(|id| self.refuses(scene, &["delete", id, "--yes"]));
                each.concat()
            }
            Trigger::List => self.is_labelled(scene),
        }
    }

    /// A new bubble beside the foreign ones works.
    fn makes_another(&self, scene: &Scene) -> Vec<String> {
        let made = self.run(scene, &["new", "x", "--id", "beside", "--test", "true", "--yes"]);
        let mut problems: Vec<_> = self.works_or_says_why("new", &made).into_iter().collect();
        if made.code == 0 {
            let status = self.run(scene, &["status", "beside", "--json"]);
            let running = status.code == 0 && status.json()["state"] == "RUNNING";
            problems.extend((!running).then(|| format!("the new bubble does not run: {}", said(&status))));
        }
        problems.extend(self.is_labelled(scene));
        problems
    }

    /// Whether a bubble of the victim's own could be made; where the control directory is a link, the refusal says so.
    fn works_or_says_why(&self, verb: &str, made: &Ran) -> Option<String> {
        let linked = self.arrival == Arrival::LinkedControl && made.code == 1 && said(made).contains("link");
        (made.code != 0 && !linked).then(|| format!("{verb} ended with {} and said: {}", made.code, said(made)))
    }

    /// A verb on a foreign bubble is refused with a sentence that says what to do.
    fn refuses(&self, scene: &Scene, args: &[&str]) -> Vec<String> {
        let (ran, words) = (self.run(scene, args), args.join(" "));
        let code = (ran.code != 1).then(|| format!("{words} ended with {}", ran.code));
        code.into_iter().chain(self.advice(scene, &words, args[1], &ran)).collect()
    }

    /// The list calls the bubbles foreign, and their status says what to do.
    fn is_labelled(&self, scene: &Scene) -> Vec<String> {
        let list = self.run(scene, &["list"]);
        let mut problems = Vec::new();
        for id in [EVIL, DOOMED] {
            let labelled = list.stdout.lines().any(|line| line.contains(id) && line.contains("foreign"));
            problems.extend((!labelled).then(|| format!("list does not call {id} foreign: {}", said(&list))));
        }
        problems.extend(self.advice(scene, "list", EVIL, &list));
        problems.extend(self.advice(scene, "status", EVIL, &self.run(scene, &["status", EVIL])));
        problems
    }

    /// The command that helps with a foreign bubble: it is adopted, or, where that cannot be, left behind.
    fn remedy(&self, scene: &Scene, id: &str) -> String {
        let control = scene.repo.join(".pairflow");
        match self.arrival {
            Arrival::LinkedControl => format!("mv {0} {0}.old", control.display()),
            Arrival::OtherUser => format!("git clone {} YOUR-CLONE", scene.repo.display()),
            _ => format!("pairflow adopt {id}"),
        }
    }

    /// Says what is missing in what a command said about a foreign bubble: the command that helps, and where it comes from.
    fn advice(&self, scene: &Scene, command: &str, id: &str, ran: &Ran) -> Option<String> {
        let (said, remedy) = (said(ran), self.remedy(scene, id));
        let advised = said.contains(&remedy);
        let placed = scene.from.as_ref().is_none_or(|from| said.contains(&format!("{}", from.display())));
        (!advised || !placed).then(|| format!("{command} does not say '{remedy}': {said}"))
    }

    /// Does for each bubble what `status` says. It has to work, and afterwards nothing is foreign any more.
    fn follows_the_advice(&self) -> Option<String> {
        let scene = self.arrive();
        for id in [EVIL, DOOMED] {
            let (remedy, status) = (self.remedy(&scene, id), self.run(&scene, &["status", id]));
            // One step is for both.
            if id == DOOMED && !remedy.starts_with("pairflow ") {
                continue;
            }
            if !said(&status).contains(&remedy) {
                return Some(format!("status does not say '{remedy}': {}", said(&status)));
            }
            match remedy.strip_prefix("pairflow ") {
                Some(words) => {
                    let words: Vec<_> = words.split(' ').chain(["--yes"]).collect();
                    let ran = self.run(&scene, &words);
                    if ran.code != 0 {
                        return Some(format!("{remedy} ended with {}: {}", ran.code, said(&ran)));
                    }
                }
                None => self.sh(&remedy),
            }
        }
        let here = if self.arrival == Arrival::OtherUser { self.root.join("YOUR-CLONE") } else { scene.repo };
        let list = self.home.pairflow_in(&here, &["list"]);
        self.anywhere(&["supervisor", "stop"]);
        said(&list).contains("foreign").then(|| format!("list still says: {}", said(&list)))
    }

    /// Tells the supervisor to look at a bubble, past every command.
    fn wake(&self, repo: &Path, id: &str) {
        let mut stream = UnixStream::connect(self.root.join("run/pairflow/supervisor.sock")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        writeln!(stream, "{}", json!({"ask": "wake", "repo": repo, "id": id})).unwrap();
        let mut reply = String::new();
        // Whatever it answers: what it does is what counts.
        let _ = BufReader::new(stream).read_line(&mut reply);
    }

    /// Starts a supervisor and waits until it has looked around.
    fn supervise(&self) {
        self.anywhere(&["supervise"]).ok();
        self.wait_until_idle();
    }

    /// Waits until the supervisor, if there is one, has nothing under way.
    fn wait_until_idle(&self) {
        eventually("an idle supervisor", || {
            let status = self.anywhere(&["supervisor", "status", "--json"]).ok().json();
            (status["busy"].as_u64().unwrap_or(0) == 0).then_some(())
        });
    }

    fn run(&self, scene: &Scene, args: &[&str]) -> Ran {
        self.home.pairflow_in(&scene.repo, args)
    }

    /// Runs a command that is about no repository; the first one may have been moved.
    fn anywhere(&self, args: &[&str]) -> Ran {
        self.home.pairflow_in(&self.root, args)
    }

    fn canary(&self) -> PathBuf {
        self.root.join("home/canary")
    }

    fn sh(&self, line: &str) {
        self.sh_prints(line);
    }

    /// Runs a line of shell in the directory that everything lies in.
    fn sh_prints(&self, line: &str) -> String {
        let mut command = Command::new("sh");
        command.args(["-ec", line]).current_dir(&self.root).env("HOME", self.root.join("home"));
        let ran = self.home.finish(command);
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
        ran.stdout
    }
}

/// All that a command said, in one line.
fn said(ran: &Ran) -> String {
    let text = format!("{} {}", ran.stdout, ran.stderr);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
