//! A terminal to type on, and a shell that sees nothing but a home.

use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use pairflow_testkit::home::Home;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Returns a shell that sees nothing but this home, with a script to run.
pub(crate) fn shell(home: &Home, script: &str) -> Command {
    let clean = home.command(&[]);
    let mut shell = Command::new("sh");
    shell.env_clear().envs(clean.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.args(["-ec", script]).stdin(Stdio::null());
    shell
}

/// Makes a directory with nothing but links to `programs` in it, to be a PATH.
pub(crate) fn bin_with(home: &Home, programs: &[&str]) -> PathBuf {
    let bin = home.root().join("bin");
    std::fs::create_dir(&bin).unwrap();
    for program in programs {
        let found = home.finish(shell(home, &format!("command -v {program}"))).ok().stdout;
        std::os::unix::fs::symlink(found.trim(), bin.join(program)).unwrap();
    }
    bin
}

/// Runs a command with a terminal of its own; each of `keys` is typed as soon as the text before it has appeared. A question
/// that the test does not expect is answered with the end of the input, so that the test fails and does not hang.
pub(crate) fn on_terminal(mut command: Command, keys: &[(&str, &str)]) -> (i32, String) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = || Stdio::from(File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap());
    command.stdin(slave()).stdout(slave()).stderr(slave());
    let mut child = command.spawn().unwrap();
    // The command keeps its own ends of the terminal open; ours have to be closed for the end to be seen.
    drop(command);
    let mut master = File::from(master);
    let mut shown = Vec::new();
    let (mut seen, mut answered) = (0, 0);
    let mut keys = keys.iter();
    let mut next = keys.next();
    let mut buffer = [0; 4096];
    // Reading fails once every process has closed its end of the terminal.
    while let Ok(count @ 1..) = master.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&shown).into_owned();
        while let Some((before, key)) = next {
            let Some(at) = text[seen..].find(before) else { break };
            seen += at + before.len();
            master.write_all(key.as_bytes()).unwrap();
            answered += 1;
            next = keys.next();
        }
        while text.matches("[y/N]").count() > answered {
            master.write_all(b"\x04").unwrap();
            answered += 1;
        }
    }
    let code = child.wait().unwrap().code().unwrap_or(-1);
    let text = String::from_utf8_lossy(&shown).replace("\r\n", "\n");
    assert!(next.is_none(), "{next:?} was never typed:\n{text}");
    (code, text)
}
