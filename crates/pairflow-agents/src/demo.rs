//! What `pairflow demo` plays: a tiny repository, a task, and two scripted agents who do it. Needs nothing but git and sh.

/// What the two agents do, turn by turn.
#[derive(Debug, Clone, Copy)]
pub struct DemoScript {
    /// The name under which errors speak of it.
    pub name: &'static str,
    /// The script.
    pub text: &'static str,
}

/// The usual demo.
pub const DEMO: DemoScript = DemoScript { name: "demo.yaml", text: include_str!("../scripts/demo.yaml") };

/// The demo of a thorough review: acceptance tests, looks without knowing what the other found, a judge.
pub const THOROUGH: DemoScript = DemoScript { name: "thorough.yaml", text: include_str!("../scripts/thorough.yaml") };

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
