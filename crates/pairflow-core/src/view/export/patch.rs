//! Reads a patch as git prints it: files, hunks, lines. What it does not understand it keeps as a note.

use crate::gates::diff::{HunkHeader, LineRange, read_path};

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
    /// Its lines in the new file.
    pub(super) new: LineRange,
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
        if let Some(HunkHeader { new, .. }) = HunkHeader::read(line) {
            self.hunks.push(Hunk { head: line, new, lines: Vec::new() });
        } else if let Some(hunk) = self.hunks.last_mut() {
            hunk.lines.push(line);
        } else if let Some(path) = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- ")) {
            if let Some(path) = read_path(path) {
                self.path = path;
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

/// Reads `a/path b/path`, in which both are the same.
fn twice(paths: &str) -> String {
    let half = paths.len() / 2;
    paths.get(half + 1..).and_then(read_path).unwrap_or_default()
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
        assert_eq!(first.hunks[1].new, LineRange { from: 10, count: 1 });
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
