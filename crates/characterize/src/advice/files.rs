//! Files that have launchers place ranks as advised.
//!
//! | file | launcher |
//! |---|---|
//! | `rankfile` | Open MPI: `mpirun --rankfile rankfile` |
//! | `hosts` | a host for each rank: Slurm's `SLURM_HOSTFILE` with `srun --distribution=arbitrary`, Open MPI's `--mca rmaps seq --hostfile hosts`, SMPI's `smpirun -hostfile hosts` |
//! | `machinefile` | MPICH's HYDRA: `mpirun -f machinefile` |
//! | `rank_order` | MPICH of Cray: `MPICH_RANK_ORDER`, with `MPICH_RANK_REORDER_METHOD=3` |
//! | `order` | `tidings-mpi-characterize --order`: for each rank of HALO, which of all ranks it is |

use std::fmt::Write as _;

use super::machine::Machine;

/// The files with their contents, for ranks at these places.
pub fn files(machine: &Machine, slots: &[u32]) -> Vec<(&'static str, String)> {
    let host = |slot: u32| machine.nodes[machine.node_of(slot as usize)].as_str();
    let mut taken = vec![0_u32; machine.nodes.len()];
    let (mut rankfile, mut hosts) = (String::new(), String::new());
    for (rank, &slot) in slots.iter().enumerate() {
        let core = &mut taken[machine.node_of(slot as usize)];
        let _ = writeln!(rankfile, "rank {rank}={} slot={core}", host(slot));
        let _ = writeln!(hosts, "{}", host(slot));
        *core += 1;
    }
    let mut runs: Vec<(&str, u32)> = Vec::new();
    for &slot in slots {
        match runs.last_mut() {
            Some((name, count)) if *name == host(slot) => *count += 1,
            _ => runs.push((host(slot), 1)),
        }
    }
    let lines = |slots: &[u32]| {
        slots.iter().fold(String::new(), |mut text, slot| {
            let _ = writeln!(text, "{slot}");
            text
        })
    };
    let machinefile = runs.iter().fold(String::new(), |mut text, (name, count)| {
        let _ = writeln!(text, "{name}:{count}");
        text
    });
    let mut ranks: Vec<(u32, usize)> = slots.iter().copied().zip(0..).collect();
    ranks.sort_unstable();
    let ranks: Vec<String> = ranks.iter().map(|(_, rank)| rank.to_string()).collect();
    vec![
        ("rankfile", rankfile),
        ("hosts", hosts),
        ("machinefile", machinefile),
        ("rank_order", ranks.join(",") + "\n"),
        ("order", lines(slots)),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::orders::tests::machine;
    use super::*;

    #[test]
    fn each_launcher_is_told_the_same_places() {
        let machine = machine([3, 1, 1], 2);
        let files = files(&machine, &[5, 4, 0, 2]);
        let of = |name: &str| {
            let found = files.iter().find(|own| own.0 == name).expect("there is one");
            found.1.as_str()
        };
        assert_eq!(of("hosts"), "n2\nn2\nn0\nn1\n");
        assert_eq!(
            of("rankfile"),
            "rank 0=n2 slot=0\nrank 1=n2 slot=1\nrank 2=n0 slot=0\nrank 3=n1 slot=0\n"
        );
        assert_eq!(of("machinefile"), "n2:2\nn0:1\nn1:1\n");
        assert_eq!(of("rank_order"), "2,3,1,0\n");
        assert_eq!(of("order"), "5\n4\n0\n2\n");
    }
}
