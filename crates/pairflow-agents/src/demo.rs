//! What `pairflow demo` plays: a tiny repository, a task, and two scripted agents who do it. Needs nothing but git and sh.

/// The name under which errors speak of the demo's script.
pub const DEMO_SCRIPT_NAME: &str = "demo.yaml";

/// What the two agents do, turn by turn.
pub const DEMO_SCRIPT: &str = include_str!("../scripts/demo.yaml");

/// The task.
pub const DEMO_TASK: &str = include_str!("../scripts/demo/task.md");

/// The check that pairflow runs on every snapshot.
pub const DEMO_TEST: &str = "sh tests.sh";

/// The files of the repository before the work begins.
pub const DEMO_FILES: &[(&str, &str)] = &[
    ("README.md", include_str!("../scripts/demo/README.md")),
    ("fetch.sh", include_str!("../scripts/demo/fetch.sh")),
    ("tests.sh", include_str!("../scripts/demo/tests.sh")),
];
