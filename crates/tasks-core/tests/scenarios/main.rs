//! Scenarios: one coordinator, step by step, and what the store has after each.
//!
//! Each is the story of something that goes wrong in other systems, or went wrong here.

mod beside;
mod broadcasts;
mod conserved;
mod effects;
mod ended;
mod graphs;
mod handles;
mod in_place;
mod needs;
mod outputs;
mod permits;
mod phi;
mod poison;
mod puts;
mod spaces;
mod speeds;
mod stage;
mod stages;
mod tasks;
mod views;
