//! JSON with a memory: every value knows its path, and no key can hide another.
//!
//! `serde_json::Value` keeps the last of two equal keys without a word, so a document could say one thing to a person
//! and another to us; this reader refuses it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::error::{BadFeedback, Place, Wrong, quoted};
use super::fence::Document;

/// A JSON value; of numbers only what a line number can be.
#[derive(Debug, PartialEq)]
pub(super) enum Node {
    Null,
    Flag(bool),
    Whole(u64),
    Number,
    Text(String),
    List(Vec<Node>),
    Object(BTreeMap<String, Node>),
}

/// A value and where it stands.
#[derive(Debug)]
pub(super) struct Spot<'a> {
    node: &'a Node,
    pub(super) path: String,
}

/// The keys of an object and where it stands.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    entries: &'a BTreeMap<String, Node>,
    pub(super) path: String,
}

impl Node {
    /// Reads exactly one JSON value.
    pub(super) fn parse(document: &Document<'_>) -> Result<Self, BadFeedback> {
        let twice = RefCell::new(None);
        let mut from = serde_json::Deserializer::from_str(document.text);
        let read = Tree { twice: &twice }.deserialize(&mut from).and_then(|node| from.end().map(|()| node));
        read.map_err(|error| {
            let at = Place::Text { line: error.line() + document.above, column: error.column() };
            let wrong =
                twice.take().map_or_else(|| Wrong::Json { what: said(&error) }, |key| Wrong::TwiceTheKey { key });
            BadFeedback { at, wrong }
        })
    }

    /// Returns the value as the top of the document.
    pub(super) fn top(&self) -> Spot<'_> {
        Spot { node: self, path: String::new() }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Flag(_) => "true or false",
            Self::Whole(_) | Self::Number => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

impl<'a> Spot<'a> {
    pub(super) fn text(&self) -> Result<&'a str, BadFeedback> {
        if let Node::Text(text) = self.node { Ok(text) } else { Err(self.not("a text")) }
    }

    pub(super) fn flag(&self) -> Result<bool, BadFeedback> {
        if let Node::Flag(flag) = self.node { Ok(*flag) } else { Err(self.not("true or false")) }
    }

    pub(super) fn whole(&self) -> Result<u64, BadFeedback> {
        if let Node::Whole(number) = self.node { Ok(*number) } else { Err(self.not("a whole number from 0")) }
    }

    pub(super) fn list(&self) -> Result<Vec<Self>, BadFeedback> {
        let Node::List(nodes) = self.node else { return Err(self.not("a list")) };
        let item = |(at, node)| Self { node, path: format!("{}/{at}", self.path) };
        Ok(nodes.iter().enumerate().map(item).collect())
    }

    pub(super) fn fields(&self) -> Result<Fields<'a>, BadFeedback> {
        let Node::Object(entries) = self.node else { return Err(self.not("an object")) };
        Ok(Fields { entries, path: self.path.clone() })
    }

    /// Refuses the value.
    pub(super) fn bad(&self, wrong: Wrong) -> BadFeedback {
        BadFeedback::value(&self.path, wrong)
    }

    fn not(&self, expected: &'static str) -> BadFeedback {
        self.bad(Wrong::Type { expected, found: self.node.kind() })
    }
}

impl<'a> Fields<'a> {
    /// Returns the value of a key that has to be there.
    pub(super) fn need(&self, key: &'static str) -> Result<Spot<'a>, BadFeedback> {
        self.exactly(key).ok_or_else(|| BadFeedback::value(&self.path, Wrong::Missing { key }))
    }

    /// Returns the value of a key that may be missing, or null to say the same.
    pub(super) fn maybe(&self, key: &'static str) -> Option<Spot<'a>> {
        self.exactly(key).filter(|spot| *spot.node != Node::Null)
    }

    /// Returns the value of a key that may be missing, but is not null.
    pub(super) fn exactly(&self, key: &'static str) -> Option<Spot<'a>> {
        self.entries.get(key).map(|node| self.spot(key, node))
    }

    /// Returns all keys with their values.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'a str, Spot<'a>)> {
        self.entries.iter().map(|(key, node)| (key.as_str(), self.spot(key, node)))
    }

    /// Refuses keys that are not in the list.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), BadFeedback> {
        let stranger = self.all().find(|(key, _)| !known.contains(key));
        stranger.map_or(Ok(()), |(_, spot)| Err(spot.bad(Wrong::UnknownKey { known: known.join(", ") })))
    }

    fn spot(&self, key: &str, node: &'a Node) -> Spot<'a> {
        let step = quoted(&key.replace('~', "~0").replace('/', "~1"));
        Spot { node, path: format!("{}/{step}", self.path) }
    }
}

/// What the JSON reader says, without the position that it adds.
fn said(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).unwrap_or(&text).to_owned()
}

/// Builds the tree and remembers a key that was there twice.
#[derive(Clone, Copy)]
struct Tree<'t> {
    twice: &'t RefCell<Option<String>>,
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Node;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Node, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Node, E> {
        Ok(Node::Flag(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Whole(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Node, E> {
        Ok(u64::try_from(number).map_or(Node::Number, Node::Whole))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Number)
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(node) = items.next_element_seed(self)? {
            list.push(node);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut object = BTreeMap::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                self.twice.replace(Some(quoted(&key)));
                return Err(A::Error::custom("the same key twice"));
            }
            object.insert(key, entries.next_value_seed(self)?);
        }
        Ok(Node::Object(object))
    }
}
