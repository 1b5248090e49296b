//! Reads a patch as git prints it: files, hunks, lines. What it does not understand it keeps as a note.

/// A patch, in pieces.
#[derive(Debug, Clone, Default)]
pub(super) struct Patch<'a> {
    pub(super) files: Vec<FilePatch<'a>>,
}

/// What a patch does to one file.
#[derive(Debug, Clone)]
pub(super) struct FilePatch<'a> {
    pub(super) path: String,
    /// `new file`, `deleted`, `binary`, a change of mode, or nothing.
    pub(super) notes: Vec<&'a str>,
    pub(super) hunks: Vec<Hunk<'a>>,
}

/// Lines that belong together.
#[derive(Debug, Clone)]
pub(super) struct Hunk<'a> {
    /// The header, `@@ -1,2 +3,4 @@ fn main()`.
    pub(super) head: &'a str,
    /// The first line in the new file.
    pub(super) from: u32,
    /// How many lines it has there.
    pub(super) count: u32,
    pub(super) lines: Vec<&'a str>,
}

impl<'a> Patch<'a> {
    /// Reads a patch.
    pub(super) fn read(text: &'a str) -> Self {
        let mut patch = Self::default();
        // Only a line feed ends a line of a patch; what is in it may contain anything else.
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n').filter(|line| !line.is_empty()) {
            if let Some(paths) = line.strip_prefix("diff --git ") {
                patch.files.push(FilePatch { path: twice(paths), notes: Vec::new(), hunks: Vec::new() });
            } else if let Some(file) = patch.files.last_mut() {
                file.take(line);
            }
        }
        patch
    }

    /// How many lines the hunks have in all.
    pub(super) fn lines(&self) -> usize {
        self.files.iter().map(FilePatch::lines).sum()
    }
}

impl<'a> FilePatch<'a> {
    fn take(&mut self, line: &'a str) {
        if let Some((from, count)) = added(line) {
            self.hunks.push(Hunk { head: line, from, count, lines: Vec::new() });
        } else if let Some(hunk) = self.hunks.last_mut() {
            hunk.lines.push(line);
        } else if let Some(path) = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- ")) {
            let path = path.trim_end_matches('\t');
            if path != "/dev/null" {
                self.path = name(path);
            }
        } else if line.starts_with("Binary files ") {
            self.notes.push("binary");
        } else if !line.starts_with("index ") {
            self.notes.push(line);
        }
    }

    /// How many lines its hunks have.
    pub(super) fn lines(&self) -> usize {
        self.hunks.iter().map(|hunk| hunk.lines.len()).sum()
    }

    /// How many lines are added and removed.
    pub(super) fn counts(&self) -> (usize, usize) {
        let lines = || self.hunks.iter().flat_map(|hunk| &hunk.lines);
        (lines().filter(|line| line.starts_with('+')).count(), lines().filter(|line| line.starts_with('-')).count())
    }
}

/// The lines of the new file that a hunk header speaks of: `@@ -1,2 +3,4 @@` is 4 lines from 3.
fn added(line: &str) -> Option<(u32, u32)> {
    let range = line.strip_prefix("@@ ")?.split(' ').find_map(|part| part.strip_prefix('+'))?;
    let (from, count) = range.split_once(',').unwrap_or((range, "1"));
    Some((from.parse().ok()?, count.parse().ok()?))
}

/// Reads `a/path b/path`, in which both are the same.
fn twice(paths: &str) -> String {
    let half = paths.len() / 2;
    paths.get(half + 1..).map(name).unwrap_or_default()
}

/// Reads one path without its `a/` or `b/`; git quotes odd ones like a string in C.
fn name(path: &str) -> String {
    let quoted = path.strip_prefix('"').and_then(|path| path.strip_suffix('"'));
    let path = quoted.map_or_else(|| path.to_owned(), unquoted);
    path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(&path).to_owned()
}

fn unquoted(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes().peekable();
    while let Some(byte) = rest.next() {
        let escaped = if byte == b'\\' { rest.next() } else { None };
        bytes.push(match escaped {
            None => byte,
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(digit @ b'0'..=b'3') => {
                let mut octal = || rest.next_if(|byte| matches!(byte, b'0'..=b'7')).map_or(0, |byte| byte - b'0');
                let (middle, last) = (octal(), octal());
                (digit - b'0') * 64 + middle * 8 + last
            }
            Some(other) => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "diff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n\
        @@ -1,2 +1,3 @@ fn main\n context\n--- a/looks like a header\n+++ b/and this\n+new\n@@ -9 +10 @@\n-x\n+y\n\
        \\ No newline at end of file\n\
        diff --git a/pic b/pic\nnew file mode 100644\nindex 0..1\nBinary files /dev/null and b/pic differ\n\
        diff --git \"a/\\303\\244 b\" \"b/\\303\\244 b\"\ndeleted file mode 100644\n--- \"a/\\303\\244 b\"\n+++ /dev/null\n\
        @@ -1 +0,0 @@\n-gone\n";

    #[test]
    fn files_hunks_and_lines_are_told_apart() {
        let patch = Patch::read(PATCH);
        let paths: Vec<_> = patch.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["src/a.rs", "pic", "ä b"]);
        let first = &patch.files[0];
        assert_eq!((first.hunks.len(), first.counts(), first.lines()), (2, (3, 2), 7));
        assert_eq!((first.hunks[1].from, first.hunks[1].count), (10, 1));
        assert_eq!(patch.files[1].notes, ["new file mode 100644", "binary"]);
        assert_eq!(patch.lines(), 8);
    }

    #[test]
    fn anything_else_is_read_without_complaint() {
        for text in ["", "\n\n", "@@ no file @@\n+x", "diff --git ", "diff --git x\n@@ -1 +9999999999999 @@\n"] {
            assert_eq!(Patch::read(text).lines(), 0, "{text:?}");
        }
    }
}
