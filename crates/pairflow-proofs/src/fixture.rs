//! `cargo xtask fixture`: a repository with a bubble of exactly as many envelopes as wanted.
//!
//! It prints what a shell needs to act as the agent whose turn is open, or the same as JSON.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use pairflow_engine::clock::{Clock, SystemClock};
use pairflow_testkit::fixture::{Fixture, Wanted, make};

use crate::say;

const USAGE: &str = "cargo xtask fixture --envelopes N --out DIR [--files N] [--json]";
/// How many files the repository has by default.
const FILES: usize = 20;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    envelopes: u64,
    out: PathBuf,
    files: usize,
    json: bool,
}

/// Makes the fixture and says how to use it.
pub(crate) fn run(args: &[String]) -> anyhow::Result<()> {
    let asked = parse(args)?;
    let now = SystemClock.now();
    // Beside the repository: its name is the variable that a shell needs to be this user.
    let home = asked.out.with_extension("state");
    let state = home.join("pairflow");
    let wanted = Wanted { dir: &asked.out, envelopes: asked.envelopes, files: asked.files, now, state: &state };
    let mut fixture = make(wanted)?;
    let home = home.canonicalize().context("the state directory was just made")?;
    fixture.env.push(("XDG_STATE_HOME".to_owned(), shown(&home)));
    let head = fixture.bubble.log().load()?.head;
    if asked.json {
        print_json(&fixture, head.seq, head.offset);
        return Ok(());
    }
    say::line(format_args!("# bubble {} of {} envelopes, {} bytes", fixture.bubble.id, head.seq, head.offset));
    say::line(format_args!("# {} has the turn, in {}", fixture.agent, shown(&fixture.worktree)));
    for (name, value) in &fixture.env {
        say::line(format_args!("export {name}='{}'", value.replace('\'', "'\\''")));
    }
    Ok(())
}

fn print_json(fixture: &Fixture, envelopes: u64, bytes: u64) {
    let env: Vec<_> = fixture.env.iter().map(|(name, value)| format!("{name:?}:{}", quoted(value))).collect();
    say::line(format_args!(
        "{{\"bubble\":\"{}\",\"envelopes\":{envelopes},\"bytes\":{bytes},\"repo\":{},\"worktree\":{},\"agent\":\"{}\",\"env\":{{{}}}}}",
        fixture.bubble.id,
        quoted(&shown(&fixture.repo)),
        quoted(&shown(&fixture.worktree)),
        fixture.agent,
        env.join(",")
    ));
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn parse(args: &[String]) -> anyhow::Result<Asked> {
    let (mut envelopes, mut out, mut files, mut json) = (None, None, FILES, false);
    let mut rest = args.iter();
    while let Some(flag) = rest.next() {
        let mut value = || rest.next().with_context(|| format!("{flag} needs a value: {USAGE}"));
        match flag.as_str() {
            "--envelopes" => envelopes = Some(value()?.parse().with_context(|| format!("--envelopes: {USAGE}"))?),
            "--out" => out = Some(PathBuf::from(value()?)),
            "--files" => files = value()?.parse().with_context(|| format!("--files: {USAGE}"))?,
            "--json" => json = true,
            other => bail!("there is no option {other}: {USAGE}"),
        }
    }
    let (Some(envelopes), Some(out)) = (envelopes, out) else { bail!("--envelopes and --out are needed: {USAGE}") };
    Ok(Asked { envelopes, out, files, json })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> anyhow::Result<Asked> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn both_numbers_and_the_place_are_read() {
        let asked = parsed("--envelopes 10 --out /tmp/x --json").unwrap();
        assert_eq!(asked, Asked { envelopes: 10, out: "/tmp/x".into(), files: FILES, json: true });
    }

    #[test]
    fn a_missing_or_unknown_option_is_named() {
        for (line, word) in [("--out x", "--envelopes"), ("--envelopes x --out y", "--envelopes"), ("--frob", "--frob")]
        {
            assert!(format!("{:#}", parsed(line).unwrap_err()).contains(word), "{line}");
        }
    }
}
