//! Reads what `git diff -U3 --no-renames` prints: files, hunks, and lines with their numbers on both sides.
//!
//! The reader never fails. What is not a diff is passed over; a hunk ends where its counts say, or earlier at the first
//! line that cannot belong to it. One pass, so the work grows with the length of the text.

/// One file of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileDiff<'a> {
    /// The path before the change; none when the file is new.
    pub old_path: Option<String>,
    /// The path after the change; none when the file is deleted.
    pub new_path: Option<String>,
    /// Whether git shows the file as binary, so that there are no lines to read.
    pub binary: bool,
    /// The changed places, in order.
    pub hunks: Vec<DiffHunk<'a>>,
}

impl FileDiff<'_> {
    /// Returns the path to call the file by: the new one, or the old one of a deleted file.
    pub fn path(&self) -> &str {
        self.new_path.as_deref().or(self.old_path.as_deref()).unwrap_or_default()
    }
}

/// One changed place of a file, with the lines around it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DiffHunk<'a> {
    /// What git prints behind the second `@@`: the last line before the hunk that looks like a heading.
    pub heading: &'a str,
    /// The lines, in order.
    pub lines: Vec<DiffLine<'a>>,
}

/// One line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffLine<'a> {
    /// What happened to the line.
    pub change: LineChange,
    /// Its number in the old file; for an added line, the number of the old line that follows it.
    pub old: u32,
    /// Its number in the new file; for a removed line, the number of the new line that follows it.
    pub new: u32,
    /// The text, without the mark and the line end.
    pub text: &'a str,
}

/// What happened to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineChange {
    /// The line is on both sides.
    Kept,
    /// The line is only in the new file.
    Added,
    /// The line is only in the old file.
    Removed,
}

/// The header of a hunk: `@@ -1,2 +3,4 @@ heading`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HunkHeader<'a> {
    /// The lines of the old file that the hunk is about.
    pub old: LineRange,
    /// The lines of the new file that the hunk is about.
    pub new: LineRange,
    /// What git prints behind the second `@@`, with the blank before it.
    pub heading: &'a str,
}

/// Lines of a file that follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineRange {
    /// The number of the first one.
    pub from: u32,
    /// How many there are.
    pub count: u32,
}

impl<'a> HunkHeader<'a> {
    /// Reads a line of a diff; returns nothing if it is not the header of a hunk.
    pub fn read(line: &'a str) -> Option<Self> {
        let (numbers, heading) = line.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = numbers.split_once(" +")?;
        Some(Self { old: LineRange::read(old)?, new: LineRange::read(new)?, heading })
    }
}

impl LineRange {
    /// Whether the line with this number is among them.
    pub fn contain(self, line: u32) -> bool {
        line.checked_sub(self.from).is_some_and(|after| after < self.count)
    }

    /// Reads `3,4`, which is 4 lines from 3, or `3`, which is that line alone.
    fn read(text: &str) -> Option<Self> {
        let (from, count) = text.split_once(',').unwrap_or((text, "1"));
        Some(Self { from: from.parse().ok()?, count: count.parse().ok()? })
    }
}

/// Reads a unified diff, passing over everything that is not one.
pub fn read(diff: &str) -> Vec<FileDiff<'_>> {
    let mut reader = DiffReader::default();
    for line in diff.split('\n') {
        reader.line(line.strip_suffix('\r').unwrap_or(line));
    }
    reader.files
}

#[derive(Default)]
struct DiffReader<'a> {
    files: Vec<FileDiff<'a>>,
    /// Lines that the open hunk still expects on the old and on the new side.
    left: (u32, u32),
    /// Numbers of the next line on the old and on the new side.
    next: (u32, u32),
    /// Whether the open file has had its `---` line, so that another one opens a file.
    named: bool,
}

impl<'a> DiffReader<'a> {
    fn line(&mut self, text: &'a str) {
        if self.left != (0, 0) && self.hunk_line(text) {
            return;
        }
        self.left = (0, 0);
        self.header(text);
    }

    /// Takes a line of the open hunk; returns whether it is one.
    fn hunk_line(&mut self, text: &'a str) -> bool {
        let (change, rest) = match text.as_bytes().first() {
            // Mail programs and editors strip the one blank of an empty kept line.
            None => (LineChange::Kept, text),
            Some(b' ') => (LineChange::Kept, &text[1..]),
            Some(b'+') => (LineChange::Added, &text[1..]),
            Some(b'-') => (LineChange::Removed, &text[1..]),
            Some(b'\\') => return true,
            Some(_) => return false,
        };
        let (in_old, in_new) = (change != LineChange::Added, change != LineChange::Removed);
        if (in_old && self.left.0 == 0) || (in_new && self.left.1 == 0) {
            return false;
        }
        let Some(hunk) = self.files.last_mut().and_then(|file| file.hunks.last_mut()) else { return false };
        hunk.lines.push(DiffLine { change, old: self.next.0, new: self.next.1, text: rest });
        if in_old {
            self.left.0 -= 1;
            self.next.0 = self.next.0.saturating_add(1);
        }
        if in_new {
            self.left.1 -= 1;
            self.next.1 = self.next.1.saturating_add(1);
        }
        true
    }

    fn header(&mut self, text: &'a str) {
        if let Some(paths) = text.strip_prefix("diff --git ") {
            self.open(git_paths(paths));
        } else if let Some(path) = text.strip_prefix("--- ") {
            if self.named || self.files.is_empty() {
                self.open(None);
            }
            self.named = true;
            self.name(|file| file.old_path = read_path(path));
        } else if let Some(path) = text.strip_prefix("+++ ") {
            self.name(|file| file.new_path = read_path(path));
        } else if text.starts_with("new file mode ") {
            self.name(|file| file.old_path = None);
        } else if text.starts_with("deleted file mode ") {
            self.name(|file| file.new_path = None);
        } else if text.starts_with("Binary files ") || text == "GIT binary patch" {
            self.name(|file| file.binary = true);
        } else if let Some(header) = HunkHeader::read(text) {
            self.hunk(&header);
        }
    }

    fn open(&mut self, path: Option<String>) {
        self.named = false;
        self.files.push(FileDiff { old_path: path.clone(), new_path: path, ..FileDiff::default() });
    }

    fn name(&mut self, set: impl FnOnce(&mut FileDiff<'a>)) {
        if let Some(file) = self.files.last_mut() {
            set(file);
        }
    }

    fn hunk(&mut self, header: &HunkHeader<'a>) {
        let Some(file) = self.files.last_mut() else { return };
        file.hunks.push(DiffHunk { heading: header.heading.trim(), lines: Vec::new() });
        self.next = (header.old.from, header.new.from);
        self.left = (header.old.count, header.new.count);
    }
}

/// The path of `a/path b/path`, where both sides name the same file: git then prints it twice, so it is half the text.
fn git_paths(text: &str) -> Option<String> {
    let half = text.len().checked_sub(1)? / 2;
    if text.len().is_multiple_of(2) || text.as_bytes().get(half) != Some(&b' ') {
        return None;
    }
    read_path(&text[..half])
}

/// Reads the path of a `---` or `+++` line: unquoted, without git's prefix and the tab behind names with blanks.
pub(crate) fn read_path(text: &str) -> Option<String> {
    let text = text.strip_suffix('\t').unwrap_or(text);
    let plain = match text.strip_prefix('"') {
        Some(quoted) => unquote(quoted.strip_suffix('"').unwrap_or(quoted)),
        None => text.to_owned(),
    };
    if plain == "/dev/null" || plain.is_empty() {
        return None;
    }
    // `a/` and `b/`, or the letters of `diff.mnemonicPrefix`.
    let bytes = plain.as_bytes();
    let prefixed = bytes.len() > 2 && bytes[1] == b'/' && b"abciow".contains(&bytes[0]);
    Some(if prefixed { plain[2..].to_owned() } else { plain })
}

/// Undoes git's C-style quoting; bytes that are no UTF-8 become replacement marks.
fn unquote(quoted: &str) -> String {
    let mut plain = Vec::with_capacity(quoted.len());
    let mut rest = quoted.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let octal = behind.get(..3).and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok());
        let (byte, len) = match (first, octal, behind.first()) {
            (b'\\', Some(byte), _) => (byte, 4),
            (b'\\', None, Some(letter)) => {
                // The letters of the control characters from 7 on.
                let control = (7..).zip(b"abtnvfr").find(|(_, known)| *known == letter);
                (control.map_or(*letter, |(byte, _)| byte), 2)
            }
            _ => (*first, 1),
        };
        plain.push(byte);
        rest = &rest[len..];
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hunk_header_names_the_lines_of_both_sides() {
        let lines = |from, count| LineRange { from, count };
        let header = HunkHeader::read("@@ -1,2 +3,4 @@ fn main() {").unwrap();
        assert_eq!(header, HunkHeader { old: lines(1, 2), new: lines(3, 4), heading: " fn main() {" });
        assert_eq!([2, 3, 6, 7].map(|line| header.new.contain(line)), [false, true, true, false]);
        assert_eq!(HunkHeader::read("@@ -1 +7 @@").map(|header| header.new), Some(lines(7, 1)));
        let removed = HunkHeader::read("@@ -5,2 +4,0 @@").unwrap();
        assert_eq!((removed.new, removed.new.contain(4)), (lines(4, 0), false));
        assert!(lines(u32::MAX, u32::MAX).contain(u32::MAX));
    }

    #[test]
    fn what_only_looks_like_a_hunk_header_is_none() {
        for line in
            ["+@@ -1 +1 @@", "@@ no header @@", "@@ -1 @@", "@@ -1 +9999999999999 @@", "@@ -1 +1", "@@@ -1 -1 +1 @@@"]
        {
            assert_eq!(HunkHeader::read(line), None, "{line}");
        }
    }
}
