//! The `pairflow` program: the library's front door, opened on the real world.

use std::process::ExitCode;

use pairflow::World;

fn main() -> ExitCode {
    pairflow::main_with(World::real())
}
