//! The program in a world of the test's own: another disk, another clock, streams that can be read afterwards.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;

use pairflow::{Env, World};
use pairflow_engine::clock::{Clock, SystemClock};
use pairflow_engine::store::{RealDisk, Storage};
use pairflow_testkit::home::{Agent, Home};

/// A stream that the test can read afterwards.
#[derive(Clone, Default)]
pub(crate) struct Tape(Rc<RefCell<Vec<u8>>>);

impl Write for Tape {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a world is made of besides the home.
pub(crate) struct Surroundings<'a> {
    pub(crate) agent: Option<&'a Agent<'a>>,
    pub(crate) disk: Arc<dyn Storage>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Default for Surroundings<'_> {
    fn default() -> Self {
        Self { agent: None, disk: Arc::new(RealDisk), clock: Arc::new(SystemClock) }
    }
}

/// Runs the program in this process; returns its exit code, its result, and what else it said.
pub(crate) fn run_in_world(home: &Home, around: Surroundings<'_>, args: &[&str]) -> (u8, String, String) {
    let (stdout, stderr) = (Tape::default(), Tape::default());
    let dirs =
        [("HOME", "home"), ("XDG_RUNTIME_DIR", "run"), ("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config")];
    let mut env: BTreeMap<String, OsString> =
        dirs.iter().map(|(name, dir)| ((*name).to_owned(), home.root().join(dir).into_os_string())).collect();
    let cwd = around.agent.map_or_else(|| home.repo.clone(), |agent| agent.worktree.clone());
    env.extend(around.agent.iter().flat_map(|agent| &agent.env).map(|(name, value)| (name.clone(), value.into())));
    let exit = pairflow::main_with(World {
        args: [&["pairflow"], args].concat().iter().map(Into::into).collect(),
        env: Env::Fixed(env),
        cwd: Some(cwd),
        stdout: Box::new(stdout.clone()),
        stderr: Box::new(stderr.clone()),
        disk: around.disk,
        clock: around.clock,
        program: Some(Path::new(env!("CARGO_BIN_EXE_pairflow")).to_owned()),
        ..World::empty()
    });
    let text = |tape: &Tape| String::from_utf8_lossy(&tape.0.borrow()).into_owned();
    (byte(exit), text(&stdout), text(&stderr))
}

/// Returns an exit code as a number.
pub(crate) fn byte(exit: ExitCode) -> u8 {
    (0..=255).find(|code| ExitCode::from(*code) == exit).expect("an exit code is a byte")
}
