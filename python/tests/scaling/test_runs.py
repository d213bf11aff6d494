"""Runs: interleaved, resumed, counted by real counters, over several parameters, by mpirun."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tidings.scaling.cli import main
from tidings.scaling.counters import library, processor
from tidings.scaling.specification import Specification, SpecificationError

PRINTING = f"{sys.executable} -S -c 'print(\"work\", 3 * {{size}})'"
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tidings_counts.h"

__attribute__((noinline)) unsigned long work(unsigned long steps) {
    volatile unsigned long sum = 0;
    for (unsigned long at = 0; at < steps; at++)
        sum += at;
    return sum;
}

int main(int count, char **words) {
    unsigned long size = strtoul(words[1], 0, 10);
    for (volatile long at = 0; at < 1000000; at++)
        ;
    tidings_counts_mark_begin();
    work(size);
    char *block = malloc(1000 * size);
    for (unsigned long at = 0; at < 1000 * size; at += 1000)
        block[at] = 1;
    for (unsigned long at = 1; at < size; at++) {
        void *volatile small = malloc(10);
        free(small);
    }
    tidings_counts_mark_end();
    printf("%d\\n", block[0] + count);
    free(block);
    return 0;
}
"""


def write(folder: Path, **keys: object) -> Path:
    """Write a scaling.toml with a run of these keys."""
    stated = {"function": "f", "sizes": [1, 2, 4], "output": "out/f.jsonl", **keys}
    lines = [f"{key} = {_toml(value)}" for key, value in stated.items()]
    file = folder / "scaling.toml"
    file.write_text("\n".join(["[[run]]", *lines]) + "\n", encoding="utf-8")
    return file


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(entry)}" for key, entry in value.items()) + " }"
    return json.dumps(value)


def rows(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of the output file."""
    text = (folder / "out" / "f.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def run(file: Path, *options: str) -> int:
    """Make the runs of a file."""
    return main(["run", "--file", str(file), *options])


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Compile a program that sets marks."""
    source, built = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM, encoding="utf-8")
    words = ["cc", "-O1", "-Wall", "-Werror", f"-I{library.INCLUDE}"]
    subprocess.run([*words, "-o", built, source, "-ldl"], check=True)
    return built


def test_runs_are_interleaved_and_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, command=PRINTING, metric="work", repetitions=2, value="work ([0-9.]+)")
    assert run(file) == 0
    made = rows(tmp_path)
    assert [row["size"] for row in made] == [1, 2, 4, 1, 2, 4]
    assert [row["value"] for row in made] == [3, 6, 12, 3, 6, 12]
    output = tmp_path / "out" / "f.jsonl"
    whole = output.read_text(encoding="utf-8").splitlines(keepends=True)
    # The fourth row was being written when its writer was killed.
    output.write_text("".join(whole[:3]) + whole[3][:20], encoding="utf-8")
    capsys.readouterr()
    assert run(file) == 0
    assert "(3 of 3)" in capsys.readouterr().err
    assert rows(tmp_path) == made
    assert run(file) == 0
    assert "all 6 runs are in" in capsys.readouterr().err
    assert run(file, "--anew") == 0
    assert "(6 of 6)" in capsys.readouterr().err
    assert rows(tmp_path) == made


def test_anew_does_not_change_other_functions(tmp_path: Path) -> None:
    other = '{"function": "g", "metric": "work", "size": 1, "repetition": 0, "value": 7}\n'
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "f.jsonl").write_text(other, encoding="utf-8")
    file = write(tmp_path, command=PRINTING, metric="work", repetitions=1, value="work (.*)")
    assert run(file, "--anew") == 0
    assert [row["function"] for row in rows(tmp_path)] == ["g", "f", "f", "f"]


def test_values_of_another_command_are_not_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys: dict[str, Any] = {"metric": "work", "repetitions": 1, "value": "work (.*)"}
    assert run(write(tmp_path, command=PRINTING, **keys)) == 0
    file = write(tmp_path, command=PRINTING.replace("3 *", "5 *"), **keys)
    capsys.readouterr()
    assert run(file) == 2
    said = capsys.readouterr().err
    assert "f.jsonl:1: f at n=1 was measured by another command, `" in said
    assert "`run --anew` measures it again" in said
    assert [row["value"] for row in rows(tmp_path)] == [3, 6, 12]
    assert run(file, "--anew") == 0
    assert [row["value"] for row in rows(tmp_path)] == [5, 10, 20]


def test_other_sizes_may_have_another_command(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"metric": "work", "repetitions": 1, "value": "work (.*)"}
    small = write(tmp_path, command=PRINTING, **keys).read_text(encoding="utf-8")
    other = PRINTING.replace("3 *", "5 *")
    large = write(tmp_path, command=other, sizes=[8, 16], **keys).read_text(encoding="utf-8")
    file = tmp_path / "both.toml"
    file.write_text(small + large, encoding="utf-8")
    for options in ([], [], ["--anew"], []):
        assert run(file, *options) == 0
        assert sorted(row["value"] for row in rows(tmp_path)) == [3, 6, 12, 40, 80]


def test_another_number_of_processes_is_another_command(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"launcher": "mpirun", "command": "f {size}"}
    few, many = (Specification.read(write(tmp_path, tasks=n, **keys)).runs[0] for n in (2, 64))
    assert (few.template, many.template) == ("mpirun -n 2 f {size}", "mpirun -n 64 f {size}")


def test_one_at_a_time_adds_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, command=PRINTING, metric="work", repetitions=1, value="work (.*)")
    (tmp_path / "out").mkdir()
    with (tmp_path / "out/f.jsonl").open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert run(file) == 2
        assert "another run is adding to it; wait until it ends" in capsys.readouterr().err
    assert run(file) == 0
    assert len(rows(tmp_path)) == 3


def test_several_values_of_a_run_share_its_name(tmp_path: Path) -> None:
    command = f"{sys.executable} -S -c 'print({{size}}, {{size}} + 1)'"
    file = write(tmp_path, command=command, repetitions=1, value="[0-9]+", sizes=[5, 8])
    assert run(file) == 0
    found = [(row["run"], row["repetition"], row["value"]) for row in rows(tmp_path)]
    assert found == [("5.0", 0, 5), ("5.0", 1, 6), ("8.0", 0, 8), ("8.0", 1, 9)]
    assert run(file) == 0
    assert len(rows(tmp_path)) == 4


def test_every_combination_of_parameters_is_a_function(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        function="{kind}, {bytes} B",
        command=f"{sys.executable} -S -c 'print(\"{{kind}}\", {{bytes}} * {{size}})'",
        vary={"kind": ["ring", "tree"], "bytes": [8, 64]},
        repetitions=1,
        value="[0-9]+$",
    )
    assert run(file) == 0
    found = {row["function"]: row["value"] for row in rows(tmp_path)}
    assert found == {"ring, 8 B": 32, "ring, 64 B": 256, "tree, 8 B": 32, "tree, 64 B": 256}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        pytest.param({"counter": "callgrind", "toggle": "work"}, None, marks=pytest.mark.foreign),
        pytest.param({"counter": "callgrind", "marked": True}, None, marks=pytest.mark.foreign),
        ({"counter": "allocations", "marked": True}, [1000, 2000, 4000]),
        ({"counter": "heap", "marked": True}, [1e6, 2e6, 4e6]),
        ({"counter": "held", "marked": True}, [1e6, 2e6, 4e6]),
        ({"counter": "pss", "marked": True}, [1e6, 2e6, 4e6]),
        ({"counter": "allocations"}, [1000, 2000, 4000]),
    ],
)
def test_counters_count(
    tmp_path: Path, program: Path, keys: dict[str, object], expected: list[float] | None
) -> None:
    """What is between the marks grows like the size; outside it has a million steps."""
    file = write(
        tmp_path, command=f"{program} {{size}}", sizes=[1000, 2000, 4000], repetitions=1, **keys
    )
    assert run(file) == 0
    values = [row["value"] for row in rows(tmp_path)]
    if expected is None:
        assert (values[2] - values[1]) / (values[1] - values[0]) == pytest.approx(2, rel=0.01)
        assert values[2] < 1e6
    else:
        assert values == pytest.approx(expected, rel=0.15)


@pytest.mark.foreign
def test_a_missing_count_is_reported(
    tmp_path: Path, program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for keys, problem in (
        ({"counter": "callgrind", "toggle": "nothing"}, "no function is called `nothing`"),
        ({"counter": "callgrind", "marked": True}, "the command set no marks"),
        ({"counter": "heap", "marked": True}, "the command set no marks"),
    ):
        file = write(tmp_path, command="true {size}", repetitions=1, **keys)
        assert run(file) == 2
        assert problem in capsys.readouterr().err
    file = write(tmp_path, command=f"{program} {{size}}", repetitions=1, counter="perf")
    refused = processor.refused()
    assert run(file) == (2 if refused else 0)
    assert ("perf counted no instructions here" in capsys.readouterr().err) == bool(refused)


def test_the_output_of_perf_is_read() -> None:
    from tidings.scaling.counters.commands import Counter

    said = "noise\n131012,,instructions:u,1000,100.00,,\n"
    assert Counter("perf").count(said, Path()) == 131012


@pytest.mark.foreign
def test_mpirun_starts_as_many_as_the_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    for launch, size_of in (
        ("mpirun.openmpi --oversubscribe", "OMPI_COMM_WORLD_SIZE"),
        ("mpirun.mpich", "PMI_SIZE"),
    ):
        file = write(
            tmp_path,
            function=size_of,
            # MPICH's launcher is ended by SIGPIPE if a program is gone before it has set it up.
            command=f"sh -c 'timeout 0.3 tail -f /dev/null; echo ranks ${size_of}'",
            launcher="mpirun",
            launch=launch,
            repetitions=1,
            value="ranks ([0-9]+)",
        )
        assert run(file) == 0
    assert [(row["size"], row["value"]) for row in rows(tmp_path)] == [
        (size, size) for _ in range(2) for size in (1, 2, 2, 4, 4, 4, 4)
    ]
    assert {row["parameter"] for row in rows(tmp_path)} == {"p"}


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"launcher": "ssh"}, ":6: launcher is `ssh`: local, mpirun, slurm"),
        ({"sizes": []}, ":3: sizes must be positive numbers"),
        ({"sizes": [True]}, ":3: sizes must be positive numbers"),
        ({"command": "f"}, ":5: the command lacks {size}"),
        ({"command": "f '{size}"}, ":5: `f '{size}`: No closing quotation"),
        ({"repetitions": 0}, ":6: repetitions is 0: it must be 1 or more"),
        ({"value": "("}, ":6: `(` is not a regular expression"),
        ({"counter": "sundial"}, ":6: counter is `sundial`: callgrind, perf, allocations"),
        ({"counter": "heap", "value": "x"}, ":6: a counter gives the value"),
        ({"counter": "heap", "toggle": "x"}, ":7: only the counter callgrind has a `toggle`"),
        ({"marked": True}, ":6: marks are for callgrind"),
        ({"marked": "yes"}, ":6: `marked` must be true or false"),
        ({"vary": {"kind": ["a"]}}, ":6: vary: the function lacks {kind}"),
        ({"vary": {"kind": []}}, ":6: vary: `kind` must be a list of values"),
        ({"launcher": "mpirun", "sizes": [1.5]}, ":3: sizes are numbers of processes"),
        ({"launcher": "mpirun", "tasks": 2, "command": "f"}, ":5: neither the command nor"),
    ],
)
def test_an_impossible_run_is_rejected_with_its_line(
    tmp_path: Path, keys: dict[str, object], problem: str
) -> None:
    with pytest.raises(SpecificationError) as refused:
        Specification.read(write(tmp_path, **{"command": "f {size}", **keys}))
    assert problem in str(refused.value)


def test_a_run_that_fails_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command, problem in (
        ("false {size}", "`false 1` exited with 1"),
        ("/no/such/program {size}", "`/no/such/program`: No such file"),
    ):
        assert run(write(tmp_path, command=command)) == 2
        assert problem in capsys.readouterr().err
    (tmp_path / "out" / "f.jsonl").write_text("what is this\n", encoding="utf-8")
    assert run(write(tmp_path, command="true {size}")) == 2
    assert "f.jsonl:1: not a row of a run; move the file away" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["nan", "0", "-1", "inf"])
def test_a_value_that_checks_reject_is_not_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    printing = f'{sys.executable} -S -c \'print("work", "{value}", {{size}})\''
    file = write(tmp_path, command=printing, value="work (\\S+)")
    assert main(["run", "--file", str(file)]) == 2
    assert "f at n=1 gave" in capsys.readouterr().err
    assert not (tmp_path / "out/f.jsonl").exists()


@pytest.mark.parametrize(
    ("ignored", "sent"),
    [
        ((), signal.SIGINT),
        ((), signal.SIGHUP),
        ((), signal.SIGTERM),
        ((signal.SIGINT, signal.SIGHUP), signal.SIGTERM),
    ],
)
def test_a_campaign_that_is_stopped_goes_on(
    tmp_path: Path, ignored: tuple[signal.Signals, ...], sent: signal.Signals
) -> None:
    """The third run waits for ever: the runs are stopped there, and started again.

    In the background, where a shell has SIGINT ignored, this test sent a signal that was ignored,
    and waited for ever.
    """
    (tmp_path / "wait").touch()
    command = f"sh -c '[ {{size}} != 4 ] || [ ! -e {tmp_path}/wait ] || exec cat {tmp_path}/fifo'"
    os.mkfifo(tmp_path / "fifo")
    file = write(tmp_path, command=command, repetitions=1)
    words = [sys.executable, "-m", "tidings.scaling", "run", "--file", str(file)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

    def set_signals() -> None:
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    stopped = subprocess.Popen(
        words,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=set_signals,
    )
    assert stopped.stderr is not None
    assert any("(2 of 3" in line for line in stopped.stderr)
    with (tmp_path / "fifo").open("w"):
        for number in ignored:
            os.kill(stopped.pid, number)
        os.kill(stopped.pid, sent)
        said = stopped.communicate()[1]
    assert stopped.returncode == 128 + sent
    assert "stopped; measured runs are kept" in said
    assert len(rows(tmp_path)) == 2
    (tmp_path / "wait").unlink()
    assert run(file) == 0
    assert [row["size"] for row in rows(tmp_path)] == [1, 2, 4]
