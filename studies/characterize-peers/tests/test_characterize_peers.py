"""What programs print is read right, and two medians agree as the page says."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from draw import PEERS as DRAWN
from draw import figure
from drawing.csv_table import Table
from peer_programs import (
    RunError,
    SlowError,
    allreduce_s,
    of_calls,
    of_imb,
    of_netpipe,
    of_rows,
    ping_pong_s,
)
from peer_session import Block, Readings
from peer_session import block as made_block
from peer_statistics import INSIDE, NO, WITHIN, Estimate, agreement, interquartile_mean, paired
from peers import PEERS, compared, counted

IMB = """\
# List of Benchmarks to run:

# PingPong
# Allreduce

# Benchmarking PingPong{end}
# #processes = 2
       #bytes #repetitions      t[usec]   Mbytes/sec
            0          400         0.12         0.00
         1024          400         0.19      5496.40

# Benchmarking Allreduce{end}
# #processes = 2
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            4          400         0.70         1.08         0.89


# All processes entering MPI_Finalize
""".replace("{end}", " ")


def test_imb_is_read_with_all_of_its_digits() -> None:
    """The rate has more of them than the time; without bytes there is no rate."""
    found = of_imb(IMB, "PingPong", ping_pong_s)
    assert found == pytest.approx({0: 0.12e-6, 1024: 1024 / 5496.40e6})
    assert of_imb(IMB, "Allreduce", allreduce_s) == pytest.approx({4: 1.08e-6})
    with pytest.raises(RunError, match="nothing of Uniband"):
        of_imb(IMB, "Uniband", ping_pong_s)


def test_netpipe_is_read_for_our_sizes() -> None:
    """A Mbit of NetPIPE is 2^20 bits; sizes between ours are left out."""
    text = "       1   61.035156   0.00000013\n       3  100.0   0.0\n    1024 8.0 0.0\n"
    assert of_netpipe(text) == pytest.approx({1: 1.25e-7, 1024: 1024 / (1 << 20)})


def row(**changed: object) -> str:
    """Return a row of our program."""
    plain = {"test": "latency", "variant": "in cache", "bytes": 4, "valid": True, "warmups": 1}
    return json.dumps({**plain, "samples_s": [9.0, 1.0, 2.0, 3.0, 6.0], **changed})


def test_our_rows_are_read_without_the_warm_up() -> None:
    """Other tests and variants are not; wrong data is no measurement."""
    text = "\n".join([row(), row(variant="out of cache", bytes=8), row(test="bandwidth", bytes=16)])
    assert of_rows(text, "latency", "in cache") == {4: 2.5}
    with pytest.raises(RunError, match="wrong data"):
        of_rows(row(valid=False), "latency", "in cache")
    with pytest.raises(SlowError, match="late to every"):
        of_rows(row(samples_s=[9.0]), "latency", "in cache")


def test_calls_are_read() -> None:
    """Bytes, calls, seconds."""
    assert of_calls("4 301 0.0000006834\n16 99 0.000001\n") == {4: 6.834e-7, 16: 1e-6}


def test_two_medians_agree_within_a_twentieth_or_inside_both_intervals() -> None:
    """By hand."""
    narrow, wide = Estimate(1.0, 0.99, 1.01), Estimate(1.2, 0.9, 1.3)
    assert agreement(narrow, narrow, 1.04) == WITHIN
    assert agreement(narrow, wide, 0.83) == NO
    assert agreement(Estimate(1.0, 0.8, 1.25), wide, 0.83) == INSIDE


def test_a_ratio_is_of_one_round() -> None:
    """What moves both sides alike does not widen it."""
    pair = paired([1.0, 2.0, 5.0, 9.0], [1.0, 2.0, 5.0, 9.0])
    assert pair.rounds == 4
    assert pair.ratio == (1.0, 1.0, 1.0)
    assert (pair.ours.low, pair.ours.value, pair.ours.high) == (1.0, 3.5, 9.0)
    assert interquartile_mean([100, 1, 2, 3]) == 2.5


def block(gauges: list[float], others: float = 0.0) -> Block:
    """Return a block with one quantity of which the peer lacks a size."""
    readings = {("latency", "ours"): {0: 1.0, 4: 2.0}, ("latency", "NetPIPE"): {4: 2.0}}
    return Block("MPICH", readings, gauges, others)


def test_what_does_not_count_is_counted_by_its_reason() -> None:
    """Moved meanwhile, busy, and elsewhere than most."""
    made = [block([80, 81]), block([80, 82]), block([80, 370]), block([80, 80], 0.5)]
    kept, line = counted("MPICH", [*made, block([370, 371])])
    assert kept == made[:2]
    assert line == ["MPICH", 5, 1, 1, 1, 2, "81"]


def test_a_run_that_takes_too_long_makes_its_block_a_busy_one(tmp_path: Path) -> None:
    """It does not end the session."""
    gauge = tmp_path / "gauge"
    gauge.write_text("#!/bin/sh\necho 80.5\n", encoding="utf-8")
    gauge.chmod(0o755)

    def slow() -> Readings:
        raise SlowError

    found = made_block("MPICH", {"ours": slow}, gauge, random.Random(1))
    assert (found.fault(), found.readings, found.gauges_ns) == ("busy", {}, [80.5])


def test_a_size_that_one_lacks_has_its_line() -> None:
    """It is said, and not left out; no two columns have one name."""
    assert len(set(PEERS)) == len(PEERS)
    lines = list(compared("MPICH", [block([80, 80]), block([80, 80])]))
    assert {len(line) for line in lines} == {len(PEERS)}
    assert [line[4:6] + line[-1:] for line in lines] == [[0, 0, "peer lacks it"], [4, 2, WITHIN]]
    assert list(compared("MPICH", [])) == []


def test_a_session_with_one_quantity_is_drawn(tmp_path: Path) -> None:
    """On a machine that is not quiet the blocks of the others may all be left out."""
    cells = "MPICH,allreduce,IMB Allreduce,as reported,{},2,1e-6,1.01,inside both intervals\n"
    file = tmp_path / "peers.csv"
    file.write_text(",".join(DRAWN) + "\n" + "".join(cells.format(size) for size in (4, 16)))
    drawn = figure(Table.read(file, DRAWN))
    assert [axes.get_title() for axes in drawn.axes] == ["allreduce"]
