//! One work for every peer, and what is measured while it is done.
//!
//! N nodes in one process on loopback. Each makes a state of 64 bytes that nothing can compress
//! anew every interval, and each is to know the states of all others as fresh as it can. A state
//! carries the moment of its birth on the one clock of the process, so ages are exact, whatever a
//! peer says of them.
//!
//! | module | what it is |
//! |---|---|
//! | [`work`] | the parameters and the phases of a run |
//! | [`state`] | the state of a node, in bytes and in text |
//! | [`tally`] | the ages seen |
//! | [`cost`] | CPU, memory and bytes sent |
//! | [`report`] | the JSON object that each program prints |

pub mod cost;
pub mod readings;
pub mod report;
pub mod state;
pub mod tally;
pub mod work;
