"""Batch jobs: each run is a job of Slurm, several at once, and is found again after a stop.

A job is a script below ``OUTPUT.jobs``: it runs the command by ``srun``, records when it began and
ended, and reports that by a file that appears whole. So no process has to run while jobs wait in
the queue: a second start of the same runs finds the numbers of its jobs, and waits for them instead
of submitting them twice. Time in the queue is not measured. A job that the controller no longer
knows, or reports as ended, without having left that file has failed. Its folder stays for
inspection; when the runs are started again, the job is submitted again.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tidings.scaling.launchers import Ended, RunError, Wanted, values_of, words_of
from tidings.scaling.stated_run import StatedRun

_SHORTEST_S, _LONGEST_S = 0.1, 2.0
_ASK_EVERY_S = 5.0
_RUNNING = re.compile(
    r"\bJobState=(PENDING|RUNNING|CONFIGURING|COMPLETING|SUSPENDED|REQUEUED\w*|SIGNALING"
    r"|STAGE_OUT)\b"
)


class Job:
    """One run as a job: its folder holds script, number, output and counts."""

    def __init__(self, stated: StatedRun, wanted: Wanted, folder: Path) -> None:
        named = re.sub(r"[^\w.-]+", "-", f"{stated.function}-{stated.metric}")
        jobs = (folder / stated.output).resolve()
        self.stated = stated
        self.wanted = wanted
        self.command_folder = folder
        self.name = f"{named}-{wanted.size:g}-{wanted.start}"
        self.folder = jobs.with_name(f"{jobs.name}.jobs") / self.name
        self.missing = 0

    @property
    def number(self) -> str:
        """Slurm's number of the job; empty if it was not submitted."""
        file = self.folder / "number"
        return file.read_text(encoding="utf-8").strip() if file.exists() else ""

    def submit(self) -> None:
        """Write the script and submit it, unless that was done by an earlier start."""
        if self.number and not self._failed():
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "counts").mkdir(parents=True)
        script = self.folder / "script"
        script.write_text(self._script(), encoding="utf-8")
        tasks = self.stated.tasks_at(self.wanted.size)
        words = [
            *self.stated.launch,
            "--parsable",
            f"--ntasks={tasks}",
            f"--job-name={self.name}",
            f"--chdir={self.command_folder.resolve()}",
            f"--output={self.folder / 'job.out'}",
        ]
        said = _ask([*words, str(script)])
        (self.folder / "number").write_text(said.split(";")[0].strip() + "\n", encoding="utf-8")

    def _script(self) -> str:
        words = words_of(self.stated, self.wanted.size, self.folder / "counts")
        place = {name: shlex.quote(str(self.folder / name)) for name in ("out", "err", "ended")}
        return (
            "#!/bin/bash\n"
            "began=$EPOCHREALTIME\n"
            f"srun {shlex.join(words)} >{place['out']} 2>{place['err']}\n"
            "code=$?\n"
            f'echo "$code $began $EPOCHREALTIME" >{place["ended"]}.part\n'
            f"mv {place['ended']}.part {place['ended']}\n"
        )

    def _failed(self) -> bool:
        ended = self.ended()
        return ended is not None and ended.code != 0

    def ended(self) -> Ended | None:
        """Return how the command ended, or None while it has not."""
        file = self.folder / "ended"
        if not file.exists():
            return None
        code, began, end = file.read_text(encoding="utf-8").replace(",", ".").split()
        out, err = (
            (self.folder / name).read_text(encoding="utf-8", errors="replace")
            for name in ("out", "err")
        )
        return Ended(out, err, int(code), float(end) - float(began))

    def values(self, ended: Ended) -> list[float]:
        """Return the values of a job that ended, and remove its folder."""
        values = values_of(self.stated, self.wanted.size, ended, self.folder / "counts")
        shutil.rmtree(self.folder)
        return values

    def check(self) -> None:
        """Ask the controller; a job that it twice reports as ended, without a result, failed."""
        asked = subprocess.run(
            ["scontrol", "show", "job", "--oneliner", self.number],
            capture_output=True,
            text=True,
            check=False,
        )
        self.missing = 0 if _RUNNING.search(asked.stdout) else self.missing + 1
        if self.missing > 1 and self.ended() is None:
            state = re.search(r"\bJobState=(\S+)", asked.stdout)
            number, why = self.number, state.group(1) if state else "unknown to Slurm"
            (self.folder / "number").unlink()
            raise RunError(f"job {number} ({self.name}) is {why}, without a result: {self.folder}")


def jobs(
    stated: StatedRun, wanted: Sequence[Wanted], folder: Path
) -> Iterator[tuple[Wanted, list[float]]]:
    """Submit a job for each run, some at once; yield the values of each, in the order they end."""
    waiting = [Job(stated, one, folder) for one in wanted]
    running: list[Job] = []
    pause, asked = _SHORTEST_S, time.monotonic()
    while waiting or running:
        while waiting and len(running) < stated.at_once:
            running.append(waiting.pop(0))
            running[-1].submit()
        over = [(job, ended) for job in running if (ended := job.ended())]
        for job, ended in over:
            running.remove(job)
            yield job.wanted, job.values(ended)
        pause = _SHORTEST_S if over else min(2 * pause, _LONGEST_S)
        if running and not over:
            time.sleep(pause)
        if time.monotonic() - asked > _ASK_EVERY_S:
            asked = time.monotonic()
            for job in running:
                job.check()


def _ask(words: list[str]) -> str:
    try:
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise RunError(f"`{words[0]}`: {error.strerror}") from None
    if ended.returncode:
        raise RunError(f"`{words[0]}`: {ended.stderr.strip() or 'it failed'}")
    return ended.stdout
