//! The measuring lab: what gossip costs an application that runs beside it, with an interval.
//!
//! A campaign runs an application again and again: with gossip on hidden ranks, at several
//! intervals and windows, and without (hidden ranks asleep). Time alone cannot tell a slowdown of
//! half a per cent from a machine that was busy with something else, so the method is that of a
//! randomised experiment:
//!
//! * **Repetitions.** A repetition runs every arm once, the baseline twice, in a random order. What
//!   drifts from one to the next drops out of the ratio of an arm to the baseline of the same
//!   repetition, a *pair*.
//! * **A/A pairs.** The two baseline runs of a repetition differ by noise alone. The interval of
//!   their ratio is the *noise floor*: no estimate below it is reported.
//! * **A rule fixed beforehand.** Runs that outside work disturbed are dropped by bounds that the
//!   campaign file states, and counted.
//! * **One threshold for all arms.** Tests share an error rate of 5 % (Holm), so a campaign of many
//!   arms raises no more false alarms than one of a single arm.
//!
//! [`campaign`] is read from a file, [`schedule`] lays out the runs, [`stage`] says what each asks
//! of its backend, and [`measure`] makes them and notes a [`record`] of each. [`analysis`] needs
//! the journal alone; [`report`], [`page`] and [`picture`] show it, [`comparison`] sets two
//! campaigns beside each other. How runs are started, kept and disturbed is for
//! `tidings-experiment`.
//!
//! Source: the method of Levy et al. (ROSS'14), section 4, with what it lacked: A/A runs,
//! repetitions and intervals. Runs are ordered as in Georges, Buytaert and Eeckhout (OOPSLA'07) and
//! Hoefler and Belli (SC'15).

#![forbid(unsafe_code)]

pub mod analysis;
pub mod campaign;
pub mod comparison;
pub mod measure;
pub mod page;
pub mod picture;
pub mod record;
pub mod report;
pub mod schedule;
pub mod stage;
mod verdict;
mod warnings;
mod words;

pub use campaign::Campaign;
