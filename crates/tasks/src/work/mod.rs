//! Work: what a task's payload says is to be done, and the report that is its result.
//!
//! A coordinator does not look into payloads: this is between whoever submits and workers. Both are
//! maps in CBOR with small integers as keys, as the records are, so that a later version adds
//! fields that this one skips.
//!
//! Invariant: work that is read is within its bounds and can be given to the system as it is: no
//! text has a zero byte in it, no variable a name that is none.

mod bounds;

use minicbor::{Decode, Encode};
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::MAX_INPUTS;

use crate::blobs::Handle;

pub use bounds::{MAX_NAME_BYTES, MAX_VARIABLES, MAX_WORDS, MAX_WORK_BYTES, TAIL_BYTES};

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Work {
    /// What people call it, at most [`MAX_NAME_BYTES`].
    #[n(0)]
    pub name: String,
    /// What it is.
    #[n(1)]
    pub what: What,
    /// What it may take.
    #[n(2)]
    pub limits: WorkLimits,
}

/// A command, or a call of a function.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum What {
    /// A program that is started for this task.
    #[n(0)]
    Command {
        /// The program and its arguments: at least one word, at most [`MAX_WORDS`].
        #[cbor(n(0), decode_with = "bounds::words")]
        argv: Vec<String>,
        /// Variables beside those of the worker, at most [`MAX_VARIABLES`].
        #[cbor(n(1), decode_with = "bounds::variables")]
        environment: Vec<(String, String)>,
        /// Where it is started; where the worker was, if there is none.
        #[n(2)]
        directory: Option<String>,
        /// What it reads from its standard input.
        #[cbor(n(3), with = "minicbor::bytes")]
        stdin: Vec<u8>,
        /// What it reads of tasks before it, at most [`MAX_INPUTS`]: each is a file, whose path
        /// stands where a word has `{in.NAME}`.
        #[cbor(n(4), decode_with = "bounds::inputs", default)]
        inputs: Vec<Input>,
    },
    /// A function of a language, called in a process that is kept.
    #[n(1)]
    Call {
        /// Which of the worker's runtimes calls it.
        #[n(0)]
        runtime: String,
        /// The function's code.
        #[n(1)]
        code: Option<Handle>,
        /// What the runtime makes of it, with the arguments.
        #[cbor(n(2), with = "minicbor::bytes")]
        body: Vec<u8>,
        /// Calls before it whose values it is given, at most [`MAX_INPUTS`]. They are among the
        /// inputs of its task.
        #[cbor(n(3), decode_with = "bounds::inputs", default)]
        inputs: Vec<TaskId>,
    },
}

/// What a command reads of a task that is done: what it has printed, the value that it has
/// returned, or the result of an item of data.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Input {
    /// The name of the file: 1 to 64 letters, digits, dots, underscores and hyphens, the first one
    /// no dot.
    #[n(0)]
    pub name: String,
    /// The task. It is among the inputs of the task that reads it.
    #[n(1)]
    pub task: TaskId,
}

impl Input {
    /// Whether an input may have this name.
    pub fn is_name(name: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        !name.is_empty() && name.len() <= 64 && !name.starts_with('.') && name.chars().all(is_plain)
    }
}

/// What one try of a task may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct WorkLimits {
    /// Milliseconds from its start; 0 for no limit.
    #[n(0)]
    pub time_ms: u64,
    /// Milliseconds between the request to end (SIGTERM) and the end (SIGKILL).
    #[n(1)]
    pub grace_ms: u64,
    /// Bytes of memory of all its processes; 0 for no limit.
    #[n(2)]
    pub memory_bytes: u64,
}

impl Default for WorkLimits {
    fn default() -> Self {
        Self { time_ms: 0, grace_ms: 5_000, memory_bytes: 0 }
    }
}

/// Why a payload is no work. Nothing was started.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WorkError {
    /// It is too long.
    #[error(
        "the payload has {0} bytes; work has at most {MAX_WORK_BYTES}: put data in a file and pass \
         its path, or in Python put it by `tt.put`"
    )]
    Long(usize),
    /// It has more words, variables or inputs than a worker reads.
    #[error("{count} {what}; at most {most} are possible: put them in a file and pass its path")]
    Many {
        /// Of what.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// It cannot be read.
    #[error("the payload is no work that this version knows ({0}); submit it with `tidings run`")]
    Unreadable(String),
    /// It has no program.
    #[error("the command is empty: name a program")]
    NoProgram,
    /// A text is outside of its bounds, or could not be given to the system.
    #[error("{what} {text:?}: {remedy}")]
    Text {
        /// Which part of the work.
        what: &'static str,
        /// Its beginning.
        text: String,
        /// What it should be.
        remedy: &'static str,
    },
}

impl Work {
    /// A command with default limits, without input.
    pub fn command(name: &str, argv: Vec<String>) -> Self {
        let (environment, directory, stdin) = (Vec::new(), None, Vec::new());
        let inputs = Vec::new();
        let what = What::Command { argv, environment, directory, stdin, inputs };
        Self { name: name.to_owned(), what, limits: WorkLimits::default() }
    }

    /// The payload of a task that is to do it.
    pub fn to_payload(&self) -> Vec<u8> {
        tidings_tasks_core::record::encode(self)
    }

    /// The work in a payload, checked.
    ///
    /// # Errors
    /// It is not work, or a part of it is outside of its bounds.
    pub fn from_payload(payload: &[u8]) -> Result<Self, WorkError> {
        if payload.len() > MAX_WORK_BYTES {
            return Err(WorkError::Long(payload.len()));
        }
        let read: Result<Self, _> = minicbor::decode(payload);
        let work = read.map_err(|error| WorkError::Unreadable(error.to_string()))?;
        work.check_parts()?;
        Ok(work)
    }

    /// Whether it can be done as far as can be told without trying: for who submits it, since what
    /// fails here would fail on a worker only.
    ///
    /// # Errors
    /// It is too long, or a part of it is outside of its bounds.
    pub fn check(&self) -> Result<(), WorkError> {
        self.check_parts()?;
        match self.to_payload().len() {
            bytes if bytes > MAX_WORK_BYTES => Err(WorkError::Long(bytes)),
            _ => Ok(()),
        }
    }

    fn check_parts(&self) -> Result<(), WorkError> {
        if self.name.len() > MAX_NAME_BYTES {
            return Err(text("the name", &self.name, "at most 1,024 bytes are possible"));
        }
        match &self.what {
            What::Command { argv, environment, directory, inputs, .. } => {
                at_most("words of a command", argv.len(), MAX_WORDS)?;
                at_most("variables of a command", environment.len(), MAX_VARIABLES)?;
                at_most("inputs", inputs.len(), MAX_INPUTS)?;
                if let Some(wrong) = inputs.iter().find(|input| !Input::is_name(&input.name)) {
                    return Err(text("the input", &wrong.name, "its name names a file"));
                }
                check_command(argv, environment, directory.as_deref())
            }
            What::Call { runtime, .. } if runtime.is_empty() || runtime.len() > 255 => {
                Err(text("the runtime", runtime, "its name has 1 to 255 bytes"))
            }
            What::Call { inputs, .. } => at_most("inputs", inputs.len(), MAX_INPUTS),
        }
    }
}

fn at_most(what: &'static str, count: usize, most: usize) -> Result<(), WorkError> {
    if count > most {
        return Err(WorkError::Many { what, count, most });
    }
    Ok(())
}

fn check_command(
    argv: &[String],
    environment: &[(String, String)],
    directory: Option<&str>,
) -> Result<(), WorkError> {
    if argv.first().is_none_or(String::is_empty) {
        return Err(WorkError::NoProgram);
    }
    check_zeros("the word", argv.iter().map(String::as_str))?;
    check_zeros("the folder", directory.into_iter())?;
    for (name, value) in environment {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(text("the variable", name, "a name is not empty and has no `=` in it"));
        }
        check_zeros("the value", core::iter::once(value.as_str()))?;
    }
    Ok(())
}

fn check_zeros<'t>(
    what: &'static str,
    mut texts: impl Iterator<Item = &'t str>,
) -> Result<(), WorkError> {
    let wrong = texts.find(|text| text.contains('\0'));
    wrong.map_or(Ok(()), |wrong| Err(text(what, wrong, "no byte of it can be zero")))
}

fn text(what: &'static str, text: &str, remedy: &'static str) -> WorkError {
    WorkError::Text { what, text: text.chars().take(80).collect(), remedy }
}

/// What a worker says of a try that has ended. That of one that succeeded is the task's result.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode)]
#[cbor(map)]
pub struct Report {
    /// The exit status, or minus the signal that ended the process. 0 if a call has returned.
    #[n(0)]
    pub status: i32,
    /// Microseconds from start to end.
    #[n(1)]
    pub wall_us: u64,
    /// Microseconds of processors, of the processes that were waited for (of all in a cgroup).
    #[n(2)]
    pub cpu_us: u64,
    /// The most memory of one of its processes, in bytes. Linux counts what the process had before
    /// it became the program, so it is at least what the worker has.
    #[n(3)]
    pub max_rss_bytes: u64,
    /// The host.
    #[n(4)]
    pub host: String,
    /// Its standard output.
    #[n(5)]
    pub stdout: Output,
    /// Its standard error.
    #[n(6)]
    pub stderr: Output,
    /// What a call has returned.
    #[cbor(n(7), with = "minicbor::bytes")]
    pub value: Vec<u8>,
    /// What people call the work.
    #[cbor(n(8), default)]
    pub name: String,
    /// Bytes of its inputs that came from other nodes.
    #[cbor(n(9), default)]
    pub moved_bytes: u64,
}

/// An output.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode)]
#[cbor(map)]
pub struct Output {
    /// How much was written, in bytes.
    #[n(0)]
    pub bytes_total: u64,
    /// The end of it, at most [`TAIL_BYTES`].
    #[cbor(n(1), with = "minicbor::bytes")]
    pub tail: Vec<u8>,
    /// The whole of it, if it is longer than the end and the worker has blobs.
    #[n(2)]
    pub blob: Option<Handle>,
}

/// A report whose value is not copied: what has all the parts of one is one.
#[derive(Decode)]
#[cbor(map)]
struct Returned<'r> {
    #[n(0)]
    _status: i32,
    #[n(1)]
    _wall_us: u64,
    #[n(2)]
    _cpu_us: u64,
    #[n(3)]
    _max_rss_bytes: u64,
    #[b(4)]
    _host: &'r str,
    #[n(5)]
    _stdout: Output,
    #[n(6)]
    _stderr: Output,
    #[cbor(b(7), with = "minicbor::bytes")]
    value: &'r [u8],
}

impl Report {
    /// Where in a result the value lies that a call has returned. None if no call has.
    pub fn value_in(result: &[u8]) -> Option<core::ops::Range<usize>> {
        let Returned { value, .. } = minicbor::decode(result).ok()?;
        let from = value.as_ptr() as usize - result.as_ptr() as usize;
        (!value.is_empty()).then(|| from..from + value.len())
    }

    /// The result of a task.
    pub fn to_result(&self) -> Vec<u8> {
        tidings_tasks_core::record::encode(self)
    }

    /// The report in a result.
    ///
    /// # Errors
    /// It is none.
    pub fn from_result(result: &[u8]) -> Result<Self, WorkError> {
        minicbor::decode(result).map_err(|error| WorkError::Unreadable(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text() -> impl Strategy<Value = String> {
        "[a-z /=é]{1,12}"
    }

    fn handle() -> impl Strategy<Value = Handle> {
        any::<Vec<u8>>().prop_map(|content| Handle::of(&content))
    }

    fn what() -> impl Strategy<Value = What> {
        let argv = prop::collection::vec(text(), 1..5);
        let environment = prop::collection::vec(("[A-Z]{1,5}", text()), 0..4);
        let input = ("[a-z]{1,5}", any::<u64>())
            .prop_map(|(name, number)| Input { name, task: TaskId::of("t", number) });
        let inputs = prop::collection::vec(input, 0..3);
        let all = (argv, environment, prop::option::of(text()), any::<Vec<u8>>(), inputs);
        let command = all.prop_map(|(argv, environment, directory, stdin, inputs)| What::Command {
            argv,
            environment,
            directory,
            stdin,
            inputs,
        });
        let before = prop::collection::vec(any::<[u8; 16]>().prop_map(TaskId::from_bytes), 0..3);
        let call = (text(), prop::option::of(handle()), any::<Vec<u8>>(), before)
            .prop_map(|(runtime, code, body, inputs)| What::Call { runtime, code, body, inputs });
        prop_oneof![command, call]
    }

    fn output() -> impl Strategy<Value = Output> {
        (any::<u64>(), any::<Vec<u8>>(), prop::option::of(handle()))
            .prop_map(|(bytes_total, tail, blob)| Output { bytes_total, tail, blob })
    }

    proptest! {
        #[test]
        fn work_is_read_as_it_is_written(name in text(), what in what(), limits: (u64, u64, u64)) {
            let (time_ms, grace_ms, memory_bytes) = limits;
            let limits = WorkLimits { time_ms, grace_ms, memory_bytes };
            let work = Work { name, what, limits };
            prop_assert_eq!(Work::from_payload(&work.to_payload()), Ok(work));
        }

        #[test]
        fn reports_are_read_as_they_are_written(
            status: i32, times: (u64, u64, u64), stdout in output(), stderr in output(),
            value: Vec<u8>,
        ) {
            let (wall_us, cpu_us, max_rss_bytes) = times;
            let (host, name) = ("here".to_owned(), "sim".to_owned());
            let moved_bytes = cpu_us;
            let report = Report {
                status, wall_us, cpu_us, max_rss_bytes, host, stdout, stderr, value, name,
                moved_bytes,
            };
            let result = report.to_result();
            let value = Report::value_in(&result).map(|range| result[range].to_vec());
            prop_assert_eq!(value.unwrap_or_default(), report.value.clone());
            prop_assert_eq!(Report::from_result(&result), Ok(report));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = Work::from_payload(&bytes);
            let _ = Report::from_result(&bytes);
            let _ = Report::value_in(&bytes);
        }

        /// Bytes that are work but for one of them come further than any.
        #[test]
        fn no_damage_makes_it_panic(what in what(), at: prop::sample::Index, byte: u8) {
            let work = Work { name: String::new(), what, limits: WorkLimits::default() };
            let mut payload = work.to_payload();
            let at = at.index(payload.len());
            payload[at] = byte;
            let _ = Work::from_payload(&payload);
        }
    }

    fn refused(argv: &[&str], variable: (&str, &str)) -> String {
        let mut work = Work::command("", argv.iter().copied().map(str::to_owned).collect());
        let What::Command { environment, .. } = &mut work.what else { unreachable!() };
        environment.push((variable.0.to_owned(), variable.1.to_owned()));
        Work::from_payload(&work.to_payload()).unwrap_err().to_string()
    }

    #[test]
    fn what_no_system_takes_is_refused() {
        let fine = ("A", "b");
        assert!(refused(&[], fine).contains("name a program"));
        assert!(refused(&[""], fine).contains("name a program"));
        assert!(refused(&["a", "b\0"], fine).contains("no byte of it can be zero"));
        for name in ["", "a=b"] {
            assert!(refused(&["a"], (name, "")).contains("has no `=` in it"));
        }
        assert!(refused(&["a"], ("A", "\0")).contains("no byte of it can be zero"));
    }

    #[test]
    fn a_length_is_bounded_before_it_is_believed() {
        let words = vec![String::new(); MAX_WORDS + 1];
        let error = Work::from_payload(&Work::command("", words).to_payload()).unwrap_err();
        assert!(error.to_string().contains("more than 65536 words"), "{error}");
        let error = Work::from_payload(&vec![0; MAX_WORK_BYTES + 1]).unwrap_err();
        assert_eq!(error, WorkError::Long(MAX_WORK_BYTES + 1));
    }

    /// Such tasks were taken, and failed on the worker that read them.
    #[test]
    fn what_no_worker_would_read_is_refused_to_who_submits() {
        let command = |argv| Work::command("sim", argv);
        let input = |bytes: usize| {
            let mut work = command(vec!["sim".to_owned()]);
            let What::Command { stdin, .. } = &mut work.what else { unreachable!() };
            *stdin = vec![0; bytes];
            work
        };
        let frame = input(1 << 20).to_payload().len() - (1 << 20);
        assert_eq!(input(MAX_WORK_BYTES - frame).check(), Ok(()));
        let long = input(MAX_WORK_BYTES - frame + 1).check().unwrap_err();
        assert_eq!(long, WorkError::Long(MAX_WORK_BYTES + 1));
        assert!(long.to_string().contains("in a file and pass its path, or in Python put it by"));
        let many = command(vec!["x".to_owned(); MAX_WORDS + 1]).check().unwrap_err().to_string();
        assert!(many.starts_with("65537 words of a command; at most 65536 are possible"), "{many}");
    }
}
