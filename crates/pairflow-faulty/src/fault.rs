//! What `PF_FAULT` says.

use std::sync::Arc;

use pairflow_testkit::disk::Fault;
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};

/// Which operation, counted from 1, and what happens at it.
pub(crate) type Planned = (u64, Fault);

/// Reads `kill@17`, `short@17` or `errno@17:ENOSPC`.
pub(crate) fn parse(text: &str) -> Result<Planned, String> {
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
pub(crate) fn none() -> Planned {
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
        assert!(matches!(parse("kill@17"), Ok((17, Fault::Call(_)))));
        assert!(matches!(parse("short@3"), Ok((3, Fault::Short))));
        assert!(matches!(parse("errno@3:ENOSPC"), Ok((3, Fault::Error(errno))) if errno == Errno::NOSPC));
        for nonsense in ["", "kill", "kill@", "kill@x", "errno@3", "errno@3:EWHAT", "kill@3:EIO", "slow@3"] {
            assert!(parse(nonsense).is_err(), "{nonsense}");
        }
    }
}
