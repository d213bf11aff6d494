//! The walker: follows a process's own pointers through its memory, in the soft interrupt.
//!
//! The memory is an arena of BPF, which the kernel maps into the process at the address that its
//! pointers are of. The program casts each pointer from that address to its own; one that leads
//! nowhere reads as 0, by the kernel's own table of faults, so a wrong one ends the walk.

use super::PASS;
use super::assembler::{Code, Compute, If, R0, R1, R2, R3, R4, Register, Width};

/// Words at the begin of an arena.
pub(in crate::active) const FIRST: usize = 0;
pub(in crate::active) const SUM: usize = 1;
pub(in crate::active) const COUNT: usize = 2;

/// How many nodes a walk has at most.
pub const MOST_NODES: usize = 1_000;

/// The program for the arena of this map: walks the list whose first node's address is in the word
/// [`FIRST`], adds its values up in [`SUM`], and counts them in [`COUNT`]. A node is the address of
/// the next, or 0, and a value.
pub(in crate::active) fn walker(map: i32) -> Vec<u64> {
    let mut code = Code::default();
    let [head, node, sum, value]: [Register; 4] = [R1, R2, R0, R4];
    code.load_value(head, map, 0);
    code.cast_to_kernel(head);
    code.compute(Compute::Move, sum, 0);
    code.compute(Compute::Move, R3, 0);
    code.load(Width::Eight, node, head, 8 * FIRST);
    code.label("node");
    code.jump(If::Equal, node, 0, "end");
    code.cast_to_kernel(node);
    code.load(Width::Eight, value, node, 8);
    code.load(Width::Eight, node, node, 0);
    code.compute(Compute::Add, sum, value);
    code.compute(Compute::Add, R3, 1);
    code.jump(If::Below, R3, MOST_NODES as i32, "node");
    code.label("end");
    code.store(Width::Eight, head, 8 * SUM, sum);
    code.store(Width::Eight, head, 8 * COUNT, R3);
    code.exit(PASS);
    code.finish()
}
