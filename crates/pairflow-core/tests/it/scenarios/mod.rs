//! The life of a bubble as scripts: one act a line, one line of outcome for each act. The names of the tests are the
//! sentences of the protocol.

mod adopted;
mod claims;
mod commit;
mod configured;
mod conformance;
mod convergence;
mod conversation;
mod document;
mod explanation;
mod garbage;
mod history;
mod human;
mod ledger;
mod lifecycle;
mod no_early_question;
mod package;
mod pane_answers;
mod panes;
mod pause;
mod permits;
mod protocol;
mod refusals;
mod reproducer;
mod reversal;
mod risk;
mod rounds;
mod same_tree;
mod sent_back;
mod tie_break;
mod unseen;
mod update;
mod waiting_for;
mod waive;
mod watchdog;
mod whose;
