//! Which rank died, as the application numbers its ranks: launchers count the hidden ones too.

/// What stands before the number of a rank where Open MPI and MPICH say which one ended a job.
const BEFORE: [&str; 3] = ["process rank ", "process rank: ", "RANK "];

/// What a launcher's complaint says in the application's terms, if it names a rank and every k-th
/// rank is hidden.
pub(crate) fn rank(complaint: &str, every: u32) -> Option<String> {
    let rank = BEFORE.iter().find_map(|before| complaint.split(before).skip(1).find_map(leading));
    let rank = rank.or_else(|| named(complaint))?;
    Some(if rank % every == every - 1 {
        format!("the launcher's rank {rank} is a hidden one")
    } else {
        format!("the launcher's rank {rank} is the application's rank {}", rank - rank / every)
    })
}

fn leading(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Open MPI's other form: `Process name: [[25961,1],2]`.
fn named(complaint: &str) -> Option<u32> {
    let (_, rest) = complaint.split_once("Process name: [[")?;
    leading(rest.split_once("],")?.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_that_died_is_the_applications() {
        for (complaint, wanted) in [
            ("mpirun noticed that process rank 4 with PID 0 on node a exited", Some("rank 3")),
            ("process rank 2 with PID 7", Some("hidden")),
            ("=   RANK 3 PID 1686 RUNNING AT vm", Some("rank 2")),
            ("Process name: [[25961,1],1] Exit code: 7", Some("application's rank 1")),
            ("ended with exit status 7", None),
        ] {
            let said = rank(complaint, 3);
            let fits = match (&said, wanted) {
                (Some(said), Some(wanted)) => said.contains(wanted),
                (None, None) => true,
                _ => false,
            };
            assert!(fits, "{complaint}: {said:?}");
        }
    }
}
