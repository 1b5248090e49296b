//! The requirements and acceptance criteria of a set of documents: items, rows, headings and named paragraphs.

use super::block::Kind;
use super::id::Mention;
use super::outline::{Entry, Outline, Role, is_criterion_prefix};
use super::section::Section;

/// Returns the entries, in the order of the text.
pub(super) fn entries(outline: &Outline<'_>) -> Vec<Entry> {
    let mut reader = Reader { outline, entries: Vec::new(), owners: Vec::new(), above: Vec::new() };
    for block in 0..outline.blocks.len() {
        let owner = reader.read(block);
        reader.owners.push(owner);
    }
    reader.entries
}

struct Reader<'a> {
    outline: &'a Outline<'a>,
    entries: Vec<Entry>,
    /// The entry that each block read so far belongs to.
    owners: Vec<Option<usize>>,
    /// The headings above: page, level, and the entry that each starts or belongs to.
    above: Vec<(usize, u8, Option<usize>)>,
}

impl Reader<'_> {
    fn read(&mut self, block: usize) -> Option<usize> {
        let placed = &self.outline.blocks[block];
        let level = if let Kind::Heading(level) = placed.kind { level } else { u8::MAX };
        while self.above.last().is_some_and(|(page, other, _)| *page != placed.page || *other >= level) {
            self.above.pop();
        }
        let around = self.around(block);
        let owner = match self.role(block, around) {
            Some((role, name)) => Some(self.add(block, role, name, around)),
            None => around,
        };
        if let Some(owner) = owner.filter(|owner| self.entries[*owner].block != block) {
            self.entries[owner].blocks.push(block);
        }
        if level < u8::MAX {
            self.above.push((placed.page, level, owner));
        }
        owner
    }

    /// Returns the entry that the block stands in: that of the item around it, or that of the heading above it.
    fn around(&self, block: usize) -> Option<usize> {
        let placed = &self.outline.blocks[block];
        if placed.sections.is_empty() {
            return None;
        }
        let item = placed.parent.and_then(|parent| self.owners[parent]);
        item.or_else(|| self.above.last().and_then(|(.., owner)| *owner))
    }

    fn add(&mut self, block: usize, role: Role, name: Option<Mention>, inside: Option<usize>) -> usize {
        let accepted_in_row = role == Role::Requirement && self.outline.blocks[block].row.accepted;
        self.entries.push(Entry { role, name, block, blocks: vec![block], inside, accepted_in_row });
        self.entries.len() - 1
    }

    /// Returns what the block starts, if it starts anything.
    fn role(&self, block: usize, around: Option<usize>) -> Option<(Role, Option<Mention>)> {
        let placed = &self.outline.blocks[block];
        let required = placed.sections.has(Section::Requirements);
        let accepted = placed.sections.has(Section::Acceptance);
        if !required && !accepted {
            return None;
        }
        if let Some(name) = placed.leading.clone() {
            let (role, own) = self.named(&name, required);
            return Some((role, own.then_some(name)));
        }
        let starts = placed.kind == Kind::Item || placed.row.of_entries;
        let names_requirement = placed.mentions.iter().any(|mention| self.is_requirement(mention));
        let group = matches!(placed.kind, Kind::Heading(_)) && !required && names_requirement;
        let inside = around.map(|entry| self.entries[entry].role);
        match (required && !(accepted && names_requirement), inside) {
            (false, None | Some(Role::Requirement)) if starts || group => Some((Role::Criterion, None)),
            (true, None) if starts => Some((Role::Requirement, None)),
            _ => None,
        }
    }

    /// Returns the role of what an id stands in front of, and whether the id is its own.
    fn named(&self, name: &Mention, required: bool) -> (Role, bool) {
        if is_criterion_prefix(&name.id.prefix) {
            (Role::Criterion, true)
        } else if required {
            (Role::Requirement, true)
        } else {
            (Role::Criterion, !self.is_requirement(name))
        }
    }

    fn is_requirement(&self, mention: &Mention) -> bool {
        self.outline.homes.get(&mention.id.prefix) == Some(&Section::Requirements)
    }
}
