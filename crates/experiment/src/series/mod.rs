//! A series: programs that print rows, run over machines, nodes and settings.
//!
//! Where a campaign compares, a series collects: each cell (a program on a machine, with one value
//! of each setting) is run once, in the order of the file, or once in each of several rounds, and
//! what it left as JSON objects is kept. What the rows mean is for those who read them. A
//! [`Series`] comes from a TOML file and is checked in full before anything runs; it goes on where
//! it was interrupted.

pub mod beside;
mod hidden;
mod kinds;
mod record;
mod text;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::ExperimentError;
use crate::allowance::{Allowance, suffices};
use crate::backend::{Order, Starter, must_fit};
use crate::conduct::{Experiment, Manner, OnFailure, Watcher, conduct};
use crate::hosts::Mesh;
use crate::journal::Subject;
use crate::outcome::{Ended, Outcome};
use crate::program::find;
use crate::reading::{object_in, rows};
use crate::run::{Seen, last_words};

pub use hidden::Hidden;
pub use kinds::{Cell, Machine, Series};
pub use record::{Record, SCHEMA};

impl Series {
    /// Reads a series' file.
    ///
    /// # Errors
    /// [`ExperimentError::Unreadable`], or [`ExperimentError::Campaign`] with the line of what is
    /// wrong.
    pub fn read(path: &Path) -> Result<Self, ExperimentError> {
        let text = fs::read_to_string(path)
            .map_err(|source| ExperimentError::Unreadable { path: path.to_owned(), source })?;
        Self::from_text(&text, path)
    }

    /// The series of a text that stands in `path`.
    ///
    /// # Errors
    /// [`ExperimentError::Campaign`].
    pub fn from_text(text: &str, path: &Path) -> Result<Self, ExperimentError> {
        text::series(text, path)
    }
}

/// A series that can be run, or some of its cells.
#[derive(Debug)]
pub struct Prepared<'a> {
    series: &'a Series,
    /// The cells that are to be run, by their places in the series.
    chosen: Vec<u32>,
    /// What starts the runs of each machine that they need.
    starters: Vec<Option<Starter>>,
    /// The program of each cell, where it is to be run.
    programs: Vec<PathBuf>,
    /// Whether runs that failed are made again whatever the file says.
    repeats_failed: bool,
    /// How long all runs may take.
    allowance: Option<Allowance>,
}

impl<'a> Prepared<'a> {
    /// Makes ready what the cells need that have all of these settings.
    ///
    /// # Errors
    /// [`ExperimentError::Program`] or [`ExperimentError::Machine`] for what is missing.
    pub fn new(series: &'a Series, only: &[(String, String)]) -> Result<Self, ExperimentError> {
        series.scheduling.must_be_allowed()?;
        let is_chosen = |cell: &Cell| only.iter().all(|(key, value)| series.has(cell, key, value));
        let numbered = series.cells.iter().zip(0..);
        let chosen: Vec<u32> =
            numbered.filter(|(cell, _)| is_chosen(cell)).map(|(_, index)| index).collect();
        let cell = |index: &u32| &series.cells[*index as usize];
        let mut starters = Vec::new();
        for (at, machine) in series.machines.iter().enumerate() {
            let own = chosen.iter().map(cell).filter(|cell| cell.machine == at);
            let most = own.map(|cell| cell.nodes).max();
            starters.push(most.map(|most| Starter::prepare(&machine.backend, most)).transpose()?);
        }
        let programs = chosen.iter().map(|index| find(&cell(index).command[0], &series.folder));
        let programs: Vec<PathBuf> = programs.collect::<Result<_, _>>()?;
        for (own, program) in chosen.iter().map(cell).zip(&programs) {
            let backend = &series.machines[own.machine].backend;
            if let (Some(_), Some(mpi)) = (&own.hidden, backend.mpi()) {
                must_fit(mpi, program, false)?;
            }
        }
        Ok(Self { series, chosen, starters, programs, repeats_failed: false, allowance: None })
    }

    /// Makes runs of the journal that failed again, also where failures do not stop the series.
    pub fn repeat_failed(&mut self) {
        self.repeats_failed = true;
    }

    /// Bounds the time of all runs: what is left then is not run.
    pub fn allow(&mut self, allowance: Allowance) {
        self.allowance = Some(allowance);
    }

    /// How many runs there are.
    pub fn count(&self) -> usize {
        self.chosen.len()
    }

    /// The machines of hosts with links of their own, by their names.
    pub fn meshes(&self) -> impl Iterator<Item = (&str, &Mesh)> {
        let machines = self.series.machines.iter().zip(&self.starters);
        machines.filter_map(|(machine, starter)| {
            Some((machine.name.as_str(), starter.as_ref()?.mesh()?))
        })
    }

    /// Makes all runs that the journal in a folder lacks, as far as time is allowed for them; the
    /// records of all that are chosen, in their order.
    ///
    /// # Errors
    /// [`ExperimentError`]; what was measured before is in the journal.
    pub fn run(
        &self,
        folder: &Path,
        watcher: &mut dyn Watcher,
    ) -> Result<Vec<Record>, ExperimentError> {
        let mut records = conduct(self, folder, watcher)?;
        records.retain(|record| self.chosen.contains(&record.index));
        records.sort_unstable_by_key(|record| record.index);
        // One that failed and was tried again is there twice: the last counts.
        let mut latest: Vec<Record> = Vec::with_capacity(records.len());
        for record in records {
            if latest.last().is_some_and(|before| before.index == record.index) {
                latest.pop();
            }
            latest.push(record);
        }
        Ok(latest)
    }

    fn cell(&self, index: u32) -> &Cell {
        &self.series.cells[index as usize]
    }

    fn ranks(&self, cell: &Cell) -> u32 {
        cell.nodes * self.series.machines[cell.machine].ranks_per_node
    }
}

impl Experiment for Prepared<'_> {
    type Record = Record;

    fn subject(&self) -> Subject<'_> {
        let Series { name, digest, text, .. } = self.series;
        Subject { schema: SCHEMA, campaign: name, digest, text }
    }

    fn runs(&self) -> Vec<u32> {
        self.chosen.clone()
    }

    fn label(&self, index: u32) -> String {
        self.series.label(self.cell(index))
    }

    fn on_failure(&self) -> OnFailure {
        self.series.on_failure
    }

    fn repeats_failed(&self) -> bool {
        self.repeats_failed || self.on_failure() == OnFailure::Stop
    }

    fn farewell(&self) -> Option<Duration> {
        self.starters.iter().flatten().filter_map(Starter::farewell).max()
    }

    fn has_time_for(&self, index: u32, records: &[Record]) -> bool {
        let Some(allowance) = &self.allowance else { return true };
        let cell = self.cell(index);
        let machine = &self.series.machines[cell.machine].name;
        let is_alike = |own: &&Record| {
            own.program == cell.program && own.machine == *machine && own.nodes == cell.nodes
        };
        let alike_s: Vec<f64> = records.iter().filter(is_alike).map(|own| own.wall_s).collect();
        let all_s: Vec<f64> = records.iter().map(|own| own.wall_s).collect();
        suffices(allowance.left(), &alike_s, &all_s)
    }

    fn measure(
        &self,
        index: u32,
        folder: &Path,
        watcher: &dyn Watcher,
    ) -> Result<Option<Record>, ExperimentError> {
        let (series, cell) = (self.series, self.cell(index));
        let left_s = self.allowance.map_or(f64::INFINITY, |own| own.left().as_secs_f64());
        let limit_s = series.limit_s.min(left_s);
        let manner = Manner { scheduling: series.scheduling, limit_s };
        let prepare = |place: &Path| {
            let at = self.chosen.iter().position(|one| *one == index).expect("it is of the plan");
            let starter = self.starters[cell.machine].as_ref().expect("made for chosen cells");
            let program = self.programs[at].display().to_string();
            let words = cell.command[1..].iter().cloned();
            let (seen, hidden) = (self.ranks(cell), cell.hidden.as_ref());
            starter.launch(&Order {
                application: std::iter::once(program).chain(words).collect(),
                launcher_arguments: &cell.launcher_arguments,
                environment: hidden.map_or(Vec::new(), |hidden| hidden.variables(place)),
                nodes: cell.nodes,
                ranks: hidden.map_or(seen, |hidden| hidden.ranks(seen)),
                directory: place,
            })
        };
        let read = |started, seen: &Seen, place: &Path| self.record(index, started, seen, place);
        let made = manner.make(folder, watcher, prepare, read)?;
        // It had less time than a run has: that says nothing about it.
        let is_cut = |own: &Record| own.outcome == Outcome::Late && limit_s < series.limit_s;
        Ok(made.filter(|own| !is_cut(own)))
    }
}

impl Prepared<'_> {
    /// What came out of a run.
    fn record(&self, index: u32, started: String, seen: &Seen, place: &Path) -> Record {
        let cell = self.cell(index);
        let mut ended = Ended::of(seen, self.series.limit_s, place);
        let found = rows(place, &cell.rows);
        if ended.outcome == Outcome::Ok && !found.as_ref().is_ok_and(|rows| !rows.is_empty()) {
            let reason = found.as_ref().err().map_or("there is none", String::as_str);
            ended.outcome = Outcome::Unreadable;
            ended.message = Some(format!(
                "left no rows in {}: {reason}; it said: {}",
                cell.rows,
                last_words(place)
            ));
        }
        Record {
            index,
            program: cell.program.clone(),
            machine: self.series.machines[cell.machine].name.clone(),
            nodes: cell.nodes,
            ranks: self.ranks(cell),
            settings: cell.settings.clone(),
            started,
            outcome: ended.outcome,
            exit_code: ended.exit_code,
            message: ended.message,
            wall_s: seen.wall_s,
            disturbance: seen.disturbance,
            rows: found.unwrap_or_default(),
            report: cell.report.as_ref().and_then(|file| object_in(&place.join(file))),
        }
    }
}

/// All rows of some runs, as JSON Lines.
pub fn lines(records: &[Record]) -> String {
    let mut text = String::new();
    for row in
        records.iter().filter(|record| record.outcome == Outcome::Ok).flat_map(Record::flat_rows)
    {
        let _ = writeln!(text, "{row}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use serde_json::Value;

    const TEXT: &str = r#"
name = "two"
limit_s = 10.0

[[machines]]
name = "torus"
ranks_per_node = 3
backend = { kind = "smpi", platform = "torus.xml" }

[[programs]]
name = "fft"
machines = ["torus"]
nodes = [8, 16]
command = ["./fft", "--interval", "{interval}", "{window}%", "{nodes}x{ranks}"]
report = "report.json"
[[programs.grids]]
interval = [4, 2]
window = [10, 20]
[[programs.grids]]
interval = [0.5]
window = [10]
"#;

    fn series_of(text: &str) -> Result<Series, ExperimentError> {
        Series::from_text(text, Path::new("s.toml"))
    }

    #[test]
    fn cells_are_all_combinations_of_each_grid_on_all_nodes() {
        let series = series_of(TEXT).expect("a right series");
        assert_eq!(series.cells.len(), (2 * 2 + 1) * 2);
        let first = &series.cells[0];
        assert_eq!(first.command, ["./fft", "--interval", "4", "10%", "8x24"]);
        assert_eq!(series.label(first), "fft on torus, 8 nodes, interval 4, window 10");
        assert!(series.has(first, "window", "10") && !series.has(first, "window", "20"));
        assert!(series.has(first, "machine", "torus") && series.has(first, "program", "fft"));
        let last = &series.cells[9];
        assert_eq!(last.command, ["./fft", "--interval", "0.5", "10%", "16x48"]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (right, wrong, line, said) in [
            ("limit_s", "limits", 3, "unknown key `limits`"),
            ("machines = [\"torus\"]", "machines = [\"ring\"]", 12, "no machine `ring`"),
            ("{window}%", "20%", 10, "has no {window}"),
            ("window = [10, 20]", "nodes = [1]", 10, "`nodes` cannot be a setting"),
            ("report.json", "../report.json", 10, "no file of the run's directory"),
            ("nodes = [8, 16]", "nodes = [8, 0]", 13, "1 to 1048576"),
            ("nodes = [8, 16]", "nodes = []", 10, "0 runs"),
            (
                "kind = \"smpi\"",
                "kind = \"smp\"",
                8,
                "no backend `smp`: write local, hosts, slurm, smpi or plain",
            ),
            ("kind = \"smpi\", platform", "kind = \"plain\", platform", 8, "platform is no key"),
            ("kind = \"smpi\", platform = \"torus.xml\"", "kind = \"plain\"", 13, "one process"),
        ] {
            let text = TEXT.replacen(right, wrong, 1);
            let refused = series_of(&text).expect_err(wrong).to_string();
            assert!(refused.starts_with(&format!("s.toml:{line}: ")), "{wrong}: {refused}");
            assert!(refused.contains(said), "{wrong}: {refused}");
        }
    }

    #[test]
    fn settings_may_choose_the_launchers_arguments() {
        let text = TEXT.replace(
            "\"{window}%\", \"{nodes}x{ranks}\"]",
            "\"{nodes}\"]\nlauncher_arguments = [\"--cfg=window:{window}\", \"-v\"]",
        );
        let series = series_of(&text).expect("a right series");
        let cell = &series.cells[2];
        assert_eq!(cell.command, ["./fft", "--interval", "4", "8"]);
        assert_eq!(cell.launcher_arguments, ["--cfg=window:20", "-v"]);
        assert!(series_of(TEXT).expect("a right series").cells[2].launcher_arguments.is_empty());
    }

    #[test]
    fn gossip_beside_a_program_alternates_with_hidden_ranks_that_sleep() {
        let text = "name = \"g\"\nlimit_s = 1.0\n[[machines]]\nname = \"here\"\nranks_per_node = 4\n\
                    backend = { kind = \"local\", mpi = \"mpich\", shim = \"s.so\" }\n[[programs]]\n\
                    name = \"p\"\nmachines = [\"here\"]\nnodes = [1]\ncommand = [\"p\"]\n\
                    gossip = { every = 3, options = \"--interval 64\" }\n\
                    [[programs.grids]]\nrun = [1, 2]\n";
        let series = series_of(text).expect("a right series");
        let said: Vec<(Option<&str>, Option<&Value>)> = series
            .cells
            .iter()
            .map(|cell| {
                let hidden = cell.hidden.as_ref().expect("each has some");
                assert_eq!(hidden.ranks(4), 6);
                (hidden.gossip.as_deref(), cell.settings.get(beside::SETTING))
            })
            .collect();
        let (asleep, gossip) = (Value::from("asleep"), Value::from("gossip"));
        let with = Some("--interval 64");
        let wanted = [(None, &asleep), (with, &gossip), (with, &gossip), (None, &asleep)];
        assert_eq!(said, wanted.map(|(options, word)| (options, Some(word))));
        let rounds = text
            .replace("[[programs.grids]]\nrun = [1, 2]\n", "")
            .replace("limit_s = 1.0", "limit_s = 1.0\nrounds = 2");
        let cells = series_of(&rounds).expect("a right series").cells;
        let said: Vec<Option<&str>> =
            cells.iter().map(|cell| cell.hidden.as_ref()?.gossip.as_deref()).collect();
        assert_eq!(said, wanted.map(|own| own.0), "in rounds as in runs");
        for (right, wrong, reason) in [
            ("every = 3", "every = 4", "every - 1 divides"),
            ("every = 3", "every = 5", "2 are hidden at least"),
            ("every = 3", "every = 1", "every"),
            (", shim = \"s.so\"", "", "machine `here` has none"),
            ("run = [1, 2]", "beside = [1, 2]", "`beside` cannot be a setting"),
        ] {
            let refused = series_of(&text.replace(right, wrong)).expect_err(wrong).to_string();
            assert!(refused.contains(reason), "{wrong}: {refused}");
        }
    }

    /// What changes while a series lasts is then in all of its programs alike.
    #[test]
    fn all_runs_are_made_in_one_round_after_the_other() {
        let text = TEXT.replace("limit_s = 10.0", "limit_s = 10.0\nrounds = 3");
        let series = series_of(&text).expect("a right series");
        assert_eq!(series.cells.len(), 3 * 10);
        let rounds: Vec<Option<u64>> =
            series.cells.iter().map(|cell| cell.settings.get("run")?.as_u64()).collect();
        assert_eq!(rounds[..10], [Some(1); 10]);
        assert_eq!(rounds[20..], [Some(3); 10]);
        let without = |cell: &Cell| (cell.program.clone(), cell.nodes, cell.command.clone());
        assert!((0..10).all(|at| without(&series.cells[at]) == without(&series.cells[20 + at])));
        let none = series_of(&text.replace("rounds = 3", "rounds = 0")).expect_err("no round");
        assert!(none.to_string().contains("rounds cannot be 0"), "{none}");
        let counted = text.replace("interval = [0.5]", "interval = [0.5]\nrun = [1, 2]");
        let refused = series_of(&counted).expect_err("two counts").to_string();
        assert!(refused.contains("`run` counts the rounds"), "{refused}");
    }

    #[test]
    fn a_plain_program_is_one_process_without_a_launcher() {
        let text = r#"
name = "one"
limit_s = 10.0
[[machines]]
name = "here"
backend = { kind = "plain" }
[[programs]]
name = "true"
machines = ["here"]
nodes = [1]
command = ["true"]
"#;
        let series = series_of(text).expect("a right series");
        assert_eq!(series.machines[0].backend, crate::backend::Backend::Plain);
        for (right, wrong, said) in [
            ("nodes = [1]", "nodes = [1, 2]", "one process"),
            ("nodes = [1]", "nodes = [1]\nlauncher_arguments = [\"-v\"]", "one process"),
            ("\"plain\"", "\"plain\", launcher_arguments = [\"-v\"]", "has no launcher"),
        ] {
            let refused = series_of(&text.replace(right, wrong)).expect_err(wrong).to_string();
            assert!(refused.contains(said), "{wrong}: {refused}");
        }
    }

    /// Nobody, who sees how many runs are begun.
    #[derive(Default)]
    struct Nobody(usize);

    impl Watcher for Nobody {
        fn progress(&mut self, done: usize, all: usize, _next: &str) {
            self.0 += usize::from(done < all);
        }
        fn say(&mut self, _text: &str) {}
        fn stopped(&self) -> Option<i32> {
            None
        }
    }

    #[test]
    fn what_time_does_not_suffice_for_is_left_and_made_by_the_next_start() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let text = "name = \"one\"\nlimit_s = 600.0\nrounds = 3\n[[machines]]\nname = \"here\"\n\
                    backend = { kind = \"plain\" }\n[[programs]]\nname = \"one\"\n\
                    machines = [\"here\"]\nnodes = [1]\ncommand = [\"sh\", \"-c\", \"CODE\"]\n";
        let made = |code: &str, allowed: Option<Duration>| {
            let series = series_of(&text.replace("CODE", code)).expect("a right series");
            let mut prepared = Prepared::new(&series, &[]).expect("there is a shell");
            if let Some(time) = allowed {
                prepared.allow(Allowance::since(Instant::now(), time));
            }
            let mut nobody = Nobody::default();
            let place = folder.path().join(&series.digest);
            let records = prepared.run(&place, &mut nobody).expect("it runs");
            (records.len(), nobody.0)
        };
        let quick = "echo '{}'";
        assert_eq!(made(quick, Some(Duration::ZERO)), (0, 0), "none is begun");
        assert_eq!(made(quick, None), (3, 3), "the next start makes them");
        let (kept, begun) = made("sleep 600; echo '{}'", Some(Duration::from_millis(100)));
        assert!(kept == 0 && begun <= 1, "one that was cut off is not kept: {kept}, {begun}");
    }

    #[test]
    fn a_row_has_the_settings_of_its_run_where_it_has_none_itself() {
        let text = r#"{"index":0,"program":"fft","machine":"torus","nodes":8,"ranks":24,
            "settings":{"window":10,"seed":2},"started":"","outcome":"ok","exit_code":0,
            "message":null,"wall_s":1.0,"rows":[{"seed":7,"seconds":0.5}],"report":null}"#;
        let record: Record = serde_json::from_str(text).expect("a record");
        let line = lines(&[record]);
        let row: serde_json::Value = serde_json::from_str(&line).expect("a line");
        assert_eq!(
            (&row["seed"], &row["window"], &row["ranks"]),
            (&7.into(), &10.into(), &24.into())
        );
    }
}
