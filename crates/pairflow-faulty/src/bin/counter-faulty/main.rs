//! A program that counts in a log of its own, on a disk that fails on purpose: `counter-faulty DIRECTORY STEPS`.
//!
//! Never shipped: the proofs kill it to show that the store keeps what any machine was told. `PF_FAULT` is read as in
//! `pairflow-faulty`.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use pairflow_engine::store::RealDisk;
use pairflow_testkit::disk::{FaultyDisk, no_fault, parse_fault};
use pairflow_testkit::kill::count;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [root, steps] = &args[..] else { return ExitCode::from(2) };
    let planned = std::env::var("PF_FAULT").ok().map(|text| parse_fault(&text)).transpose();
    let (Ok(steps), Ok(planned)) = (steps.parse(), planned) else { return ExitCode::from(99) };
    let (at, fault) = planned.unwrap_or_else(no_fault);
    let disk = FaultyDisk::new(Arc::new(RealDisk), at, fault);
    match count(Arc::new(disk), Path::new(root), steps, &mut std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(3),
    }
}
