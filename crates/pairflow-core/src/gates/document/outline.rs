//! A set of documents as one: blocks in their sections, and the entries among them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::block::{Block, Kind};
use super::id::{self, Id, Mention};
use super::inline::Inked;
use super::scan::scan;
use super::section::{Opens, Section, Sections, opens, opens_as_title};
use super::table::Columns;

/// The documents, read.
pub(super) struct Outline<'a> {
    pub(super) pages: Vec<Inked>,
    pub(super) texts: Vec<&'a str>,
    pub(super) blocks: Vec<Placed>,
    /// Where the prefix of an id belongs: `R` to the requirements.
    pub(super) homes: BTreeMap<String, Section>,
    pub(super) entries: Vec<Entry>,
    /// The ids that have a definition.
    pub(super) defined: BTreeSet<Id>,
    pub(super) links: Links,
}

/// A block, and where in the set it stands.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) page: usize,
    pub(super) kind: Kind,
    pub(super) range: Range<usize>,
    pub(super) parent: Option<usize>,
    pub(super) sections: Sections,
    /// What the heading itself opens, if the block is one.
    pub(super) opens: Sections,
    /// Whether it maps requirements to criteria.
    pub(super) trace: bool,
    /// What its table says of it, if the block is a row.
    pub(super) row: RowFacts,
    pub(super) leading: Option<Mention>,
    pub(super) mentions: Vec<Mention>,
}

/// What the columns of a table say of one of its rows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowFacts {
    /// It is a requirement or a criterion, even without an id.
    pub(super) of_entries: bool,
    /// It says itself how it is accepted.
    pub(super) accepted: bool,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Requirement,
    Criterion,
}

/// A requirement or a criterion.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) role: Role,
    /// Its id, when it has one.
    pub(super) name: Option<Mention>,
    /// The block that it starts with.
    pub(super) block: usize,
    /// Every block that belongs to it, the first included.
    pub(super) blocks: Vec<usize>,
    /// The entry that it stands in.
    pub(super) inside: Option<usize>,
    /// Whether its own row says how it is accepted.
    pub(super) accepted_in_row: bool,
}

/// Which entries belong together.
#[derive(Default)]
pub(super) struct Links {
    /// The requirement first, its criterion second. Of two requirements with one id, the first stands for both.
    pub(super) pairs: Vec<(usize, usize)>,
    /// The requirements that a table of the document maps to a criterion.
    pub(super) traced: Vec<usize>,
    /// The first entry with the same id.
    pub(super) first: Vec<usize>,
}

impl Links {
    /// Returns the entry that stands for `entry` in the pairs.
    pub(super) fn first(&self, entry: usize) -> usize {
        self.first[entry]
    }

    /// Says whether a requirement has a criterion.
    pub(super) fn reaches(&self, requirement: usize) -> bool {
        let first = self.first(requirement);
        let nth = self.pairs.partition_point(|(one, _)| *one < first);
        self.pairs.get(nth).is_some_and(|(one, _)| *one == first) || self.traced.binary_search(&first).is_ok()
    }
}

impl<'a> Outline<'a> {
    /// Reads the blocks of `documents`; the entries among them are not known yet.
    pub(super) fn of_blocks(documents: &'a [(String, String)]) -> Self {
        let (mut pages, mut blocks) = (Vec::new(), Vec::new());
        for (nth, (_, text)) in documents.iter().enumerate() {
            let page = scan(text);
            let base = blocks.len();
            let mut columns = Columns::default();
            for block in page.blocks {
                if block.kind == Kind::Header {
                    columns = Columns::read(text, block.range.clone());
                }
                let mut placed = placed(nth, block, &page.inked.prose, columns);
                placed.parent = placed.parent.map(|parent| parent + base);
                blocks.push(placed);
            }
            assign_sections(&mut blocks[base..], text);
            pages.push(page.inked);
        }
        let texts = documents.iter().map(|(_, text)| text.as_str()).collect();
        let homes = homes(&blocks);
        let (entries, defined, links) = (Vec::new(), BTreeSet::new(), Links::default());
        Self { pages, texts, blocks, homes, entries, defined, links }
    }

    /// Returns the words of a block that are prose.
    pub(super) fn prose(&self, block: usize) -> &str {
        &self.pages[self.blocks[block].page].prose[self.blocks[block].range.clone()]
    }

    /// Returns the text of a block as written.
    pub(super) fn raw(&self, block: usize) -> &'a str {
        &self.texts[self.blocks[block].page][self.blocks[block].range.clone()]
    }

    /// Returns the blocks that define an id, with it: those in the section where its prefix is at home.
    pub(super) fn definitions(&self) -> impl Iterator<Item = (usize, &Mention)> {
        self.blocks.iter().enumerate().filter_map(|(nth, block)| {
            let mention = block.leading.as_ref()?;
            let home = *self.homes.get(&mention.id.prefix)?;
            let inside = is_criterion_prefix(&mention.id.prefix) && block.sections.has(Section::Requirements);
            (inside || block.sections.has(home)).then_some((nth, mention))
        })
    }
}

/// Says whether ids with this prefix name criteria wherever they stand.
pub(super) fn is_criterion_prefix(prefix: &str) -> bool {
    prefix == "AC" || prefix.starts_with("AC-") || prefix.ends_with("-AC")
}

fn placed(page: usize, block: Block, prose: &str, columns: Columns) -> Placed {
    let Block { kind, range, parent } = block;
    let leading = match kind {
        Kind::Code | Kind::Header | Kind::Quote => None,
        Kind::Row => columns.name(prose, range.clone()),
        Kind::Heading(_) | Kind::Item => id::leading(prose, range.clone()),
        Kind::Paragraph => {
            id::leading(prose, range.clone()).filter(|mention| id::set_apart(prose, range.clone(), mention))
        }
    };
    let row = match kind {
        Kind::Row => RowFacts { of_entries: columns.of_entries, accepted: columns.accepted(prose, range.clone()) },
        _ => RowFacts::default(),
    };
    let mentions = if kind == Kind::Code { Vec::new() } else { id::mentions(prose, range.clone()) };
    let (sections, opens) = (Sections::default(), Sections::default());
    Placed { page, kind, range, parent, sections, opens, trace: false, row, leading, mentions }
}

/// Gives the blocks of one page the sections of the headings above them.
fn assign_sections(blocks: &mut [Placed], text: &str) {
    let top = blocks.iter().filter(|block| block.kind == Kind::Heading(1)).count();
    let mut above: Vec<(u8, Sections, bool)> = Vec::new();
    for block in blocks {
        if let Kind::Heading(level) = block.kind {
            while above.last().is_some_and(|(other, ..)| *other >= level) {
                above.pop();
            }
            let inherited =
                above.last().map_or((Sections::default(), false), |(_, sections, trace)| (*sections, *trace));
            let title = &text[block.range.clone()];
            let opened = if level == 1 && top == 1 { opens_as_title(title) } else { opens(title) };
            let (sections, trace) = match opened {
                Opens::Sections(sections) => (sections, false),
                Opens::Trace => (Sections::default(), true),
                Opens::Aside => (Sections::default(), false),
                Opens::Nothing => inherited,
            };
            if let Opens::Sections(sections) = opened {
                block.opens = sections;
            }
            above.push((level, sections, trace));
        }
        if let Some((_, sections, trace)) = above.last() {
            (block.sections, block.trace) = (*sections, *trace);
        }
    }
}

/// Returns for each prefix the first section, in order of rank, that has an item named with it.
fn homes(blocks: &[Placed]) -> BTreeMap<String, Section> {
    const RANKED: [Section; 5] =
        [Section::Requirements, Section::Acceptance, Section::Risks, Section::Scope, Section::NonGoals];
    let mut homes: BTreeMap<String, Section> = BTreeMap::new();
    for block in blocks {
        let Some(mention) = &block.leading else { continue };
        let prefix = &mention.id.prefix;
        let Some(mut section) = RANKED.into_iter().find(|section| block.sections.has(*section)) else { continue };
        if is_criterion_prefix(prefix) {
            section = Section::Acceptance;
        }
        let home = homes.entry(prefix.clone()).or_insert(section);
        *home = section.min(*home);
    }
    homes
}
