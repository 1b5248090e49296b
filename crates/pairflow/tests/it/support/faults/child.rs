//! The program as a process of its own with a bad disk: the test binary starts itself again.

use std::process::{Command, Stdio};
use std::sync::Arc;

use pairflow::World;
use pairflow_testkit::home::{Agent, Ran};

use super::disk::{BadDisk, Deed, Moment};

const MOMENT: &str = "TRIAL_MOMENT";
const WAIT: &str = "TRIAL_WAIT";
const ARGS: &str = "TRIAL_ARGS";
const EXIT: &str = "TRIAL_EXIT";
/// What separates the arguments in their variable.
const BETWEEN: &str = "\u{1f}";
/// The test that calls [`become_the_program`].
const ENTRY: &str = "faults::log::the_test_binary_is_the_program_when_it_is_told_so";

const MOMENTS: [Moment; 9] = [
    Moment::BeforeLock,
    Moment::BeforeAppend,
    Moment::HalfALine,
    Moment::AfterAppend,
    Moment::AfterSync,
    Moment::BeforeRename,
    Moment::AfterRename,
    Moment::BeforeCut,
    Moment::AfterCut,
];

/// Returns the program as `agent` calls it, on a disk where `deed` happens at `moment`; not started yet.
pub(crate) fn on_bad_disk(agent: &Agent<'_>, moment: Moment, deed: &Deed, args: &[&str]) -> Command {
    let likeness = agent.command(&[]);
    let mut command = Command::new(std::env::current_exe().expect("a test knows its own path"));
    command.env_clear().envs(likeness.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(&agent.worktree).stdin(Stdio::null());
    command.args(["--exact", ENTRY, "--nocapture", "--test-threads=1"]);
    command.env(MOMENT, format!("{moment:?}")).env(ARGS, args.join(BETWEEN));
    if let Deed::Wait(dir) = deed {
        command.env(WAIT, dir).env(EXIT, dir.join("exits"));
    }
    command
}

/// Runs it to its end and insists that it was killed.
#[track_caller]
pub(crate) fn is_killed(agent: &Agent<'_>, moment: Moment, args: &[&str]) {
    let ran = Ran::of(&on_bad_disk(agent, moment, &Deed::Kill, args).output().expect("the test binary can be started"));
    assert_eq!(ran.code, 128 + 9, "{moment:?} was never reached: {ran:?}");
}

/// Is the program, if this process was started for that; else does nothing.
pub(crate) fn become_the_program() {
    let (Ok(moment), Ok(args)) = (std::env::var(MOMENT), std::env::var(ARGS)) else { return };
    let moment = MOMENTS.into_iter().find(|one| format!("{one:?}") == moment).expect("a moment that has a name");
    let deed = std::env::var_os(WAIT).map_or(Deed::Kill, |dir| Deed::Wait(dir.into()));
    let args = std::iter::once("pairflow").chain(args.split(BETWEEN)).map(Into::into).collect();
    let program = Some(env!("CARGO_BIN_EXE_pairflow").into());
    let world = World { args, program, disk: Arc::new(BadDisk::new(moment, deed)), ..World::real() };
    let code = super::world::byte(pairflow::main_with(world));
    if let Some(dir) = std::env::var_os(EXIT) {
        let dir = std::path::PathBuf::from(dir);
        std::fs::create_dir_all(&dir).expect("the directory of the test is writable");
        std::fs::write(dir.join(std::process::id().to_string()), code.to_string()).expect("and so is this one");
    }
}
