//! The words of one line of a script.

use std::collections::VecDeque;

/// The words of a line that have not been read yet.
pub(super) struct Words {
    line: String,
    rest: VecDeque<Word>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    Plain(String),
    Quoted(String),
}

impl Words {
    /// Splits a line at white space; what stands in single quotes is one word.
    pub(super) fn of(line: &str) -> Self {
        let mut rest = VecDeque::new();
        for (at, part) in line.split('\'').enumerate() {
            if at % 2 == 1 {
                rest.push_back(Word::Quoted(part.to_owned()));
            } else {
                rest.extend(part.split_whitespace().map(|word| Word::Plain(word.to_owned())));
            }
        }
        Self { line: line.to_owned(), rest }
    }

    /// Reads `word` if it is next.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let next = self.rest.front().is_some_and(|next| matches!(next, Word::Plain(plain) if plain == word));
        if next {
            self.rest.pop_front();
        }
        next
    }

    /// Reads the next plain word, whatever it is.
    pub(super) fn plain(&mut self) -> Option<String> {
        match self.rest.front() {
            Some(Word::Plain(_)) => self.rest.pop_front().map(Word::text),
            _ => None,
        }
    }

    /// Reads the next quoted text.
    pub(super) fn quoted(&mut self) -> Option<String> {
        match self.rest.front() {
            Some(Word::Quoted(_)) => self.rest.pop_front().map(Word::text),
            _ => None,
        }
    }

    /// Reads the next plain word, which must be there.
    pub(super) fn need(&mut self, what: &str) -> String {
        self.plain().unwrap_or_else(|| self.reject(what))
    }

    /// Reads the next quoted text, which must be there.
    pub(super) fn need_quoted(&mut self, what: &str) -> String {
        self.quoted().unwrap_or_else(|| self.reject(what))
    }

    /// Reads the word after `name` if `name` is next.
    pub(super) fn after(&mut self, name: &str) -> Option<String> {
        self.take(name).then(|| self.need(name))
    }

    /// Reads the rest as a list with commas.
    pub(super) fn list(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        while let Some(word) = self.plain() {
            all.extend(word.split(',').filter(|part| !part.is_empty()).map(str::to_owned));
        }
        all
    }

    /// Makes sure that nothing is left.
    pub(super) fn end(&self) {
        if let Some(word) = self.rest.front() {
            self.reject(&format!("nothing after this, but there is {word:?}"))
        }
    }

    /// Ends the test.
    pub(super) fn reject(&self, wanted: &str) -> ! {
        panic!("the script line `{}` is not understood; wanted: {wanted}", self.line)
    }
}

impl Word {
    fn text(self) -> String {
        match self {
            Self::Plain(text) | Self::Quoted(text) => text,
        }
    }
}
