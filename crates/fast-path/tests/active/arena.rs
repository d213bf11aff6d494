//! Pointers of processes, followed in other processes and in the kernel.

use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;

use tidings_fast_path::active::ActiveError;
use tidings_fast_path::active::arena::{Arena, MOST_NODES, Ticket};

const TICKET: &str = "TIDINGS_ARENA_TICKET";

/// An arena; none without the privilege, which the error names.
fn created() -> Option<Arena> {
    match Arena::create(4) {
        Ok(arena) => Some(arena),
        Err(error) => {
            let error = error.to_string();
            assert!(error.contains("CAP_BPF") && !rustix::process::geteuid().is_root(), "{error}");
            None
        }
    }
}

/// A node: the address of the next one, and a value.
fn set(arena: &Arena, node: usize, next: u64, value: u64) {
    arena.words()[2 * node].store(next, Ordering::Release);
    arena.words()[2 * node + 1].store(value, Ordering::Release);
}

/// Pointers of this process, followed in the kernel.
#[test]
fn a_program_follows_the_pointers_of_a_process() {
    let Some(arena) = created() else { return };
    let at = |node: usize| arena.address(2 * node).expect("in the arena");
    let set = |node: usize, next: u64, value: u64| set(&arena, node, next, value);
    // From each node to one far from it, so that no order of the memory helps.
    let place = |node: usize| node * 37 % 100;
    for node in 0..100 {
        let next = if node == 99 { 0 } else { at(place(node + 1)) };
        set(place(node), next, node as u64);
    }
    let walked = arena.walk(at(place(0))).expect("it runs");
    assert_eq!((walked.nodes, walked.sum), (100, 99 * 100 / 2));
    assert_eq!(arena.walk(0).expect("it runs").nodes, 0);
    // A circle ends, and so does a pointer to nowhere.
    set(place(99), at(place(0)), 0);
    assert_eq!(arena.walk(at(0)).expect("it runs").nodes, MOST_NODES as u64);
    assert!(arena.walk(u64::MAX / 3).expect("it runs").nodes <= 1);
    assert!(matches!(Arena::create(0), Err(ActiveError::Pages { .. })));
}

/// What another process does; as a test of its own, nothing: it follows the pointers that its
/// parent has written, and puts a node of its own before them.
#[test]
fn a_process_with_the_arena() {
    let Ok(ticket) = std::env::var(TICKET) else { return };
    let numbers: Vec<u64> = ticket.split(' ').map(|one| one.parse().expect("a number")).collect();
    let [map, pages, base] = numbers[..] else { panic!("three numbers: {ticket}") };
    let ticket = Ticket { map: map as u32, pages: pages as usize, base };
    let arena = Arena::attach(ticket).expect("the parent has it");
    let first = arena.words()[0].load(Ordering::Acquire);
    let (mut node, mut sum) = (first, 0);
    while node != 0 {
        sum += arena.at(node + 8).expect("in the arena").load(Ordering::Acquire);
        node = arena.at(node).expect("in the arena").load(Ordering::Acquire);
    }
    assert_eq!(sum, 4 + 5);
    set(&arena, 9, first, 6);
    arena.words()[0].store(arena.address(18).expect("in the arena"), Ordering::Release);
    assert!(arena.at(0).is_none() && arena.at(first + 1).is_none() && arena.at(u64::MAX).is_none());
}

/// One address in two processes and in the kernel.
#[test]
fn a_list_of_two_processes_is_followed_in_both_and_in_the_kernel() {
    let Some(arena) = created() else { return };
    let at = |node: usize| arena.address(2 * node).expect("in the arena");
    set(&arena, 3, 0, 4);
    set(&arena, 7, at(3), 5);
    arena.words()[0].store(at(7), Ordering::Release);
    let ticket = arena.ticket().expect("root may");
    let mut program = Command::new(std::env::current_exe().expect("this program"));
    program.args(["--exact", "arena::a_process_with_the_arena", "--test-threads=1"]);
    let said = format!("{} {} {}", ticket.map, ticket.pages, ticket.base);
    program.env(TICKET, said).stdout(Stdio::null());
    assert!(program.status().expect("it can be started").success());
    let walked = arena.walk(arena.words()[0].load(Ordering::Acquire)).expect("it runs");
    assert_eq!((walked.nodes, walked.sum), (3, 4 + 5 + 6));
    let wrong = Arena::attach(Ticket { map: u32::MAX, ..ticket });
    assert!(matches!(wrong, Err(ActiveError::Kernel { .. })), "nobody has it: {wrong:?}");
    let wrong = Arena::attach(ticket);
    assert!(matches!(wrong, Err(ActiveError::Kernel { .. })), "it is here already: {wrong:?}");
    let wrong = Arena::attach(Ticket { pages: 3, ..ticket });
    assert!(matches!(wrong, Err(ActiveError::Kernel { .. })), "of another size: {wrong:?}");
}
