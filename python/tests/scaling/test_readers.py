"""Readers: a sample of each format, and errors with their place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tidings.scaling.measurement import MeasurementError
from tidings.scaling.readers import inside, read

OWN = "".join(
    json.dumps({"function": "f", "metric": "time", "parameter": "p", "size": s, "value": s * 2.0})
    + "\n"
    for s in (1, 2, 4, 8)
)
EXTRA_P_LINES = "".join(
    json.dumps({"params": {"p": s}, "callpath": "f", "metric": "time", "value": s * 2.0}) + "\n"
    for s in (1, 2, 4, 8)
)
EXTRA_P_TEXT = """# sample
PARAMETER p
POINTS 1 2 4 8
REGION f
METRIC time
DATA 2
DATA 4
DATA 8
DATA 16
"""
EXTRA_P_JSON = json.dumps(
    {
        "parameters": ["p"],
        "measurements": {
            "f": {"time": [{"point": [s], "values": [s * 2.0]} for s in (1, 2, 4, 8)]}
        },
    }
)
GOOGLE = json.dumps(
    {
        "benchmarks": [
            {"name": f"f/{s}", "run_type": "iteration", "real_time": s * 2e9, "time_unit": "ns"}
            for s in (1, 2, 4, 8)
        ]
        + [{"name": "f_BigO", "run_type": "aggregate", "cpu_coefficient": 1.0}]
    }
)
PYTEST_BENCHMARK = json.dumps(
    {
        "benchmarks": [
            {"name": f"f[{s}]", "params": {"n": s}, "stats": {"data": [s * 2.0]}}
            for s in (1, 2, 4, 8)
        ]
    }
)
HYPERFINE = json.dumps(
    {
        "results": [
            {"command": f"f {s}", "parameters": {"n": str(s)}, "times": [s * 2.0]}
            for s in (1, 2, 4, 8)
        ]
    }
)
OSU = "# OSU MPI Allreduce Latency Test v7.4\n# Size  Avg Latency(us)\n1 2\n2 4\n4 8\n8 16\n"
CSV = "name,nodes,time\nf,1,2\nf,2,4\nf,4,8\nf,8,16\n"


@pytest.mark.parametrize(
    ("text", "function"),
    [
        (OWN, "f"),
        (EXTRA_P_LINES, "f"),
        (EXTRA_P_TEXT, "f"),
        (EXTRA_P_JSON, "f"),
        (GOOGLE, "f"),
        (PYTEST_BENCHMARK, "f"),
        (HYPERFINE, "f {n}"),
        (OSU, "Allreduce Latency"),
        (CSV, "f"),
        (CSV.replace(",", "|"), "f"),
    ],
    ids=[
        "own",
        "extrap-jsonl",
        "extrap-text",
        "extrap-json",
        "google",
        "pytest",
        "hyperfine",
        "osu",
        "csv",
        "bars",
    ],
)
def test_each_form_is_read(tmp_path: Path, text: str, function: str) -> None:
    path = tmp_path / "sample"
    path.write_text(text, encoding="utf-8")
    (found,) = read([path])
    assert found.function == function
    assert found.sizes().tolist() == [1, 2, 4, 8]
    assert found.quantile(0.5).tolist() == pytest.approx([2, 4, 8, 16])


def test_criterion_s_sizes_are_folders(tmp_path: Path) -> None:
    paths = []
    for size in (1, 2, 4, 8):
        path = tmp_path / "criterion" / "f" / str(size) / "base" / "estimates.json"
        path.parent.mkdir(parents=True)
        estimate = {"point_estimate": size * 2e9}
        path.write_text(json.dumps({"mean": estimate, "slope": estimate}), encoding="utf-8")
        paths.append(path)
    (found,) = read(paths)
    assert (found.function, found.unit) == ("f", "s")
    assert found.quantile(0.5).tolist() == pytest.approx([2, 4, 8, 16])


def test_reframe_s_log(tmp_path: Path) -> None:
    heading = "result|descr|jobid|num_gpus|num_tasks|latency_value|latency_unit|latency_ref"
    lines = [f"pass|f|{70 + s}|0|{s}|{s * 2.0}|us|0" for s in (1, 2, 4, 8)]
    path = tmp_path / "f.log"
    path.write_text("\n".join([heading, *lines]) + "\n", encoding="utf-8")
    (found,) = read([path])
    assert (found.function, found.metric, found.unit) == ("f", "latency", "us")
    assert [row.run for row in found.rows] == ["71", "72", "74", "78"]
    assert found.quantile(0.5).tolist() == pytest.approx([2, 4, 8, 16])


def test_jube_s_table_has_one_metric_per_column(tmp_path: Path) -> None:
    lines = ["jube_wp_id,nodes,time,bytes", *(f"{s - 1},{s},{s * 2.0},{s}" for s in (1, 2, 4, 8))]
    path = tmp_path / "result.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert [found.metric for found in read([path])] == ["bytes", "time"]


def caliper_split(ranks: int) -> str:
    """Return a run of the split form: one row per rank, of which the slowest counts."""
    whole = {
        "data": [[2.0 * ranks - rank / 1000, 1, rank] for rank in range(ranks)],
        "columns": ["time", "path", "rank"],
        "column_metadata": [],
        "nodes": [{"label": "main"}, {"label": "solve", "parent": 0}],
        "mpi.world.size": str(ranks),
    }
    return json.dumps(whole)


def test_caliper_s_slowest_rank_counts(tmp_path: Path) -> None:
    paths = []
    for ranks in (1, 2, 4, 8):
        path = tmp_path / f"run-{ranks}.json"
        path.write_text(caliper_split(ranks), encoding="utf-8")
        paths.append(path)
    (found,) = read(paths)
    assert (found.function, found.metric) == ("main/solve", "time")
    assert found.quantile(0.5).tolist() == pytest.approx([2, 4, 8, 16])


def test_caliper_s_records(tmp_path: Path) -> None:
    records = [{"path": "main", "mpi.world.size": s, "time": s * 2.0} for s in (1, 2, 4, 8)]
    path = tmp_path / "records.json"
    path.write_text(json.dumps([{"event": 1, "size": 1}, *records]), encoding="utf-8")
    (found,) = read([path])
    assert found.quantile(0.5).tolist() == pytest.approx([2, 4, 8, 16])
    path.write_text(json.dumps([{"path": "main", "time": 1.0}]), encoding="utf-8")
    with pytest.raises(MeasurementError, match=r"record 1: no mpi\.world\.size"):
        read([path])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ('{"size": 1, "value": 2}\n{"size": 2, "value"', ":2: not JSON"),
        ('{"size": 1, "value": null}\n', ":1: the value is missing"),
        ('{"size": 1, "value": "fast"}\n', ":1: the value is `fast`"),
        ('{"value": 1}\n{"value": 2}\n', ':1: neither "size" nor "params"'),
        ('{"params": {"p": 1, "n": 2, "m": 3}, "value": 2}\n', ":1: 3 parameters"),
        ('{"what": 1}', "no known form"),
        ("hello\n", "no known form"),
        ("a,b\n1,2\n", "no column of sizes"),
        ("p,time\n1,2,3\n", "3 cells"),
        ("PARAMETER p\nPARAMETER q\nPARAMETER r\n", ":3: a third parameter"),
        ("PARAMETER p\nPARAMETER q\nPOINTS 1 2 3\n", ":3: 3 numbers, which are no pairs"),
        ("PARAMETER p\nPOINTS 1\nREGION f\nMETRIC t\nDATA 1\nDATA 2\n", ":6: more lines"),
        ('{"benchmarks": [{"name": "f", "real_time": 1}]}', "no size at its end"),
        ("PARAMETER p\nPOINTS 1 2 3\nREGION f\nDATA 1\nDATA 3\n", ":4: 2 lines of DATA, but"),
        ("PARAMETER p\nPOINTS 1 2\nREGION f\nDATA 1\nREGION g\n", ":4: 1 lines of DATA, but"),
        ("size,time\n8,1\n16,\n", "row 3: time is missing"),
        ("size,time,time\n8,1,2\n", "names time more than once"),
        ("p,n,time\n8,64,1\n16,128,2\n", "row 3: n changes as well as p"),
        ('{"size": 1, "value": ' + "9" * 400 + "}\n", ":1: the value is too large a number"),
        ('{"value": 1, "size": ' + "9" * 5000 + "}\n", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
    ],
)
def test_unreadable_input_is_named_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "sample"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MeasurementError) as refused:
        read([path])
    assert problem in str(refused.value)
    assert str(path) in str(refused.value)


def test_each_function_has_its_other_sizes(tmp_path: Path) -> None:
    lines = [f"{name},{p},{n},{p}" for name, n in (("f", 64), ("g", 128)) for p in (8, 16, 32)]
    path = tmp_path / "both.csv"
    path.write_text("\n".join(["function,p,n,time", *lines]) + "\n", encoding="utf-8")
    assert [found.function for found in read([path])] == ["f", "g"]


def test_a_byte_order_mark_is_not_part_of_a_file(tmp_path: Path) -> None:
    lines = [{"function": "f", "metric": "time", "size": s, "value": 1.0} for s in (1, 2, 4)]
    path = tmp_path / "marked.jsonl"
    text = "".join(json.dumps(line) + "\n" for line in lines)
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read([path])[0].function == "f"


def test_mixed_units_are_rejected(tmp_path: Path) -> None:
    lines = [
        {"function": "f", "metric": "time", "size": s, "value": 1.0, "unit": "s" if s < 4 else "ms"}
        for s in (1, 2, 4)
    ]
    path = tmp_path / "sample"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(MeasurementError, match="sample:3: unit `ms` of f"):
        read([path])


def test_files_that_are_not_there_or_not_text_are_named(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="No such file"):
        read([tmp_path / "none"])
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MeasurementError, match="not UTF-8 text"):
        read([binary])


@pytest.mark.parametrize(
    ("name", "function"),
    [("sort", "sort"), ("sort {}", "sort {n}"), ("sort{}", "sort{n}"), ("v2 {}", "v2 {n}")],
)
def test_a_name_that_hyperfine_was_given(tmp_path: Path, name: str, function: str) -> None:
    results = [
        {"command": name.format(s), "parameters": {"n": str(s)}, "times": [s * 2.0]}
        for s in (2, 4, 8)
    ]
    path = tmp_path / "hyperfine.json"
    path.write_text(json.dumps({"results": results}), encoding="utf-8")
    assert {m.function for m in read([path])} == {function}


def test_a_folder_is_its_files(tmp_path: Path) -> None:
    for name in ("a.jsonl", "below/b.csv", ".git/c.csv", "a.manifest.json", "notes.md"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("", encoding="utf-8")
    assert inside(tmp_path) == [tmp_path / "a.jsonl", tmp_path / "below" / "b.csv"]
    estimates = tmp_path / "sort" / "1024" / "new" / "estimates.json"
    estimates.parent.mkdir(parents=True)
    estimates.write_text("{}", encoding="utf-8")
    assert inside(tmp_path) == [estimates]
    with pytest.raises(MeasurementError, match="no file in it ends in"):
        inside(tmp_path / ".git" / "nothing")
