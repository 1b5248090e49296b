//! Faults at exact points: of the log, the state, the disk and the commands.

mod cli;
mod log;
mod lost_logs;
mod records;
#[cfg(target_os = "linux")]
mod synced;
