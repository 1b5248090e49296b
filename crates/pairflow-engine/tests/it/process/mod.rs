//! Process groups and what outlives them.

mod groups;
mod orphans;
