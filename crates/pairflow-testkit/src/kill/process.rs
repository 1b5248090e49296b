//! A process that is killed at a moment of one's choice: at any time, or when a file has just grown.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::judge::Told;
use crate::disk::Rng;

/// How long a process may take at most.
const DEADLINE: Duration = Duration::from_secs(60);
/// How long to wait before looking again whether the log has grown.
const LOOK: Duration = Duration::from_micros(15);

/// A process that was ended.
pub(super) struct Ending {
    /// Whether the kill ended it.
    pub(super) killed: bool,
    pub(super) code: Option<i32>,
    /// Whether it answered.
    pub(super) said: bool,
    /// What it answered.
    pub(super) answer: Vec<u8>,
    pub(super) took: Duration,
}

/// When a process is killed.
pub(super) enum Aim {
    /// After this time.
    After(Duration),
    /// As soon as this file has another size than this, and then after a moment.
    OnGrowth(PathBuf, u64, Duration),
    /// As soon as it begins to answer.
    OnAnswer,
    /// Not at all, to learn how long it takes.
    Never,
}

impl Aim {
    /// Draws when to kill a process that usually takes so long, and lets `file` grow from `size`.
    pub(super) fn draw(rng: &mut Rng, usual: Option<Duration>, file: &Path, size: u64) -> Self {
        let Some(usual) = usual else { return Self::Never };
        let micros = usize::try_from(usual.as_micros()).unwrap_or(usize::MAX);
        match rng.below(20) {
            0 => Self::OnAnswer,
            1..=4 => Self::OnGrowth(file.to_owned(), size, Duration::ZERO),
            5..=8 => Self::OnGrowth(file.to_owned(), size, Duration::from_micros(rng.below(600) as u64)),
            _ => Self::After(Duration::from_micros(rng.below(micros) as u64)),
        }
    }
}

/// Runs a command and kills it.
pub(super) fn end(mut command: std::process::Command, aim: &Aim) -> std::io::Result<Ending> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let began = Instant::now();
    let mut said = Vec::new();
    match aim {
        Aim::After(delay) => std::thread::sleep(*delay),
        Aim::OnGrowth(file, size, delay) => {
            while !grown(file, *size) && child.try_wait()?.is_none() && began.elapsed() < DEADLINE {
                std::thread::sleep(LOOK);
            }
            std::thread::sleep(*delay);
        }
        Aim::OnAnswer => said = first_byte(&mut child)?,
        Aim::Never => return gather(child, began, said),
    }
    child.kill()?;
    gather(child, began, said)
}

/// Waits for the first byte of an answer, and takes it.
fn first_byte(child: &mut Child) -> std::io::Result<Vec<u8>> {
    let mut byte = Vec::new();
    let Some(out) = &mut child.stdout else { return Ok(byte) };
    out.take(1).read_to_end(&mut byte)?;
    Ok(byte)
}

fn gather(child: Child, began: Instant, mut answer: Vec<u8>) -> std::io::Result<Ending> {
    let output = child.wait_with_output()?;
    let killed = output.status.signal() == Some(9);
    let said = !answer.is_empty() || output.stdout.ends_with(b"\n");
    answer.extend_from_slice(&output.stdout);
    Ok(Ending { killed, code: output.status.code(), said, answer, took: began.elapsed() })
}

fn grown(file: &Path, size: u64) -> bool {
    std::fs::metadata(file).is_ok_and(|meta| meta.is_dir() || meta.len() != size)
}

impl Ending {
    /// What its caller knows then.
    pub(super) fn told(&self) -> Told {
        match self.code {
            Some(0) => Told::Done,
            Some(1 | 4) => Told::Refused,
            Some(_) => Told::Failed,
            None if self.said => Told::Done,
            None => Told::Nothing,
        }
    }
}
