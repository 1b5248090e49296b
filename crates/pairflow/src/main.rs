//! The `pairflow` program: the library's front door, opened on the real world.

use std::io::Write;
use std::process::ExitCode;

use pairflow::World;
use pairflow_engine::limits::Limits;

/// Names limits that a test sets small, such as `screen_look=200`. Only a debug build looks at it.
const TEST_LIMITS: &str = "PAIRFLOW_TEST_LIMITS";

fn main() -> ExitCode {
    let mut world = World::real();
    if cfg!(debug_assertions)
        && let Some(text) = world.env.text(TEST_LIMITS)
    {
        // A limit that cannot be parsed must not be ignored.
        match Limits::read(&text) {
            Ok(limits) => world.limits = limits,
            Err(why) => {
                let _ = writeln!(world.stderr, "{TEST_LIMITS}: {why}");
                return ExitCode::from(99);
            }
        }
    }
    pairflow::main_with(world)
}
