//! Every knob before and after: roles that are set and undone, and processes that are killed while
//! they do it, by SIGKILL before each change in turn.

mod tree;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use tempfile::TempDir;
use tidings_cores::apply::apply;
use tidings_cores::enter::{Role, enter, must_be_empty};
use tidings_cores::hierarchy::Way;
use tidings_cores::interrupts;
use tidings_cores::knob::Held;
use tidings_cores::plan::{Asked, Counted, Counts, Plan, Roles};
use tidings_cores::status::Status;
use tidings_cores::topology::Topology;
use tidings_cores::undo::undo;
use tidings_cores::{CoreSet, CoresError, Machine};

use tree::{Groups, ROOT, Tree};

/// What a child of a test finds what it is to do by.
const DO: &str = "TIDINGS_CORES_TEST";

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(TempDir::with_prefix("cores-").expect("a temporary folder"))
    }

    fn root(&self) -> PathBuf {
        self.0.path().join("machine")
    }

    fn journal(&self) -> PathBuf {
        self.0.path().join("journal")
    }
}

fn set(list: &str) -> CoreSet {
    list.parse().expect("a list")
}

fn roles(machine: &dyn Machine, asked: &Asked) -> Result<Roles, CoresError> {
    let topology = Topology::read(machine).expect("it has cores");
    Roles::choose(&topology, &interrupts::read(machine), asked)
}

/// Applies or undoes in a process that is killed before a change.
fn killed(place: &Path, groups: Groups, what: &str, change: usize) -> ExitStatus {
    let this = env::current_exe().expect("this program");
    let mut command = Command::new(this);
    command.args(["--exact", "what_a_child_does"]);
    command.env(DO, format!("{what} {groups:?} {change} {}", place.display()));
    command.output().expect("it starts").status
}

#[test]
fn what_a_child_does() {
    let Ok(order) = env::var(DO) else { return };
    let words: Vec<&str> = order.splitn(4, ' ').collect();
    let [what, groups, change, place] = words[..] else { panic!("{order}") };
    let place = Path::new(place);
    let change = change.parse().expect("a number");
    let machine = Tree::at(&place.join("machine"), Groups::named(groups)).killed_at(change);
    match what {
        "apply" => {
            let roles = roles(&machine, &Asked::default()).expect("four cores");
            apply(&machine, &roles, &place.join("journal")).expect("it lives");
        }
        _ => drop(undo(&machine, &place.join("journal"), false).expect("it lives")),
    }
}

#[test]
fn roles_are_set_and_all_is_as_it_was_when_they_are_undone() {
    for groups in Groups::ALL {
        let place = Place::new();
        let machine = Tree::make(&place.root(), groups);
        let before = machine.all();
        let roles = roles(&machine, &Asked::default()).expect("four cores");
        assert_eq!((&roles.application, &roles.service), (&set("2-3"), &set("0-1")));
        let header = apply(&machine, &roles, &place.journal()).expect("nothing is in the way");
        let read = |path: &str| machine.read(path).expect(path).trim().to_owned();
        assert_eq!(read("/proc/irq/24/smp_affinity_list"), "0-1");
        assert_eq!(read("/proc/irq/25/smp_affinity_list"), "0-1", "none of its cores was left");
        assert_eq!(read("/proc/irq/36/smp_affinity_list"), "0-3", "it cannot be moved");
        assert_eq!(read("/sys/devices/virtual/workqueue/cpumask"), "00000003");
        assert_eq!(read("/proc/sys/vm/stat_interval"), "120");
        match groups {
            Groups::Unified => {
                assert!(matches!(header.way, Way::Partition(_)));
                let group = format!("{ROOT}/tidings.application");
                assert_eq!(read(&format!("{group}/cpuset.cpus.partition")), "isolated");
            }
            Groups::Own => {
                assert_eq!(read(&format!("{ROOT}/tidings.service/tasks")), "1\n40\n41");
                assert_eq!(read(&format!("{ROOT}/tasks")), "12", "a thread that is bound");
                assert_eq!(read(&format!("{ROOT}/other/inner/cpuset.cpus")), "1");
            }
            Groups::None => assert_eq!(read("/affinity/41"), "1"),
        }
        let status = Status::read(&machine, &place.journal()).expect("a journal").expect("roles");
        assert!(status.complete && status.drifted() == 0, "{status:?}");
        let undone = undo(&machine, &place.journal(), false).expect("nothing is in the way");
        assert!(undone.kept.is_empty(), "{undone:?}");
        assert_eq!(machine.all(), before, "{groups:?}");
        assert!(matches!(undo(&machine, &place.journal(), false), Err(CoresError::NotApplied)));
    }
}

/// On a busy machine `undo` gave up after sixteen rounds, and left the groups and the knobs before
/// them as they were set.
#[test]
fn groups_are_removed_also_while_their_tasks_fork() {
    let place = Place::new();
    let machine = Tree::make(&place.root(), Groups::Own);
    let roles = roles(&machine, &Asked::default()).expect("four cores");
    apply(&machine, &roles, &place.journal()).expect("nothing is in the way");
    machine.fork(200);
    let undone = undo(&machine, &place.journal(), false).expect("all can be moved");
    assert!(undone.kept.is_empty(), "{undone:?}");
    assert!(!machine.list(ROOT).iter().any(|name| name.starts_with("tidings")));
    assert_eq!(machine.read(&format!("{ROOT}/tasks")).expect("tasks").lines().count(), 4 + 200);
}

#[test]
fn killed_before_any_change_all_is_undone() {
    for groups in Groups::ALL {
        let mut changes = 0;
        loop {
            let place = Place::new();
            let machine = Tree::make(&place.root(), groups);
            let before = machine.all();
            let ended = killed(place.0.path(), groups, "apply", changes);
            if ended.success() {
                break;
            }
            assert_eq!(ended.code(), None, "a signal ended it");
            let again = roles(&machine, &Asked::default());
            let again = apply(&machine, &again.expect("four cores"), &place.journal());
            assert!(matches!(again, Err(CoresError::Applied { .. })), "{again:?}");
            let undone = undo(&machine, &place.journal(), false).expect("it can be undone");
            assert!(undone.kept.is_empty(), "{undone:?}");
            assert_eq!(machine.all(), before, "{groups:?}, change {changes}");
            changes += 1;
        }
        assert!(changes >= 6, "{groups:?}: {changes} changes only");
    }
}

#[test]
fn killed_while_it_undoes_the_rest_is_undone_the_next_time() {
    for groups in Groups::ALL {
        let mut changes = 0;
        loop {
            let place = Place::new();
            let machine = Tree::make(&place.root(), groups);
            let before = machine.all();
            let roles = roles(&machine, &Asked::default()).expect("four cores");
            apply(&machine, &roles, &place.journal()).expect("nothing is in the way");
            let ended = killed(place.0.path(), groups, "undo", changes);
            if !ended.success() {
                undo(&machine, &place.journal(), false).expect("it can be undone");
            }
            assert_eq!(machine.all(), before, "{groups:?}, change {changes}");
            if ended.success() {
                break;
            }
            changes += 1;
        }
        assert!(changes >= 6, "{groups:?}: {changes} changes only");
    }
}

#[test]
fn a_knob_that_rejects_its_value_leaves_nothing_set() {
    for (groups, path) in [
        (Groups::Own, "/proc/irq/25/smp_affinity_list".to_owned()),
        (Groups::Own, format!("{ROOT}/tidings.service")),
        (Groups::Unified, format!("{ROOT}/tidings.application/cpuset.cpus.partition")),
        (Groups::None, "/proc/sys/vm/stat_interval".to_owned()),
    ] {
        let place = Place::new();
        let machine = Tree::make(&place.root(), groups).refusing(&path);
        let before = machine.all();
        let roles = roles(&machine, &Asked::default()).expect("four cores");
        let error = apply(&machine, &roles, &place.journal()).expect_err("it is refused");
        let said = error.to_string();
        assert!(said.starts_with(&path) && said.ends_with("every knob is as it was"), "{said}");
        assert_eq!(machine.all(), before, "{path}");
        assert!(matches!(undo(&machine, &place.journal(), false), Err(CoresError::NotApplied)));
    }
}

#[test]
fn a_partition_that_the_kernel_takes_and_then_calls_invalid_leaves_nothing_set() {
    let place = Place::new();
    let machine = Tree::make(&place.root(), Groups::Unified).calling_partitions_invalid();
    let before = machine.all();
    let roles = roles(&machine, &Asked::default()).expect("four cores");
    let error = apply(&machine, &roles, &place.journal()).expect_err("it is no partition");
    let said = error.to_string();
    assert!(said.contains("`isolated invalid (Cpu list in cpuset.cpus not exclusive)`"), "{said}");
    assert!(said.ends_with("every knob is as it was"), "{said}");
    assert_eq!(machine.all(), before);
}

#[test]
fn groups_that_offer_no_cores_are_left_alone_and_affinities_are_set() {
    let place = Place::new();
    let machine = Tree::make(&place.root(), Groups::Unified);
    machine.file(&format!("{ROOT}/cgroup.controllers"), "cpu memory\n");
    let before = machine.all();
    let roles = roles(&machine, &Asked::default()).expect("four cores");
    let header = apply(&machine, &roles, &place.journal()).expect("nothing is in the way");
    assert_eq!(header.way, Way::Affinities);
    assert_eq!(machine.read("/affinity/40").expect("set").trim(), "0-1");
    assert!(!machine.list(ROOT).iter().any(|name| name.starts_with("tidings")));
    undo(&machine, &place.journal(), false).expect("nothing is in the way");
    assert_eq!(machine.all(), before);
}

#[test]
fn the_boot_loaders_line_is_said_where_application_cores_have_a_tick_and_not_where_not() {
    let place = Place::new();
    let machine = Tree::make(&place.root(), Groups::Own);
    machine
        .file("/proc/interrupts", "  CPU0 CPU1 CPU2 CPU3\nLOC: 5 5 10 20 Local\n24: 0 0 1 0 x\n");
    let plan = || {
        let topology = Topology::read(&machine).expect("cores");
        let (there, roles) = (interrupts::read(&machine), roles(&machine, &Asked::default()));
        let now = interrupts::counts(&machine);
        let counted =
            Counted { interrupts: (Counts::new(), now), seconds: 1.0, ..Counted::default() };
        Plan::of(roles.expect("four cores"), &topology, &there, Way::best(&machine), &counted)
    };
    let ticking = plan();
    let line = "nohz_full=2-3 rcu_nocbs=2-3 irqaffinity=0-1";
    assert_eq!(ticking.boot_line.as_deref(), Some(line));
    let why = |plan: &Plan, core: usize| plan.cores[core].why.clone();
    assert_eq!(why(&ticking, 2), "every interrupt can be moved off it");
    assert!(why(&ticking, 0).contains("interrupt 36 (queue) cannot be moved"), "{ticking:?}");
    assert_eq!(why(&ticking, 1), "the system needs a core");
    machine.file("/sys/devices/system/cpu/nohz_full", "3\n");
    assert!(plan().boot_line.is_some(), "core 2 has its tick");
    machine.file("/sys/devices/system/cpu/nohz_full", "2-3\n");
    let tickless = plan();
    assert_eq!(tickless.boot_line, None, "the kernel runs their callbacks elsewhere by itself");
    assert!(why(&tickless, 3).ends_with("and it has no tick"), "{tickless:?}");
}

#[test]
fn a_knob_that_another_program_changed_is_left_and_named_or_forced() {
    for force in [false, true] {
        let place = Place::new();
        let machine = Tree::make(&place.root(), Groups::Own);
        let mut expected = machine.all();
        let roles = roles(&machine, &Asked::default()).expect("four cores");
        apply(&machine, &roles, &place.journal()).expect("nothing is in the way");
        machine.file("/proc/irq/24/smp_affinity_list", "1\n");
        let status = Status::read(&machine, &place.journal()).expect("a journal").expect("roles");
        assert_eq!(status.drifted(), 1);
        let drifted = status.knobs.iter().find(|knob| knob.held != Held::Holds).expect("one");
        assert_eq!(drifted.held, Held::Drifted("1".to_owned()));
        let undone = undo(&machine, &place.journal(), force).expect("the rest can be undone");
        if !force {
            assert!(
                undone.kept[0].contains("/proc/irq/24/smp_affinity_list has `1`"),
                "{undone:?}"
            );
            let path = place.root().join("proc/irq/24/smp_affinity_list");
            expected.insert(path, vec!["1".to_owned()]);
        }
        assert_eq!(machine.all(), expected);
    }
}

#[test]
fn after_a_restart_what_is_gone_needs_nothing_and_what_is_left_is_undone() {
    let place = Place::new();
    let machine = Tree::make(&place.root(), Groups::Own);
    let roles = roles(&machine, &Asked::default()).expect("four cores");
    apply(&machine, &roles, &place.journal()).expect("nothing is in the way");
    machine.file("/proc/sys/kernel/random/boot_id", "second\n");
    machine.remove(&format!("{ROOT}/tidings.service"));
    machine.remove(&format!("{ROOT}/tidings.application"));
    machine.remove(&format!("{ROOT}/other"));
    machine.file("/proc/irq/24/smp_affinity_list", "0-3\n");
    // Another device has the number now, and happens to have the same value.
    machine.file("/sys/kernel/irq/25/actions", "sound");
    machine.file("/affinity/41", "0");
    let undone = undo(&machine, &place.journal(), false).expect("nothing is in the way");
    assert!(undone.kept.is_empty() && undone.gone > 0, "{undone:?}");
    let read = |path: &str| machine.read(path).expect(path).trim().to_owned();
    assert_eq!(read("/proc/sys/vm/stat_interval"), "1", "something had set it again");
    assert_eq!(read("/proc/irq/25/smp_affinity_list"), "0-1", "it is another's");
    assert_eq!(read("/affinity/41"), "0", "the number is another task's");
}

#[test]
fn a_last_line_without_its_end_was_no_change_and_damage_is_refused() {
    let place = Place::new();
    let machine = Tree::make(&place.root(), Groups::None);
    let before = machine.all();
    let roles = roles(&machine, &Asked::default()).expect("four cores");
    apply(&machine, &roles, &place.journal()).expect("nothing is in the way");
    let path = place.journal().join("journal");
    let text = fs::read_to_string(&path).expect("a journal");
    fs::write(&path, text.replacen("change", "chance", 1)).expect("ours");
    let error = undo(&machine, &place.journal(), false).expect_err("it is damaged");
    assert!(error.to_string().contains("journal:2 is damaged"), "{error}");
    fs::write(&path, text + "{\"change\":\"val").expect("ours");
    undo(&machine, &place.journal(), false).expect("the rest is whole");
    assert_eq!(machine.all(), before);
    fs::write(&path, "{\"vers").expect("ours");
    undo(&machine, &place.journal(), false).expect("nothing was changed");
    assert!(!path.exists());
}

#[test]
fn what_cannot_be_had_is_refused_with_the_reason() {
    let place = Place::new();
    let machine = Tree::make(&place.root(), Groups::Own);
    let asked = |application: Option<&str>, service: Option<&str>| {
        let (application, service) = (application.map(set), service.map(set));
        let refused = roles(&machine, &Asked { application, service });
        refused.expect_err("it cannot be had").to_string()
    };
    assert!(asked(Some("0"), None).contains("keeps interrupt 36 (queue)"));
    assert!(asked(Some("7"), None).contains("core 7 does not exist here: this machine has 0-3"));
    assert!(asked(Some("1-3"), Some("1")).contains("meet"));
    assert!(asked(Some("0-3"), None).contains("one role has all"));
    let only = roles(&machine, &Asked { service: Some(set("0-1")), application: None });
    assert_eq!(only.expect("two are left").application, set("2-3"));
    let file = place.0.path().join("roles");
    let topology = Topology::read(&machine).expect("cores");
    let chosen = roles(&machine, &Asked::default()).expect("four cores");
    fs::write(&file, chosen.file()).expect("ours");
    assert_eq!(Roles::read(&file, &topology).expect("its own"), chosen);
    fs::write(&file, chosen.file().replace("made-up", "another")).expect("ours");
    let error = Roles::read(&file, &topology).expect_err("of another machine").to_string();
    assert!(error.contains("for the machine another, this one is made-up"), "{error}");
    fs::write(&file, "application = 3").expect("ours");
    assert!(matches!(Roles::read(&file, &topology), Err(CoresError::RoleFile { .. })));
    machine.file("/sys/devices/system/cpu/online", "0\n");
    assert!(asked(None, None).contains("this machine has one core"));
}

#[test]
fn a_program_enters_its_role_and_first_place_only_where_nobody_else_is() {
    let place = Place::new();
    let machine = Tree::make(&place.root(), Groups::Own);
    machine.file("/affinity/0", "0-3");
    let refused = enter(&machine, &place.journal(), Role::Application);
    assert!(matches!(refused, Err(CoresError::NotApplied)));
    let roles = roles(&machine, &Asked::default()).expect("four cores");
    apply(&machine, &roles, &place.journal()).expect("nothing is in the way");
    let cores = enter(&machine, &place.journal(), Role::Application).expect("roles are set");
    assert_eq!((cores.clone(), machine.affinity(0).expect("set")), (set("2-3"), set("2-3")));
    let tasks = machine.read(&format!("{ROOT}/tidings.application/tasks")).expect("a group");
    assert_eq!(tasks.trim(), "0");
    let error = must_be_empty(&machine, &cores, 0).expect_err("tasks may run there").to_string();
    assert!(error.contains("core 2") && error.contains("sshd (40)"), "{error}");
    for task in [1, 40, 41] {
        machine.file(&format!("/affinity/{task}"), "0-1");
    }
    must_be_empty(&machine, &cores, 0).expect("only a bound thread of the kernel is left");
}
