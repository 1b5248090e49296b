//! The files of the identity corpus, for the test of its shape and the test of the matcher.

/// The files of the corpus, by theme.
pub(crate) const THEMES: [(&str, &str); 11] = [
    ("concurrency", include_str!("concurrency.toml")),
    ("database", include_str!("database.toml")),
    ("docs_and_config", include_str!("docs_and_config.toml")),
    ("logic", include_str!("logic.toml")),
    ("native", include_str!("native.toml")),
    ("reviews", include_str!("reviews.toml")),
    ("same_lines", SAME_LINES),
    ("security", include_str!("security.toml")),
    ("storage", include_str!("storage.toml")),
    ("tests_and_ci", include_str!("tests_and_ci.toml")),
    ("web", include_str!("web.toml")),
];

/// Different claims about the same lines.
pub(crate) const SAME_LINES: &str = include_str!("same_lines.toml");
