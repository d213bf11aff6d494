//! Fast paths: what FOX built into research kernels (HARE, NIX, FusedOS), on stock Linux.
//!
//! One core of a machine is the *service core*; a [`Service`] is a thread on it that makes system
//! calls for threads of the other cores, which thereby never enter the kernel. A thread writes what
//! it wants into one cache line of its [`lane`] and goes on.
//!
//! | module | what it holds |
//! |---|---|
//! | [`service`] | the thread on the service core, and what it does where there is one core only |
//! | [`post`], [`routine`] | curried calls: made ready once, fired by writing a line |
//! | [`frame`] | a frame that is made but for the bytes of a datagram |
//! | `carrier`, `xdp_socket` | how frames are handed to an interface |
//! | [`shipper`], [`shippable`] | shipped calls: made in a thread's place, and which can be |
//! | `dispatch`, `program` | the same for code and programs that know nothing of it, on x86-64 |
//! | [`active`] | active messages: changes of words where their frame arrives |
//! | [`space`] | memory at one address in all processes of a group |
//! | [`pages`] | words on pages of 2 MiB |
//! | [`lane`] | the lines, as a protocol that a model checker has seen all of |
//! | `memory`, `pause`, `kernel` | the pages of a lane; waiting for another core; system calls |
//! | [`error`] | what can go wrong, with what to do |
//!
//! Each mechanism is behind one interface with its fallbacks, and says which of these it uses. The
//! agent needs none of it. What was measured and why it is so: docs/reference/fast-path.md and
//! docs/decisions/0075-fast-paths.md.

#![deny(unsafe_code)]

pub mod active;
mod carrier;
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "it is where the calls of other code are taken over")]
pub mod dispatch;
pub mod error;
pub mod frame;
#[expect(unsafe_code, reason = "it is where the kernel is called")]
mod kernel;
pub mod lane;
#[expect(unsafe_code, reason = "it is where pages become cache lines")]
mod memory;
#[expect(unsafe_code, reason = "it is where pages become words")]
pub mod pages;
mod pause;
pub mod post;
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "it is where a program is put into memory")]
pub mod program;
pub mod routine;
pub mod service;
pub mod shippable;
#[expect(unsafe_code, reason = "it is where system calls of any kind are made")]
pub mod shipper;
pub mod space;
#[expect(unsafe_code, reason = "it is where frames are shared with the kernel")]
mod xdp_socket;

pub use carrier::Handover;
pub use error::{CurryError, DispatchError, FireError, LaneError, ProgramError, StartError};
pub use lane::INLINE_BYTES;
pub use post::{Post, Progress, Ticket};
pub use routine::Routine;
pub use service::{Service, Settings, Way};
pub use shipper::{Call, Made, Shipper};
pub use xdp_socket::bind_xdp;
