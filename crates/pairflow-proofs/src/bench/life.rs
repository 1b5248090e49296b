//! A bubble that can be put back: the same turn is handed over again and again.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use pairflow_engine::store::KnownBubble;
use pairflow_testkit::fixture::Fixture;

use super::setting::Setting;

/// A bubble whose log is cut back to where it was.
pub(super) struct Again {
    pub(super) fixture: Fixture,
    len: u64,
    state: Vec<u8>,
    known: KnownBubble,
}

impl Again {
    /// Remembers how long the log is now, and what its cache says.
    pub(super) fn new(fixture: Fixture) -> anyhow::Result<Self> {
        let bubble = &fixture.bubble;
        let (head, state) = (bubble.load()?.head, std::fs::read(bubble.log().files().state())?);
        let known = bubble.engine.registry().find(&fixture.repo, &bubble.id)?.context("the bubble is not on record")?;
        Ok(Self { fixture, len: head.offset, state, known: KnownBubble { head: Some(head), ..known } })
    }

    /// Makes the bubble what it was: what is known of its end goes first, since it says what was acknowledged.
    pub(super) fn put_back(&self) -> anyhow::Result<()> {
        if let Some(head) = &self.known.head {
            self.fixture.bubble.engine.registry().note(&self.known.entry, head);
        }
        let state = self.fixture.bubble.log().files().state();
        std::fs::write(&state, &self.state).with_context(|| format!("cannot write {}", state.display()))?;
        OpenOptions::new().write(true).open(self.transcript())?.set_len(self.len)?;
        self.fixture.bubble.refresh()?;
        Ok(())
    }

    /// Returns `pass` as the agent whose turn is open calls it.
    pub(super) fn pass(&self, setting: &Setting) -> Command {
        let args = ["pass", "--summary", "moved the retry into one place and added three tests; all of them pass"];
        let mut command = setting.pairflow(&self.fixture.worktree, &args);
        command.envs(self.fixture.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Returns the path of the log.
    pub(super) fn transcript(&self) -> PathBuf {
        self.fixture.bubble.log().files().transcript()
    }
}
