//! What differs between languages: file names, comments, quotes, and how tests and skip marks look.
//!
//! Patterns are tokens separated by blanks. `a|b` matches one of several, `*` any token, and `…` up to twelve tokens of
//! the same statement.

/// A language whose tests can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Language {
    Rust,
    Js,
    Python,
    Go,
}

/// A kind of quote: how it opens, how it closes, and whether it may span lines.
pub(super) type Quote = (&'static str, &'static str, bool);

/// How one language writes what matters here. Names are separated by blanks.
pub(super) struct Syntax {
    extensions: &'static str,
    /// Folders, file stems and ends of file stems that only tests have.
    folders: &'static str,
    stems: &'static str,
    ends: &'static str,
    pub(super) line_comment: &'static str,
    pub(super) quotes: &'static [Quote],
    /// Marks that keep a test from running, or from counting.
    pub(super) skips: &'static [&'static str],
    /// Code that hides a failing assertion.
    pub(super) hides: &'static [&'static str],
}

const BLOCK: Quote = ("/*", "*/", true);

const RUST: Syntax = Syntax {
    extensions: "rs",
    folders: "tests",
    stems: "test tests",
    ends: "_test _tests",
    line_comment: "//",
    quotes: &[BLOCK, ("br#\"", "\"#", true), ("r##\"", "\"##", true), ("r#\"", "\"#", true), ("\"", "\"", true)],
    skips: &["# [ ignore", "# [ cfg_attr … , ignore", "# [ cfg ( any ( ) )", "# [ cfg ( false|FALSE )"],
    hides: &["let _ = … catch_unwind"],
};

const JS: Syntax = Syntax {
    extensions: "js jsx ts tsx mjs cjs mts cts",
    folders: "__tests__ tests test e2e spec",
    stems: "test tests spec",
    ends: ".test .spec .cy .e2e -test _test -spec _spec",
    line_comment: "//",
    quotes: &[BLOCK, ("'", "'", false), ("\"", "\"", false), ("`", "`", true)],
    skips: &[
        "it|test|describe|suite|context|specify . skip|only|todo|fixme|fails|failing|fail|skipIf|runIf",
        "xit|xtest|xdescribe|xspecify|xcontext|fit|fdescribe (",
        "this|t|ctx|context|task . skip|todo (",
        "{ skip|todo|only : true",
        "pending (",
    ],
    hides: &["catch { }", "catch ( * ) { }", "catch ( ( ) => { }"],
};

const PYTHON: Syntax = Syntax {
    extensions: "py",
    folders: "tests test",
    stems: "test tests conftest",
    ends: "_test _tests",
    line_comment: "#",
    quotes: &[("\"\"\"", "\"\"\"", true), ("'''", "'''", true), ("'", "'", false), ("\"", "\"", false)],
    skips: &[
        "mark|unittest|pytest|self . skip|skipif|skipIf|skipUnless|xfail|importorskip|expectedFailure|skipTest|SkipTest",
        "@|raise skip|skipIf|skipUnless|expectedFailure|SkipTest",
        "__test__ = False",
    ],
    hides: &[
        "except : pass|continue|return",
        "except … : pass|continue|return",
        "suppress ( AssertionError|Exception|BaseException",
    ],
};

const GO: Syntax = Syntax {
    extensions: "go",
    folders: "",
    stems: "",
    ends: "_test",
    line_comment: "//",
    quotes: &[BLOCK, ("\"", "\"", false), ("'", "'", false), ("`", "`", true)],
    skips: &["t|tb|b|f|) . Skip|Skipf|SkipNow (", "/ / go : build ignore"],
    hides: &["_ = recover", "{ recover"],
};

impl Language {
    const ALL: [Self; 4] = [Self::Rust, Self::Js, Self::Python, Self::Go];

    /// Returns the language of a file, by its extension.
    pub(super) fn of(path: &str) -> Option<Self> {
        let (_, extension) = file_name(path).rsplit_once('.')?;
        Self::ALL.into_iter().find(|language| listed(language.syntax().extensions, extension))
    }

    pub(super) fn syntax(self) -> &'static Syntax {
        match self {
            Self::Rust => &RUST,
            Self::Js => &JS,
            Self::Python => &PYTHON,
            Self::Go => &GO,
        }
    }
}

/// Returns whether a file of Rust, JavaScript, TypeScript, Python or Go exists for tests alone.
///
/// Only the path counts: a source file that holds a test module is not a test file, and neither is test data.
pub fn is_test_file(path: &str) -> bool {
    let Some(language) = Language::of(path) else { return false };
    let syntax = language.syntax();
    let (stem, _) = file_name(path).rsplit_once('.').unwrap_or_default();
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    folder.split('/').any(|part| listed(syntax.folders, part))
        || listed(syntax.stems, stem)
        || syntax.ends.split_ascii_whitespace().any(|end| stem.ends_with(end))
        || (language == Language::Python && stem.starts_with("test_"))
}

/// Returns whether a file can hold tests that are read: a test file, or Rust, where tests stand beside the code.
pub fn may_hold_tests(path: &str) -> bool {
    is_test_file(path) || Language::of(path) == Some(Language::Rust)
}

/// Returns whether a list of names has the name.
pub(super) fn listed(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == name)
}

fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
