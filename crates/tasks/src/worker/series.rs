//! The calls of one process: made one after the other, and taken back where they have not begun.
//!
//! The next calls lie with the process already (`permits`), so that it need not wait between two.
//! They are taken back when the one before them takes long, when another slot is free, when one of
//! them is not wanted, and when the process is lost: what has not begun was not tried.
//!
//! Invariants: what a process has written is read while nobody but the call that wrote it may have
//! begun; and a process is killed for a call only while no later one may have begun.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use tokio::time::Instant;

use crate::runtime::{FromRuntime, ToRuntime};
use crate::work::{What, Work};

use super::call::{self, Call, Called, Lost, READY, long};
use super::ending::{Act, Ending, until};
use super::given::{self, Content, Ear, Given, Key, Say, Todo, Told};
use super::kept::{Kept, Runtimes};
use super::permits;
use super::running::{SHORT, Sated};
use super::settings::Event;
use super::shared::{Shared, Try};
use super::usage::Usage;
use super::values;
use super::verdict::Verdict;

/// What a process says is heard later if it has work for twice as long: what has ended meanwhile is
/// told at once, and everybody on the way to whoever waits is woken once for it. So long at least,
/// or not at all, and at most.
const REST: Duration = Duration::from_millis(2);
const LONGEST_REST: Duration = Duration::from_millis(16);

/// What happens to a process and its calls.
enum Happened {
    Said(io::Result<FromRuntime>),
    Rested,
    Act(Act),
    Told(Say),
    Ended,
    NotReady,
    /// The call takes long.
    Late,
    Output,
}

/// The calls of one process, in the order in which they come.
struct Calls<'a> {
    shared: &'a Shared,
    ear: &'a mut Ear,
    runtime: String,
    kept: Kept,
    /// The one that runs, as far as is known.
    current: Option<Call>,
    /// When it began, and what the process had used before, if that is measured.
    begun: Instant,
    before: Option<Usage>,
    /// What the process says that it took, and whether it waits for its output to be read.
    wall_us: u64,
    is_held: bool,
    /// It is said once the process is ready.
    unsaid: Option<ToRuntime>,
    ready_by: Option<Instant>,
    /// When this one ends, the process has heard which calls were taken back.
    hearing: Option<Key>,
    /// Lie with the process.
    ahead: VecDeque<Call>,
    /// Do not.
    later: VecDeque<Call>,
    /// Whether the last call has written nothing. Otherwise the next is not sent ahead.
    is_quiet: bool,
    /// When the current one has taken long; none if that was told.
    late_at: Option<Instant>,
    /// How long the last one took, the shorter of the last two, and whether those ahead are enough
    /// for a while.
    last_took: Duration,
    took: Duration,
    sated: Sated,
    /// Nothing that the process says is heard before.
    rests_until: Option<Instant>,
}

/// Makes a call in a process of the slot, and those that are added, whatever ends them.
pub(super) async fn run(shared: &Shared, runtimes: &mut Runtimes, mut first: Call, ear: &mut Ear) {
    let (begun, runtime) = (Instant::now(), first.runtime.clone());
    first.during = Some(shared.running.during(first.of.task, first.of.attempt));
    let kept = match call::begin(shared, &first.of, runtimes, &runtime).await {
        Ok(kept) => kept,
        Err(verdict) => return ear.ended(first.key(), verdict, begun.elapsed()).await,
    };
    let mut calls = Calls {
        shared,
        ear,
        runtime,
        kept,
        current: None,
        begun,
        before: None,
        wall_us: 0,
        is_held: false,
        unsaid: None,
        ready_by: None,
        hearing: None,
        ahead: VecDeque::new(),
        later: VecDeque::from([first]),
        is_quiet: true,
        late_at: None,
        last_took: Duration::ZERO,
        took: Duration::ZERO,
        sated: Sated::default(),
        rests_until: None,
    };
    if calls.kept.ahead > 0 {
        calls.takes(calls.kept.ahead).await;
    }
    let conducted = calls.conduct().await;
    calls.sate(Sated::default());
    match conducted {
        Ok(()) => {
            runtimes.insert(calls.runtime.clone(), calls.kept);
            call::prepare(shared, &calls.runtime, true).await;
        }
        Err(lost) => calls.lost(lost).await,
    }
}

impl Calls<'_> {
    /// Makes calls until none is left.
    async fn conduct(&mut self) -> Result<(), Lost> {
        loop {
            if self.current.is_none() && !self.next_one().await? {
                return Ok(());
            }
            self.send_ahead()?;
            self.sate(Sated::with(self.ahead.len(), self.took));
            match self.happens().await {
                Happened::Said(said) => self.said(said.map_err(Lost::Link)?).await?,
                Happened::Rested => self.rests_until = None,
                Happened::Act(act) => self.act(act).await?,
                // With more that is there already, so that all goes to the process at once.
                Happened::Told(say) => {
                    self.told(say).await;
                    self.hear().await;
                }
                Happened::Ended => return Err(Lost::Ended),
                Happened::NotReady => return Err(Lost::NotReady),
                Happened::Late => {
                    self.late_at = None;
                    self.give_back(true).await;
                }
                Happened::Output => {
                    self.alone().await?;
                    self.is_quiet = false;
                    self.kept.process.streams.take_some();
                }
            }
        }
    }

    /// Says how long the process has enough to do.
    fn sate(&mut self, sated: Sated) {
        self.shared.running.set_sated(std::mem::replace(&mut self.sated, sated), sated);
    }

    /// Waits until something happens. May be dropped at any time.
    async fn happens(&mut self) -> Happened {
        let Self { kept, current, ear, .. } = self;
        let Kept { process, link, .. } = kept;
        let has_more = !(self.ahead.is_empty() && self.later.is_empty());
        let late_at = self.late_at.filter(|_| has_more);
        let acting = async {
            match current {
                Some(call) => call.ending.act().await,
                None => core::future::pending().await,
            }
        };
        tokio::select! {
            // What a process says before it ends counts.
            biased;
            said = link.next(), if self.rests_until.is_none() => Happened::Said(said),
            () = until(self.rests_until) => Happened::Rested,
            act = acting => Happened::Act(act),
            Some(say) = ear.says.recv() => Happened::Told(say),
            () = process.exit.wait() => Happened::Ended,
            () = until(self.ready_by) => Happened::NotReady,
            () = until(late_at) => Happened::Late,
            () = process.streams.readable() => Happened::Output,
        }
    }

    /// Begins the next call that the process does not have yet; `false` if there is none.
    async fn next_one(&mut self) -> Result<bool, Lost> {
        loop {
            self.hear().await;
            let Some(mut call) = self.later.pop_front() else { return Ok(false) };
            let run = match self.whole(&mut call).await {
                Ok(run) => run,
                Err(verdict) => {
                    self.ear.ended(call.key(), verdict, self.begun.elapsed()).await;
                    continue;
                }
            };
            if self.kept.is_ready {
                self.kept.link.say(&run).map_err(long)?;
            } else {
                self.unsaid = Some(run);
                self.ready_by = Some(Instant::now() + READY);
            }
            let (task, attempt) = call.key();
            call.during.get_or_insert_with(|| self.shared.running.during(task, attempt));
            self.hearing = self.kept.is_behind.then_some(call.key());
            self.begins(call);
            return Ok(true);
        }
    }

    /// The frame of the next call, with what those have returned that it reads. Calls behind it do
    /// not wait for that longer than for one that runs.
    async fn whole(&mut self, call: &mut Call) -> Result<ToRuntime, Verdict> {
        let inputs = call.inputs.clone();
        let fetching = values::of(self.shared, &inputs);
        tokio::pin!(fetching);
        let late_at = Instant::now() + call.patience;
        let (values, moved_bytes) = loop {
            tokio::select! {
                biased;
                fetched = &mut fetching => break fetched?,
                Some(say) = self.ear.says.recv() => self.told(say).await,
                () = until(Some(late_at)), if !self.later.is_empty() => self.give_back(true).await,
            }
        };
        call.moved_bytes = moved_bytes;
        call::whole(self.shared, &self.kept, call, values).await
    }

    /// A call begins, as far as is known.
    fn begins(&mut self, mut call: Call) {
        let (task, attempt, slot) = (call.of.task, call.of.attempt, call.of.slot);
        self.shared.tell(Event::Started { task, attempt, slot, name: call.name.clone() });
        self.before = self.kept.measure();
        let limits = call.ending.limits();
        Given::begins(&call.grace_ms, limits.grace_ms);
        if limits.memory_bytes > 0 {
            call.ending.measure();
        }
        if self.kept.is_ready {
            call.ending.begin_time();
        }
        self.late_at = Some(Instant::now() + call.patience);
        self.current = Some(call);
    }

    /// Sends what the process may have ahead.
    fn send_ahead(&mut self) -> Result<(), Lost> {
        let Some(current) = &self.current else { return Ok(()) };
        // Memory is measured of a process, so a call with a limit has it alone.
        let is_limited = current.ending.limits().memory_bytes > 0;
        // A byte would let the process begin what was taken back and it has not heard of yet.
        if is_limited || self.kept.is_behind || !self.is_quiet || self.late_at.is_none() {
            return Ok(());
        }
        let room = self.kept.ahead.saturating_sub(self.ahead.len());
        let may_go = self.later.iter().take(room).take_while(|call| call.goes_ahead(&self.kept));
        let count = self.kept.permits.give(may_go.count());
        for sent in 0..count {
            let Some(mut call) = self.later.pop_front() else { break };
            let (task, attempt) = call.key();
            call.during.get_or_insert_with(|| self.shared.running.during(task, attempt));
            if let Err(bytes) = self.kept.link.say(&call.frame(None, Vec::new(), true)) {
                // A permit without a call would say that the current one has not begun.
                self.kept.permits.take_back(count - sent);
                self.later.push_front(call);
                return Err(long(bytes));
            }
            self.ahead.push_back(call);
        }
        Ok(())
    }

    /// The process says something.
    async fn said(&mut self, said: FromRuntime) -> Result<(), Lost> {
        let of = self.current.as_ref().map(Call::key);
        match said {
            FromRuntime::Ready { ahead, can_wait, .. } if !self.kept.is_ready => {
                if can_wait {
                    self.shared.spares.can_wait(&self.runtime, Instant::now());
                }
                (self.kept.is_ready, self.ready_by) = (true, None);
                if let Some(run) = self.unsaid.take() {
                    self.kept.link.say(&run).map_err(long)?;
                }
                if let Some(call) = &mut self.current {
                    call.ending.begin_time();
                    self.late_at = Some(Instant::now() + call.patience);
                }
                self.kept.ahead = (ahead as usize).min(permits::MOST);
                self.takes(self.kept.ahead).await;
            }
            FromRuntime::Progress { task, attempt, thousandths, text } => {
                self.shared.tell(Event::Progress { task, attempt, thousandths, text });
            }
            FromRuntime::Spent { task, attempt, cpu_us, peak_bytes, wall_us, is_held }
                if self.kept.is_ready && of == Some((task, attempt)) =>
            {
                self.kept.spent = Some(Usage { cpu_us, peak_bytes });
                (self.wall_us, self.is_held) = (wall_us, is_held);
            }
            said if self.kept.is_ready && of.is_some() && call::end_of(&said) == of => {
                self.ended(said).await?;
            }
            said => return Err(Lost::Link(call::unexpected(&said))),
        }
        Ok(())
    }

    /// The current call has ended, and the process has begun the next one, if it has one.
    async fn ended(&mut self, said: FromRuntime) -> Result<(), Lost> {
        let Some(call) = self.current.take() else { return Ok(()) };
        let kept = &mut self.kept;
        // It was sent after them.
        kept.is_behind &= self.hearing != Some(call.key());
        if self.is_held || kept.ahead == 0 {
            kept.process.streams.take_rest();
        }
        if std::mem::take(&mut self.is_held) {
            kept.link.say(&ToRuntime::Go {}).map_err(long)?;
        }
        kept.known.extend(call.code.map(|code| code.hash));
        let used = kept.used(self.before.take());
        let (mut report, short) = call::report(self.shared, &call, kept, used).await;
        self.is_quiet = report.stdout.bytes_total == 0 && report.stderr.bytes_total == 0;
        let took = match std::mem::take(&mut self.wall_us) {
            0 => self.begun.elapsed(),
            wall_us => Duration::from_micros(wall_us),
        };
        self.took = took.min(std::mem::replace(&mut self.last_took, took));
        self.begun = Instant::now();
        report.wall_us = took.as_micros() as u64;
        let verdict = call::spoken(said, report, &call.ending).unless(short);
        self.ear.ended(call.key(), verdict, took).await;
        drop(call);
        if let Some(next) = self.ahead.pop_front() {
            self.begins(next);
        }
        call::prepare(self.shared, &self.runtime, false).await;
        self.rest();
        Ok(())
    }

    /// Lets more come together, if the process has enough to do meanwhile.
    fn rest(&mut self) {
        let rest = self.took * self.ahead.len() as u32 / 2;
        if rest >= REST && self.took <= SHORT && !self.kept.link.has_more() {
            self.rests_until = Some(Instant::now() + rest.min(LONGEST_REST));
        }
    }

    /// Something is to be done with the current call.
    async fn act(&mut self, act: Act) -> Result<(), Lost> {
        let Some(of) = self.current.as_ref().map(Call::key) else { return Ok(()) };
        match act {
            Act::Ask if self.kept.is_ready => {
                let (task, attempt) = of;
                // It is some bytes.
                let _ = self.kept.link.say(&ToRuntime::Cancel { task, attempt });
            }
            // One that is not in the call yet has nothing to be asked.
            Act::Ask | Act::Kill => {
                self.alone().await?;
                if self.current.as_ref().map(Call::key) == Some(of) {
                    self.kept.process.leader.kill();
                }
            }
            Act::Measure => {
                if let Some(call) = &mut self.current {
                    call.ending.check_memory(&self.kept.process.leader);
                }
            }
        }
        Ok(())
    }

    /// Takes what the driver has said.
    async fn hear(&mut self) {
        while let Ok(say) = self.ear.says.try_recv() {
            self.told(say).await;
        }
    }

    /// The driver says something.
    async fn told(&mut self, say: Say) {
        let next = match say {
            Say::Next(given) => *given,
            Say::Back => return self.give_back(false).await,
        };
        let Given { todo, orders, grace_ms, patience } = next;
        let Todo { task, attempt, queue, copies, content } = todo;
        match given::read(self.shared, content).await {
            Err(verdict) => {
                self.ear.ended((task, attempt), verdict, Duration::ZERO).await;
            }
            Ok(Work { name, what: What::Call { runtime, code, body, inputs }, limits })
                if runtime == self.runtime =>
            {
                let of = Try { task, attempt, queue, slot: self.ear.slot, copies };
                let called = Called { name, runtime, code, body, inputs };
                let ending = Ending::new(limits, orders);
                let call = Call::new(of, called, ending, grace_ms, patience);
                self.later.push_back(call);
                if self.current.is_some() && self.late_at.is_none() {
                    self.give_back(true).await;
                }
            }
            Ok(work) => {
                // It is for another process, so this lane is to end.
                self.takes(0).await;
                let content = Content::Work(work);
                let all = vec![Todo { task, attempt, queue, copies, content }];
                self.ear.tell(Told::Back { slot: self.ear.slot, all, is_late: false }).await;
            }
        }
    }

    async fn takes(&self, ahead: usize) {
        self.ear.tell(Told::Takes(self.ear.slot, ahead)).await;
    }

    /// Takes back what the process has not begun.
    fn hold(&mut self) {
        let count = self.kept.permits.take_back(self.ahead.len());
        for _ in 0..count {
            let Some(mut call) = self.ahead.pop_back() else { break };
            call.during = None;
            let (task, attempt) = call.key();
            // It is some bytes.
            let _ = self.kept.link.say(&ToRuntime::Withdraw { task, attempt });
            self.kept.is_behind = true;
            self.later.push_front(call);
        }
    }

    /// Lets no further call begin, and waits until the last one that has begun is known: what the
    /// process has said before that is there already.
    async fn alone(&mut self) -> Result<(), Lost> {
        self.hold();
        while !self.ahead.is_empty() {
            let said = tokio::select! {
                biased;
                said = self.kept.link.next() => said,
                () = self.kept.process.exit.wait() => return Err(Lost::Ended),
            };
            self.said(said.map_err(Lost::Link)?).await?;
        }
        Ok(())
    }

    /// Gives back what has not begun.
    async fn give_back(&mut self, is_late: bool) {
        self.hold();
        let all = self.later.drain(..).map(Call::todo).collect();
        self.ear.tell(Told::Back { slot: self.ear.slot, all, is_late }).await;
    }

    /// The process is lost, and with it the last call that it has begun.
    async fn lost(mut self, lost: Lost) {
        let left = self.kept.permits.take_back(permits::MOST);
        // With one more than are ahead, the current one has not begun either.
        let is_idle = left > self.ahead.len();
        for call in (0..left).map_while(|_| self.ahead.pop_back()) {
            self.later.push_front(call);
        }
        if let Some(call) = self.current.take_if(|_| is_idle) {
            self.later.push_front(call);
        }
        // What it has said before it ended counts, unless it has said what is no frame. It may be
        // there still: to write to a process that has ended is an error before all is read.
        while lost.is_believed() {
            let Some(said) = self.kept.link.rest() else { break };
            if self.said(said).await.is_err() {
                break;
            }
        }
        while let Some(call) = self.ahead.pop_back() {
            self.later.push_front(call);
        }
        self.takes(0).await;
        self.give_back(false).await;
        let Self { shared, ear, kept, current, begun, .. } = self;
        let Some(call) = current else { return };
        let mut verdict = call::post_mortem(shared, &call, kept, lost).await;
        if let Some(report) = &mut verdict.report {
            report.wall_us = begun.elapsed().as_micros() as u64;
            report.name.clone_from(&call.name);
        }
        ear.ended(call.key(), verdict, begun.elapsed()).await;
    }
}
