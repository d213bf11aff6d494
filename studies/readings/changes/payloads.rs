//! Payloads of nodes: what they say each unit.

use std::fs;
use std::path::Path;

use tidings_gossip::payload::{FIXED_BYTES, NodeState, Settled, Tolerances};
use tidings_primitives::Chance;
use tidings_sim::readings::generator::Machine;
use tidings_sim::readings::{Generator, Recording};

/// The folder of the recordings.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/readings");
/// What distinguishes a recording from other tables.
const FORM: &str = "# tidings readings";

/// The recordings of the study, in the order of their names.
pub(crate) fn recordings() -> Result<Vec<Recording>, String> {
    let folder = Path::new(FOLDER);
    let said = |error: &dyn std::fmt::Display| format!("{}: {error}", folder.display());
    let files = fs::read_dir(folder).map_err(|error| said(&error))?;
    let mut names: Vec<_> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    names.sort();
    let texts = names.iter().filter(|name| name.extension().is_some_and(|end| end == "csv"));
    let texts = texts.map(fs::read_to_string).collect::<Result<Vec<_>, _>>();
    let texts = texts.map_err(|error| said(&error))?;
    let recorded = texts.iter().filter(|text| text.starts_with(FORM));
    recorded.map(|text| Recording::parse(text).map_err(|error| said(&error))).collect()
}

/// What kind of readings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Recorded ones, settled within the documented tolerances.
    Usual,
    /// The same as they are.
    Exact,
    /// Payloads that hold those of so many machines: readings of many devices.
    Large,
    /// Recorded ones of one machine, and modelled ones of its devices, of which few move.
    Devices,
    /// Bits that are new each unit.
    Noise,
}

/// Devices of a machine, how many words of two bytes each has, and how many of these move.
const DEVICES: usize = 8;
const DEVICE_WORDS: usize = 61;
const MOVING_WORDS: usize = 3;
/// Units between two readings of devices, as of all others.
const DEVICE_UNITS: u64 = 4;
/// What a reading of a device moves by where it leaves its tolerance, in the steps of its word.
const DEVICE_STEP: u16 = 16;

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::Exact => "exact",
            Self::Large => "usual of 23 machines",
            Self::Devices => "usual and 8 devices",
            Self::Noise => "all new",
        }
    }

    pub(crate) const fn payload_bytes(self) -> usize {
        match self {
            Self::Large | Self::Devices => 1_024,
            _ => 64,
        }
    }

    const fn machines(self) -> usize {
        match self {
            Self::Large => self.payload_bytes() / FIXED_BYTES,
            Self::Noise => 0,
            _ => 1,
        }
    }
}

/// What one node says.
pub(crate) struct Speaker<'a> {
    machines: Vec<(Machine<'a>, Settled)>,
    tolerances: Tolerances,
    chance: Chance,
    kind: Kind,
    units: u64,
    /// What the moving words of its devices say.
    moving: [u16; DEVICES * MOVING_WORDS],
}

impl<'a> Speaker<'a> {
    pub(crate) fn new(
        kind: Kind,
        recordings: &'a [Recording],
        (node, seed): (usize, u64),
    ) -> Result<Self, String> {
        let generator =
            Generator::new(recordings, seed).ok_or("no recording: run studies/readings/run")?;
        let count = kind.machines();
        let machine = |at: usize| generator.machine((node * count + at) as u32);
        Ok(Self {
            machines: (0..count).map(|at| (machine(at), Settled::default())).collect(),
            tolerances: match kind {
                Kind::Exact => Tolerances::exact(),
                _ => Tolerances::default(),
            },
            chance: Chance::new(seed ^ node as u64),
            kind,
            units: node as u64,
            moving: [0x4000; DEVICES * MOVING_WORDS],
        })
    }

    /// Writes what it says in the next unit.
    pub(crate) fn say(&mut self, payload: &mut [u8]) -> Result<(), String> {
        if self.kind == Kind::Noise {
            for some in payload.chunks_mut(8) {
                some.copy_from_slice(&self.chance.bits().to_le_bytes()[..some.len()]);
            }
        }
        for ((machine, settled), part) in
            self.machines.iter_mut().zip(payload.chunks_exact_mut(FIXED_BYTES))
        {
            machine.advance();
            let state: NodeState = machine.state();
            settled.encode(&self.tolerances, &state, part).map_err(|error| error.to_string())?;
        }
        if self.kind == Kind::Devices {
            self.say_devices(&mut payload[FIXED_BYTES..]);
        }
        self.units += 1;
        Ok(())
    }

    /// Each second every other moving reading leaves its tolerance, up or down.
    fn say_devices(&mut self, payload: &mut [u8]) {
        for (at, word) in self.moving.iter_mut().enumerate() {
            if self.units % DEVICE_UNITS == 0 {
                *word = match self.chance.below(4) {
                    0 => word.saturating_sub(DEVICE_STEP),
                    1 => word.saturating_add(DEVICE_STEP),
                    _ => *word,
                };
            }
            let place = at / MOVING_WORDS * DEVICE_WORDS + at % MOVING_WORDS;
            payload[2 * place..2 * place + 2].copy_from_slice(&word.to_le_bytes());
        }
    }
}
