//! HTTP on loopback, for programs and people of this machine: what the agent's page and the page of
//! tasks have in common.
//!
//! | module | what it holds |
//! |---|---|
//! | [`serving`] | connections, bounded in number and in time; requests of other hosts are rejected |
//! | [`places`] | a bounded number of connections, of which the slowest give way to the next |
//! | [`document`] | the files of a page, and what a browser may do on it |
//! | [`look`] | the files that both pages show |

#![forbid(unsafe_code)]

pub mod document;
pub mod look;
pub mod places;
pub mod serving;
