//! No space for the file of a store: nothing is lost, and all goes on when there is some.
//!
//! Results alone are more than the disk holds, so it does get full, whatever the file looks like.

use std::time::Duration;

use tidings_tests::disk::Disk;

use crate::account::{Account, names};
use crate::cluster::Cluster;
use crate::run::Word;
use crate::site::Site;

/// A task whose result has the last 6 KiB of two outputs.
const LONG: &str = "\
echo \"$1 $TIDINGS_ATTEMPT $HOST\" >> ran
head -c 6144 /dev/zero | tr '\\0' e >&2
head -c 6144 /dev/zero | tr '\\0' o | head -c 6100
echo
echo \"result $1 $TIDINGS_ATTEMPT\"
";

/// What is too little for all results, and what is enough.
const SMALL_KIB: u32 = 2_048;
const ENOUGH_KIB: u32 = 65_536;

/// Time without an end of a task after which the disk is taken as full.
const FULL: Duration = Duration::from_secs(2);

fn goes_on(is_holder_killed: bool) {
    let mut site = Site::of_file();
    let place = crate::place::Place::with_disk();
    let disk = Disk::at(&place.path("disk"), SMALL_KIB);
    let mut cluster = Cluster::at(&mut site, place, std::collections::BTreeMap::new());
    cluster.place.script("task", LONG);
    let names = names(300);
    let mut run = cluster.run(&names);
    let mut account = Account::default();
    while let Word::Ended(object) = run.next(FULL) {
        account.take(&object);
    }
    assert!(account.len() < names.len(), "all fits on the disk");
    if is_holder_killed {
        cluster.replace_holder();
    }
    disk.resize(ENOUGH_KIB);
    cluster.complete(&mut account, &names, run);
    cluster.check(&mut account, &names);
}

#[test]
fn a_disk_that_is_full_is_waited_for() {
    goes_on(false);
}

#[test]
fn a_holder_that_is_killed_with_its_disk_full_is_replaced() {
    goes_on(true);
}
