//! A fault that a process is to meet: what `PF_FAULT` says.
//!
//! `kill@17` ends the process with SIGKILL at its 17th operation on the disk, `errno@17:ENOSPC` fails that operation, and
//! `short@17` writes half of it.

use std::sync::Arc;

use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};

use super::Fault;

/// Which operation, counted from 1, and what happens at it.
pub type Planned = (u64, Fault);

/// Reads `kill@17`, `short@17` or `errno@17:ENOSPC`; fails if it is none of these.
pub fn parse_fault(text: &str) -> Result<Planned, String> {
    let wrong = || format!("{text:?} is no fault such as kill@17 or errno@17:ENOSPC");
    let (what, rest) = text.split_once('@').ok_or_else(wrong)?;
    let (at, errno) = rest.split_once(':').map_or((rest, None), |(at, name)| (at, Some(name)));
    let at = at.parse().map_err(|_| wrong())?;
    let fault = match (what, errno) {
        ("kill", None) => Fault::Call(Arc::new(die)),
        ("short", None) => Fault::Short,
        ("errno", Some(name)) => Fault::Error(named(name).ok_or_else(wrong)?),
        _ => return Err(wrong()),
    };
    Ok((at, fault))
}

/// A fault that never strikes.
pub fn no_fault() -> Planned {
    (u64::MAX, Fault::Short)
}

fn named(name: &str) -> Option<Errno> {
    Some(match name {
        "ENOSPC" => Errno::NOSPC,
        "EIO" => Errno::IO,
        "EDQUOT" => Errno::DQUOT,
        "EINTR" => Errno::INTR,
        "EMFILE" => Errno::MFILE,
        "EROFS" => Errno::ROFS,
        "EACCES" => Errno::ACCESS,
        _ => return None,
    })
}

/// Ends this process as the kernel would end it for someone else.
fn die() {
    // If even this fails, the process goes on, and the run is seen to have ended by itself.
    let _ = kill_process(getpid(), Signal::KILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_read_and_nonsense_is_not_taken_for_one() {
        assert!(matches!(parse_fault("kill@17"), Ok((17, Fault::Call(_)))));
        assert!(matches!(parse_fault("short@3"), Ok((3, Fault::Short))));
        assert!(matches!(parse_fault("errno@3:ENOSPC"), Ok((3, Fault::Error(errno))) if errno == Errno::NOSPC));
        for nonsense in ["", "kill", "kill@", "kill@x", "errno@3", "errno@3:EWHAT", "kill@3:EIO", "slow@3"] {
            assert!(parse_fault(nonsense).is_err(), "{nonsense}");
        }
    }
}
