//! Which cores get which role, and what each knob is worth on this machine.
//!
//! An interrupt that cannot be moved and serves others than its core makes that core a service
//! core. Physical cores are not shared between roles unless there is only one.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::CoresError;
use crate::hierarchy::Way;
use crate::interrupts::Interrupt;
use crate::set::CoreSet;
use crate::tasks::Task;
use crate::topology::Topology;

/// The most bytes of a role file.
const ROLE_FILE_BYTES_MOST: u64 = 64 << 10;

/// How often each source has interrupted each core.
pub type Counts = BTreeMap<(String, u32), u64>;

/// The roles of a machine's cores: what a role file has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Roles {
    /// The machine that they are for.
    pub machine: String,
    /// Kept for applications.
    pub application: CoreSet,
    /// All others: the system, and the agent.
    pub service: CoreSet,
}

/// What is asked for; the rest is chosen.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Cores for applications.
    pub application: Option<CoreSet>,
    /// Cores for the system.
    pub service: Option<CoreSet>,
}

/// A core and why it has its role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The core.
    pub core: u32,
    /// `application` or `service`.
    pub role: &'static str,
    /// Why.
    pub why: String,
}

/// A knob and what it is worth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Worth {
    /// What is set.
    pub knob: String,
    /// What it takes off application cores, as counted here.
    pub worth: String,
}

/// Roles with their reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The roles.
    pub roles: Roles,
    /// How programs are kept off application cores.
    pub way: Way,
    /// A reason for each core.
    pub cores: Vec<Reason>,
    /// What each knob is worth.
    pub knobs: Vec<Worth>,
    /// What the boot loader's line lacks for cores without a tick; nothing if it has it.
    pub boot_line: Option<String>,
}

/// What was counted on a machine for a while.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// Interrupts before and after.
    pub interrupts: (Counts, Counts),
    /// For how long.
    pub seconds: f64,
    /// Ordinary tasks that may run on an application core.
    pub tasks: Vec<Task>,
}

impl Roles {
    /// Chooses roles.
    ///
    /// # Errors
    /// [`CoresError`] if what is asked for cannot be had.
    pub fn choose(
        topology: &Topology,
        interrupts: &[Interrupt],
        asked: &Asked,
    ) -> Result<Self, CoresError> {
        let online = &topology.online;
        if online.count() < 2 {
            return Err(CoresError::OneCore);
        }
        for core in
            [&asked.application, &asked.service].into_iter().flatten().flat_map(CoreSet::iter)
        {
            if !online.has(core) {
                return Err(CoresError::NoCore { core, online: online.clone() });
            }
        }
        let free = online.without(&disturbed(topology, interrupts));
        let application = match (&asked.application, &asked.service) {
            (Some(application), _) => application.clone(),
            (None, Some(service)) => apart(topology, service).both(&free),
            (None, None) => apart(topology, &core_of_system(topology, &free)).both(&free),
        };
        let roles = Self {
            machine: topology.machine.clone(),
            service: online.without(&application),
            application,
        };
        roles.check(topology, interrupts, asked)?;
        Ok(roles)
    }

    /// Whether these roles fit this machine, as it is now.
    ///
    /// # Errors
    /// [`CoresError`].
    pub fn check(
        &self,
        topology: &Topology,
        interrupts: &[Interrupt],
        asked: &Asked,
    ) -> Result<(), CoresError> {
        if let Some(core) = self.application.either(&self.service).without(&topology.online).last()
        {
            return Err(CoresError::NoCore { core, online: topology.online.clone() });
        }
        if self.application.is_empty() && asked.application.is_none() {
            let why = interrupts.iter().filter(|one| one.movable == Some(false));
            let why = why.map(|one| format!("{} ({}) on {}", one.number, one.name, one.effective));
            return Err(CoresError::NoneLeft { why: why.collect::<Vec<_>>().join(", ") });
        }
        let shared = asked.service.as_ref().filter(|service| !service.is_apart(&self.application));
        let shared =
            shared.or((!self.service.is_apart(&self.application)).then_some(&self.service));
        if let Some(shared) = shared {
            let what =
                format!("application cores {} and service cores {shared} meet", self.application);
            return Err(CoresError::Overlap { what });
        }
        if self.service.is_empty() || self.application.is_empty() {
            let what = format!("of {} cores one role has all", topology.online.count());
            return Err(CoresError::Overlap { what });
        }
        for core in self.application.iter() {
            let siblings = siblings(topology, core);
            if let Some(one) = interrupts.iter().find(|one| one.disturbs(core, &siblings)) {
                let (interrupt, name) = (one.number, one.name.clone());
                return Err(CoresError::Unmovable { core, interrupt, name });
            }
        }
        Ok(())
    }

    /// Reads a role file.
    ///
    /// # Errors
    /// [`CoresError::RoleFile`], and [`CoresError::OtherMachine`] if it is for another machine.
    pub fn read(path: &Path, topology: &Topology) -> Result<Self, CoresError> {
        let wrong = |why: String| CoresError::RoleFile { path: path.to_owned(), why };
        let mut text = String::new();
        fs::File::open(path)
            .and_then(|file| file.take(ROLE_FILE_BYTES_MOST).read_to_string(&mut text))
            .map_err(|error| wrong(error.to_string()))?;
        let roles: Self =
            toml::from_str(&text).map_err(|error| wrong(error.message().to_owned()))?;
        if roles.machine == topology.machine {
            return Ok(roles);
        }
        let (theirs, ours) = (roles.machine, topology.machine.clone());
        Err(CoresError::OtherMachine { path: path.to_owned(), theirs, ours })
    }

    /// The text of a role file.
    pub fn file(&self) -> String {
        format!(
            "# Roles of cores, for `tidings cores apply --roles FILE`.\n\
             machine = \"{}\"\napplication = \"{}\"\nservice = \"{}\"\n",
            self.machine, self.application, self.service
        )
    }
}

impl Plan {
    /// Gives reasons for roles, from what was counted.
    pub fn of(
        roles: Roles,
        topology: &Topology,
        interrupts: &[Interrupt],
        way: Way,
        counted: &Counted,
    ) -> Self {
        let reason = |core| reason(core, &roles, topology, interrupts);
        let lacking = roles.application.without(&topology.tickless);
        let lacking = lacking.either(&roles.application.without(&topology.callbacks_elsewhere));
        let boot_line = (!lacking.is_empty()).then(|| {
            let (application, service) = (&roles.application, &roles.service);
            format!("nohz_full={application} rcu_nocbs={application} irqaffinity={service}")
        });
        Self {
            cores: topology.online.iter().map(reason).collect(),
            knobs: worth(&roles, interrupts, &way, counted),
            boot_line,
            way,
            roles,
        }
    }
}

fn siblings(topology: &Topology, core: u32) -> CoreSet {
    topology.siblings.get(&core).cloned().unwrap_or_else(|| CoreSet::from_iter([core]))
}

/// Cores where an interrupt stays that serves others.
fn disturbed(topology: &Topology, interrupts: &[Interrupt]) -> CoreSet {
    let is =
        |core: &u32| interrupts.iter().any(|one| one.disturbs(*core, &siblings(topology, *core)));
    topology.online.iter().filter(is).collect()
}

/// All cores that share no physical core with these, or where that is none, all others.
fn apart(topology: &Topology, service: &CoreSet) -> CoreSet {
    let apart = topology.online.without(&topology.with_siblings(service));
    if apart.is_empty() { topology.online.without(service) } else { apart }
}

/// One core for the system: one where an interrupt stays, or else the first.
fn core_of_system(topology: &Topology, free: &CoreSet) -> CoreSet {
    let taken = topology.online.without(free);
    let first = taken.iter().next().or_else(|| topology.online.iter().next());
    first.into_iter().collect()
}

fn reason(core: u32, roles: &Roles, topology: &Topology, interrupts: &[Interrupt]) -> Reason {
    let siblings = siblings(topology, core);
    let stays = interrupts.iter().find(|one| one.disturbs(core, &siblings));
    let (role, why) = match (roles.application.has(core), stays) {
        (true, _) if topology.tickless.has(core) => {
            ("application", "every interrupt can be moved off it, and it has no tick".to_owned())
        }
        (true, _) => ("application", "every interrupt can be moved off it".to_owned()),
        (false, Some(one)) => {
            ("service", format!("interrupt {} ({}) cannot be moved off it", one.number, one.name))
        }
        (false, None)
            if !topology.with_siblings(&roles.service).without(&roles.service).is_empty() =>
        {
            ("service", "the system needs a core; it shares a physical one".to_owned())
        }
        (false, None) => ("service", "the system needs a core".to_owned()),
    };
    Reason { core, role, why }
}

fn worth(roles: &Roles, interrupts: &[Interrupt], way: &Way, counted: &Counted) -> Vec<Worth> {
    let cores = &roles.application;
    let (before, after) = &counted.interrupts;
    let rate = |is_it: &dyn Fn(&str) -> bool| {
        let there = after.iter().filter(|((source, core), _)| is_it(source) && cores.has(*core));
        let count: u64 =
            there.map(|(key, count)| count.saturating_sub(*before.get(key).unwrap_or(count))).sum();
        format!("{:.0} a second", count as f64 / counted.seconds.max(0.001))
    };
    let movable = |one: &&Interrupt| one.movable != Some(false) && !one.affinity.is_apart(cores);
    let movable: Vec<String> =
        interrupts.iter().filter(movable).map(|one| one.number.to_string()).collect();
    let is_movable = |source: &str| movable.iter().any(|number| number == source);
    let said = |knob: &str, worth: String| Worth { knob: knob.to_owned(), worth };
    vec![
        said(way.name(), format!("{} ordinary tasks may run on {cores} now", counted.tasks.len())),
        said(
            "interrupts",
            format!("{} may arrive on {cores}, and did {}", movable.len(), rate(&is_movable)),
        ),
        said("workqueues", "kernel work that is bound to no core".to_owned()),
        said("vm.stat_interval", "statistics are brought together every 120 s".to_owned()),
        said(
            "nohz_full",
            format!("the tick, which came {}; at boot only", rate(&|source| source == "LOC")),
        ),
        said(
            "(stays)",
            format!(
                "calls from other cores, which came {}",
                rate(&|source| ["RES", "CAL", "TLB"].contains(&source))
            ),
        ),
    ]
}
