//! What shows that a finding is fixed and that a task is done: tests of fixes and acceptance tests, run by the real engine
//! in real checkouts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pairflow_core::bubble::{BubbleState, Command, HeadSeen, PassCommand, Phase};
use pairflow_core::config::{ConfigSource, Layer, Layers, resolve};
use pairflow_core::facts::{
    AcceptanceTests, Answers, Dispute, Explanation, Finding, FixTest, Outcome, Receipt, Seat, Severity,
};
use pairflow_core::findings::{FixStand, ReproducerState};
use pairflow_core::ids::FindingId;
use pairflow_core::log::{Body, Envelope, Evidence};
use pairflow_engine::clock::SystemClock;
use pairflow_engine::engine::{Bubble, Engine, UserDirs};
use pairflow_engine::perform::{settle, store_acceptance};
use pairflow_engine::process::Cancel;
use pairflow_engine::store::RealDisk;
use pairflow_engine::verbs::{Confirmed, NewBubble};
use pairflow_engine::workspace::{locate, scratch_path};

use crate::support::{World, git, hermetic, write};

/// A bubble whose value is checked by scripts: the base says 0.
struct Loop {
    world: World,
    bubble: Bubble,
}

const TESTS: &str = "for one in tests/*.py; do sh $one || exit 1; done";

impl Loop {
    /// Starts a bubble with these lines of configuration.
    fn start(config: &str) -> Self {
        Self::start_in(World::new(), config)
    }

    fn start_in(world: World, config: &str) -> Self {
        world.commit("value.txt", "0\n");
        world.commit("tests/test_base.py", "test -f value.txt\n");
        let dirs = world.dir.path().join("home");
        let dirs = UserDirs { runtime: dirs.join("run"), state: dirs.join("state"), config: dirs.join("config.toml") };
        let engine = Engine::new(Arc::new(RealDisk), Arc::new(SystemClock), dirs);
        let root = world.root().display();
        let text = format!("id = \"b1\"\nrepo_path = \"{root}\"\nbase_branch = \"main\"\ndriver = \"external\"\n");
        let text = format!("{text}{config}\ncommands.test = \"{TESTS}\"\n");
        let bubble = Layer::parse("bubble.toml", &text, ConfigSource::Bubble).unwrap();
        let resolved = resolve(&Layers { bubble, ..Layers::default() }).unwrap();
        let rules = Box::new(resolved.rules.clone());
        let new = NewBubble {
            id: "b1".parse().unwrap(),
            repo: &world.repo,
            task: "make the value 2".to_owned(),
            resolved,
            confirmed: Confirmed::Explicit,
            identity: None,
            prd_approved: Vec::new(),
        };
        let (bubble, _) = engine.create(new).unwrap();
        let this = Self { world, bubble };
        this.apply(&Command::Start { rules });
        this
    }

    /// Has a command recorded, and carries out what it leads to.
    fn apply(&self, command: &Command) {
        self.bubble.apply(command).unwrap();
        settle(&self.bubble, &Cancel::new().unwrap()).unwrap();
    }

    fn state(&self) -> BubbleState {
        self.bubble.load().unwrap().state
    }

    fn worktree(&self) -> PathBuf {
        self.state().evidence.workspace.unwrap().path.into()
    }

    fn scratch(&self) -> PathBuf {
        scratch_path(self.world.root(), &self.bubble.id)
    }

    fn write(&self, file: &str, text: &str) {
        write(self.worktree().join(file), text);
    }

    fn pass(&self, by: &str, change: impl FnOnce(&mut PassCommand)) {
        let head = HeadSeen::Branch("bubble/b1".to_owned());
        // The same words once more would be a retry.
        let summary = format!("handed over after line {}", self.bubble.load().unwrap().head.seq);
        let mut pass = PassCommand::new(by.parse().unwrap(), summary, head);
        change(&mut pass);
        self.apply(&Command::Pass(pass));
    }

    /// The implementer hands a first cut over, and the reviewer files these P1.
    fn reviewed(&self, titles: &[&str]) {
        self.write("value.txt", "1\n");
        self.pass("codex", |_| {});
        assert_eq!(self.turn(), "claude reviewer");
        let findings = titles.iter().map(|title| Finding::new(Severity::P1, *title)).collect();
        self.pass("claude", |pass| pass.findings = Some(findings));
        assert_eq!(self.turn(), "codex implementer");
    }

    /// The implementer calls findings fixed, and says how that is shown.
    fn fix(&self, rows: &[&str], tests: &[(&str, &str)]) {
        let tests = tests.iter().map(|(row, command)| FixTest { finding: id(row), command: (*command).to_owned() });
        let fixed = rows.iter().map(|row| id(row)).collect();
        let answers = Answers { fixed, tests: tests.collect(), ..Answers::default() };
        self.pass("codex", |pass| pass.answers = answers);
    }

    /// Whose turn it is; nothing else may be owed.
    fn turn(&self) -> String {
        match self.state().phase {
            Phase::Running(turn) => format!("{} {}", turn.agent, turn.seat),
            other => format!("{other:?}"),
        }
    }

    fn stand(&self, row: &str) -> FixStand {
        self.state().ledger.get(id(row)).unwrap().fix.clone().unwrap().stand
    }

    /// Every run of a fix's test that the log has.
    fn fix_runs(&self) -> Vec<(Receipt, Option<Receipt>)> {
        let mut runs = Vec::new();
        let mut take = |envelope: Envelope| {
            if let Body::Evidence(Evidence::FixTested { before, after, .. }) = envelope.event.body {
                runs.push((before, after));
            }
        };
        self.bubble.log().visit(&mut take).unwrap();
        runs
    }

    /// The reviewer's agent writes these acceptance tests and hands them over.
    fn accept_with(&self, files: &[(&str, &str)], run: &str) {
        files.iter().for_each(|(path, text)| write(self.scratch().join(path), text));
        let paths: Vec<_> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let files = store_acceptance(&self.bubble, &self.state(), &self.scratch(), &paths).unwrap();
        self.pass("claude", |pass| pass.acceptance = Some(AcceptanceTests { run: run.to_owned(), files }));
    }

    fn acceptance(&self) -> ReproducerState {
        self.state().ledger.get(id("F1")).unwrap().reproducer.clone().unwrap().stand
    }

    /// The files of the newest snapshot.
    fn snapshot_files(&self) -> String {
        let tree = self.state().evidence.snapshot.unwrap().tree;
        git(self.world.root(), &["ls-tree", "-r", "--name-only", &tree.0])
    }
}

fn id(text: &str) -> FindingId {
    text.parse().unwrap()
}

fn explanation() -> Explanation {
    let text = || "the value is what the task wants".to_owned();
    Explanation { what: text(), why: text(), risks: text(), test_plan: text() }
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

hermetic! {
    fn a_fix_is_shown_by_a_test_that_fails_without_it_and_passes_with_it() {
        for config in ["", "work_mode = \"clone\"", "checks_in = \"worktree\""] {
            let run = Loop::start(config);
            run.reviewed(&["the value is not 2"]);
            let before = run.state().tree().cloned().unwrap();
            run.write("value.txt", "2\n");
            run.write("tests/test_value.py", "echo looked; grep -qx \"$(cat tests/data/wanted)\" value.txt\n");
            run.write("tests/data/wanted", "2\n");
            run.fix(&["F1"], &[("F1", "sh tests/test_value.py")]);
            assert_eq!((run.turn().as_str(), run.stand("F1")), ("claude reviewer", FixStand::Shown), "{config}");
            let runs = run.fix_runs();
            let [(without, Some(with))] = runs.as_slice() else { panic!("{runs:?}") };
            assert_eq!((&without.tree, Some(&with.tree)), (&before, run.state().tree()));
            assert_eq!(without.outcome, Outcome::Failed { exit: Some(1), timed_out: false });
            for receipt in [without, with] {
                let stored = run.bubble.artifacts().resolve(receipt.output.as_ref().unwrap()).unwrap();
                assert_eq!(std::fs::read_to_string(stored).unwrap(), "looked\n");
            }
        }
    }

    fn a_test_that_passes_without_the_fix_goes_back_once_and_is_then_shown_as_unproven() {
        let run = Loop::start("");
        run.reviewed(&["the value is not 2"]);
        run.write("value.txt", "2\n");
        run.fix(&["F1"], &[("F1", "test -f value.txt")]);
        assert_eq!((run.turn().as_str(), run.stand("F1")), ("codex implementer", FixStand::NotRed));
        assert_eq!(run.state().rounds.sent_back, 1);
        run.write("note.txt", "it is fixed\n");
        run.fix(&["F1"], &[("F1", "test -f value.txt || exit 3")]);
        assert_eq!((run.turn().as_str(), run.stand("F1")), ("claude reviewer", FixStand::NotRed));
        let runs = run.fix_runs();
        assert!(runs.len() == 2 && runs.iter().all(|(_, after)| after.is_none()), "only a red test runs again: {runs:?}");
    }

    fn a_test_that_fails_with_the_fix_goes_back() {
        let run = Loop::start("");
        run.reviewed(&["the value is not 2"]);
        run.write("value.txt", "3\n");
        run.fix(&["F1"], &[("F1", "grep -qx 2 value.txt")]);
        assert_eq!((run.turn().as_str(), run.stand("F1")), ("codex implementer", FixStand::NotGreen));
    }

    fn a_test_that_cannot_run_is_neither_red_nor_green() {
        let missing = ["no-such-runner tests", "sh tests/nothing.sh", "python3 -m pytest x || exit 5", "exit 126"];
        for command in missing {
            let run = Loop::start("");
            run.reviewed(&["the value is not 2"]);
            run.write("value.txt", "2\n");
            run.fix(&["F1"], &[("F1", command)]);
            assert_eq!((run.turn().as_str(), run.stand("F1")), ("claude reviewer", FixStand::CouldNotRun), "{command}");
            let runs = run.fix_runs();
            let [(before, None)] = runs.as_slice() else { panic!("{runs:?}") };
            assert!(matches!(before.outcome, Outcome::CouldNotCheck { .. }), "{before:?}");
        }
    }

    fn changed_test_files_show_the_only_fix_without_being_named() {
        let run = Loop::start("");
        run.reviewed(&["the value is not 2"]);
        run.write("value.txt", "2\n");
        run.write("tests/test_value.py", "grep -qx 2 value.txt\n");
        run.fix(&["F1"], &[]);
        assert_eq!((run.turn().as_str(), run.stand("F1")), ("claude reviewer", FixStand::Shown));
        assert_eq!(run.fix_runs()[0].0.command, TESTS);
    }

    fn changed_test_files_show_none_of_two_fixes() {
        let run = Loop::start("");
        run.reviewed(&["the value is not 2", "nobody says what the value is"]);
        run.write("value.txt", "2\n");
        run.write("tests/test_value.py", "grep -qx 2 value.txt\n");
        run.fix(&["F1", "F2"], &[]);
        assert_eq!((run.turn().as_str(), run.fix_runs().len()), ("codex implementer", 0));
        let answers = Answers {
            fixed: vec![id("F1"), id("F2")],
            tests: vec![FixTest { finding: id("F1"), command: "sh tests/test_value.py".to_owned() }],
            untestable: vec![Dispute { finding: id("F2"), reason: "it is a text".to_owned() }],
            ..Answers::default()
        };
        run.write("README", "the value is 2\n");
        run.pass("codex", |pass| pass.answers = answers);
        assert_eq!((run.turn().as_str(), run.stand("F1")), ("claude reviewer", FixStand::Shown));
    }

    fn what_was_built_with_a_fix_does_not_reach_the_tree_without_it() {
        let run = Loop::start("commands.setup = \"cp value.txt built.log\"");
        run.reviewed(&["the value is not 2"]);
        run.write("value.txt", "2\n");
        // Ignored files such as this one stay in the checkout of the checks.
        run.fix(&["F1"], &[("F1", "grep -qx 2 built.log")]);
        assert_eq!((run.turn().as_str(), run.stand("F1")), ("claude reviewer", FixStand::Shown));
    }

    fn a_reproducer_without_its_runner_shows_nothing() {
        let run = Loop::start("");
        run.write("value.txt", "1\n");
        run.pass("codex", |_| {});
        let finding = |title: &str, command: &str| Finding {
            reproducer: Some(command.to_owned()),
            ..Finding::new(Severity::P1, title)
        };
        let findings = vec![
            finding("the list is not sorted", "echo 'python3: No module named pytest'; exit 1"),
            finding("the value is not 2", "grep -qx 2 value.txt"),
            finding("no test looks at zero", "echo 'collected 0 items'; exit 5"),
        ];
        run.pass("claude", |pass| pass.findings = Some(findings));
        let stands: Vec<_> =
            run.state().ledger.rows.iter().map(|row| row.reproducer.as_ref().unwrap().stand).collect();
        assert_eq!(stands, [ReproducerState::Dropped, ReproducerState::Fails, ReproducerState::Dropped]);
    }

    fn a_thorough_bubble_begins_with_acceptance_tests_of_the_reviewers_agent() {
        let run = Loop::start("review_depth = \"thorough\"");
        let state = run.state();
        let turn = state.phase.turn().unwrap();
        assert!(turn.acceptance && turn.seat == Seat::Reviewer, "{turn:?}");
        assert_eq!((run.turn().as_str(), state.rounds.round), ("claude reviewer", 1));
        assert!(names(&run.scratch()).is_empty(), "there is a place to write them");
        let place = locate(&run.scratch()).unwrap();
        assert_eq!((place.repo.root.as_path(), place.bubble), (run.world.root(), Some(run.bubble.id.clone())));
        run.accept_with(&[("accept/value.sh", "grep -qx 2 value.txt\n")], "sh accept/value.sh");
        assert_eq!((run.turn().as_str(), run.acceptance()), ("codex implementer", ReproducerState::Fails));
        assert_eq!(run.state().rounds.looks, 0, "it was no look");
    }

    fn acceptance_tests_judge_the_work_and_never_become_part_of_it() {
        let run = Loop::start("review_depth = \"thorough\"");
        // The second one is a file that git ignores here.
        let files = [("accept/value.sh", "#!/bin/sh\ngrep -qx 2 value.txt && test -f accept/data.log\n"), ("accept/data.log", "x")];
        run.accept_with(&files, "accept/value.sh");
        assert_eq!((run.turn().as_str(), run.acceptance()), ("codex implementer", ReproducerState::Fails));
        run.write("value.txt", "1\n");
        // No check meets what an earlier run laid over its tree.
        run.write("tests/test_clean.py", "test ! -e accept\n");
        run.pass("codex", |_| {});
        assert_eq!((run.turn().as_str(), run.acceptance()), ("codex implementer", ReproducerState::Fails), "it goes back");
        run.write("value.txt", "2\n");
        run.pass("codex", |_| {});
        assert_eq!((run.turn().as_str(), run.acceptance()), ("claude reviewer", ReproducerState::Passes));
        assert_eq!(run.snapshot_files(), ".gitignore\na.txt\ntests/test_base.py\ntests/test_clean.py\nvalue.txt");
        assert!(!run.worktree().join("accept").exists() && !run.world.root().join("accept").exists());
        let refs = git(run.world.root(), &["for-each-ref", "--format=%(refname)"]);
        for one in refs.lines() {
            let files = git(run.world.root(), &["ls-tree", "-r", "--name-only", one]);
            assert!(!files.contains("accept"), "{one}: {files}");
        }
    }

    fn acceptance_tests_that_the_work_takes_over_or_links_elsewhere_run_as_they_were_written() {
        let outside = tempfile::tempdir().unwrap();
        let run = Loop::start("review_depth = \"thorough\"");
        run.accept_with(&[("accept/value.sh", "grep -qx 2 value.txt\n")], "sh accept/value.sh");
        run.write("value.txt", "1\n");
        run.write("accept/value.sh", "true\n");
        run.pass("codex", |_| {});
        assert_eq!((run.turn().as_str(), run.acceptance()), ("codex implementer", ReproducerState::Fails));
        std::fs::remove_dir_all(run.worktree().join("accept")).unwrap();
        std::os::unix::fs::symlink(outside.path(), run.worktree().join("accept")).unwrap();
        write(outside.path().join("value.sh"), "true\n");
        run.pass("codex", |_| {});
        assert_eq!((run.turn().as_str(), run.acceptance()), ("codex implementer", ReproducerState::Fails));
        assert!(run.snapshot_files().lines().any(|file| file == "accept"), "the link is part of the work");
        let left = std::fs::read_to_string(outside.path().join("value.sh")).unwrap();
        assert_eq!((left.as_str(), names(outside.path())), ("true\n", vec!["value.sh".to_owned()]));
    }

    fn acceptance_tests_that_cannot_run_go_back_once_and_then_the_work_decides() {
        let run = Loop::start("review_depth = \"thorough\"");
        run.accept_with(&[("accept/value.sh", "exit 1\n")], "sh accept/vlaue.sh");
        assert_eq!(run.turn(), "claude reviewer");
        assert!(run.state().phase.turn().unwrap().acceptance && run.scratch().join("accept/value.sh").exists());
        run.accept_with(&[("accept/value.sh", "exit 1\n")], "no-such-runner accept");
        assert_eq!(run.turn(), "codex implementer");
        assert_eq!(run.acceptance(), ReproducerState::Pending, "they may need what the work brings");
        run.write("value.txt", "2\n");
        run.pass("codex", |_| {});
        assert_eq!(run.turn(), "claude reviewer");
        assert!(run.state().ledger.rows.iter().all(|row| !row.is_open()), "{:?}", run.state().ledger.rows);
    }

    fn acceptance_files_stay_inside_and_replace_nothing() {
        let world = World::new();
        std::os::unix::fs::symlink("..", world.root().join("up")).unwrap();
        world.git(&["add", "up"]);
        world.git(&["commit", "--quiet", "-m", "a link"]);
        let run = Loop::start_in(world, "review_depth = \"thorough\"");
        let scratch = run.scratch();
        write(scratch.join("good.sh"), "true\n");
        write(scratch.join("up/x.sh"), "true\n");
        write(scratch.join("value.txt/x"), "true\n");
        write(scratch.join("tests"), "true\n");
        write(scratch.join("large.bin"), vec![b'x'; 1024 * 1024]);
        std::os::unix::fs::symlink("/etc/hostname", scratch.join("link.sh")).unwrap();
        std::os::unix::fs::symlink("/etc", scratch.join("etc")).unwrap();
        let store = |files: &[&str]| {
            let files: Vec<_> = files.iter().map(|file| (*file).to_owned()).collect();
            store_acceptance(&run.bubble, &run.state(), &scratch, &files).map_err(|error| error.to_string())
        };
        let many = vec!["good.sh"; 65];
        let refused: [(&[&str], &str); 14] = [
            (&["../x.sh"], "may not leave"),
            (&["a//x.sh"], "may not leave"),
            (&["/etc/hostname"], "has to be relative"),
            (&["a/.GIT/hooks/x"], "belongs to git or to pairflow"),
            (&[".pairflow/x"], "belongs to git or to pairflow"),
            (&["a\nb"], "characters that no path may have"),
            (&["link.sh"], "not a regular file"),
            (&["etc/hostname"], "cannot read the acceptance file etc/hostname"),
            (&["nothing.sh"], "cannot read the acceptance file nothing.sh"),
            (&["value.txt"], "may not replace files of the repository: value.txt"),
            (&["up/x.sh"], "may not replace files of the repository: up; rename up/x.sh"),
            (&["tests"], "may not replace files of the repository: tests"),
            (&["good.sh", "large.bin"], "larger than 1048576 bytes in all, at large.bin"),
            (&many, "there are 65 acceptance files; the limit is 64"),
        ];
        for (files, why) in refused {
            let said = store(files).unwrap_err();
            assert!(said.contains(why), "{files:?}: {said}");
        }
        let stored = store(&["./good.sh", "good.sh"]).unwrap();
        assert_eq!((stored.len(), stored[0].path.as_str()), (1, "good.sh"));
        let content = run.bubble.artifacts().resolve(&stored[0].content).unwrap();
        assert_eq!(std::fs::read_to_string(content).unwrap(), "true\n");
    }

    fn an_acceptance_test_that_was_changed_on_disk_is_not_run() {
        let run = Loop::start("review_depth = \"thorough\"");
        run.accept_with(&[("accept/value.sh", "grep -qx 2 value.txt\n")], "sh accept/value.sh");
        let dir = run.bubble.dir().join("artifacts/acceptance");
        write(dir.join(&names(&dir)[0]), "true\n");
        run.write("value.txt", "1\n");
        run.pass("codex", |_| {});
        assert_eq!(run.acceptance(), ReproducerState::Fails, "what once failed counts until it is seen to pass");
    }

    fn the_directory_of_acceptance_tests_ends_with_the_bubble() {
        let run = Loop::start("review_depth = \"thorough\"");
        write(run.scratch().join("a/b.sh"), "true\n");
        run.apply(&Command::Stop { reason: "enough".to_owned() });
        assert!(!run.scratch().exists());
    }

    fn a_small_change_needs_as_many_looks_as_are_configured() {
        for (config, looks) in [("", 2), ("min_looks = 3", 3), ("min_looks = 1", 2)] {
            let run = Loop::start(config);
            run.write("value.txt", "2\n");
            run.pass("codex", |_| {});
            let mut had = 0;
            while let Phase::Running(turn) = run.state().phase {
                run.pass(turn.agent.as_str(), |pass| {
                    (pass.findings, pass.explanation) = (Some(Vec::new()), Some(explanation()));
                });
                had += 1;
            }
            assert_eq!(had, looks, "{config}");
            assert_eq!(run.state().rounds.looks, looks);
        }
    }
}
