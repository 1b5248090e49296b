//! `pairflow` on a disk that fails on purpose. Never shipped: only the proofs use it.
//!
//! `PF_FAULT=kill@17` ends the process with SIGKILL at its 17th operation on the disk, `errno@17:ENOSPC` fails that
//! operation, and `short@17` writes half of it. `PF_FAULT_COUNT=FILE` writes how many operations there were.

use std::process::ExitCode;
use std::sync::Arc;

use pairflow::World;
use pairflow_testkit::disk::{FaultyDisk, no_fault, parse_fault};

fn main() -> ExitCode {
    let mut world = World::real();
    let planned = world.env.text("PF_FAULT").map(|text| parse_fault(&text)).transpose();
    // A fault that cannot be parsed must not look like one that never happened.
    let Ok(planned) = planned else { return ExitCode::from(99) };
    let (at, fault) = planned.unwrap_or_else(no_fault);
    let disk = FaultyDisk::new(Arc::clone(&world.disk), at, fault);
    world.disk = Arc::new(disk.clone());
    let count = world.env.get("PF_FAULT_COUNT");
    let code = pairflow::main_with(world);
    match count.map(|file| std::fs::write(file, disk.count().to_string())) {
        Some(Err(_)) => ExitCode::from(98),
        _ => code,
    }
}
