//! What a store's file lies on, where that promises less than a disk.
//!
//! A file in memory (tmpfs, as `/tmp` of some systems) is "synced" at once and gone with the host.
//! A network file system has caches of its own on each host, and locks that not all of them keep
//! among hosts. Neither is refused: who only tries a program wants no more. It is said.

use std::path::Path;

use rustix::fs::statfs;

use super::address::Address;

/// Numbers of file systems, from `linux/magic.h`.
const IN_MEMORY: [i64; 2] = [0x0102_1994, 0x8584_58F6];
const ON_A_NETWORK: [i64; 5] = [0x6969, 0xFF53_4D42, 0xFE53_4D42, 0x0BD0_0BD0, 0x4750_4653];

/// What a store in a file promises less than others; `None` if that is nothing, or not known.
pub fn warning(address: &Address) -> Option<&'static str> {
    let Address::File(path) = address else { return None };
    let place = path.ancestors().find(|place| place.exists()).unwrap_or(Path::new("."));
    warning_of(statfs(place).ok()?.f_type)
}

fn warning_of(kind: i64) -> Option<&'static str> {
    if IN_MEMORY.contains(&kind) {
        return Some(
            "the store's file is in memory (tmpfs): tasks survive all processes, but not this \
             host; name a file on a disk with --store",
        );
    }
    ON_A_NETWORK.contains(&kind).then_some(
        "the store's file is on a network file system: let processes of this host alone use it, \
         and others through --listen; what its server acknowledges may be lost with it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_from_a_disk() {
        let at = |path: &str| warning(&Address::File(path.into()));
        let found = at("/dev/shm/none/tasks").expect("it is in memory on every Linux");
        assert!(found.contains("in memory"), "{found}");
        // proc is neither.
        assert_eq!(at("/proc/self"), None);
        assert_eq!(warning(&Address::Memory), None);
        let network = warning_of(0x6969).expect("NFS");
        assert!(network.contains("network"), "{network}");
    }
}
