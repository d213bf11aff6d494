"""The command: exit codes, formats, and messages that name place and remedy."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from tests.scaling.series import SIZES, measurement, write_lines
from tidings.scaling.cli import main
from tidings.scaling.measurement import Measurement

HEAD = 'measurements = ["*.jsonl"]\ntarget = 1048576\n'


def expectation(function: str, growth: str, extra: str = "") -> str:
    """Return a table of scaling.toml."""
    return (
        f'\n[[expectation]]\nfunction = "{function}"\ngrowth = "{growth}"\n'
        f'within = "n^(1/4)"\n{extra}\n'
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder with measurements of a sort, a slow sort and a lookup."""
    listed = [
        measurement("sort", "n log n", 2, 1),
        measurement("slow", "n^2", 2, 2),
        measurement("lookup", "log n", 2, 3),
    ]
    write_lines(tmp_path / "measured.jsonl", listed)
    return tmp_path


def check(folder: Path, text: str, *options: str) -> int:
    """Write scaling.toml and check."""
    (folder / "scaling.toml").write_text(HEAD + text, encoding="utf-8")
    return main(["check", "--file", str(folder / "scaling.toml"), *options])


def test_what_holds_exits_with_0(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(folder, expectation("sort", "n log n")) == 0
    out = capsys.readouterr().out
    assert "O(n log n)" in out
    assert "1 holds; false alarms of the whole suite: at most 1 %" in out


def test_a_violation_exits_with_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = expectation("slow", "n log n", 'litmus = "sort"') + expectation("sort", "n log n")
    assert check(folder, text) == 1
    out = capsys.readouterr().out
    assert "grows faster than O(n^1.25 log n), the limit; δ is O(n / log n) with 95 %" in out
    assert "slow: code: litmus test sort is as expected" in out


def test_a_litmus_test_that_deviates_blames_the_machine(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = expectation("slow", "n", 'litmus = "sort"') + expectation("sort", "log n")
    assert check(folder, text) == 1
    assert "slow: machine: litmus test sort deviates too" in capsys.readouterr().out


def test_a_count_that_is_as_expected_blames_the_machine_for_time(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    time = measurement("sum", "n^1.5", 2, 4)
    count = measurement("sum", "n", 0.1, 5)
    write_lines(folder / "sum.jsonl", [time])
    write_lines(folder / "counts.jsonl", [Measurement.of(count.rows, "sum", "adds", "n")])
    text = expectation("sum", "n", 'metric = "time"\ncount = "adds"')
    text += expectation("sum", "n", 'metric = "adds"')
    assert check(folder, text) == 1
    assert "sum (time): machine: count adds is as expected" in capsys.readouterr().out


def test_an_undecided_one_exits_with_3_only_with_strict(folder: Path) -> None:
    few = measurement("few", "n", 20)
    rows = [row for row in few.rows if row.size <= SIZES[3]]
    write_lines(folder / "few.jsonl", [Measurement.of(rows, "few", "time", "n", "s")])
    text = expectation("few", "n")
    assert check(folder, text) == 0
    assert check(folder, text, "--strict") == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('\n[[expectation]]\nfunction = "sort"\ngrowth = "n^^2"\n', "scaling.toml:6: an exponent"),
        ('\n[[expectation]]\nfunction = "sort"\ngrow = "n"\n', "scaling.toml:6: [[expectation]]"),
        ('\n[[expectation]]\ngrowth = "n"\n', "scaling.toml:4: [[expectation]] lacks `function`"),
        ("\n[[expectation]]\nfunction = 3\n", "scaling.toml:5: `function` must be text in quotes"),
        (expectation("sort", "n", 'sides = "lower"'), "sides is `lower`"),
        (expectation("none", "n"), "no measurement of none, stated on line 6; there are: lookup"),
        ('\n[[rule]]\nrule = "sort < slow"\n', "scaling.toml:5: `sort < slow` has no `<=`"),
        ('\n[[rule]]\nrule = "sort <= other"\n', "scaling.toml:5: `sort <= other`: there is no"),
        ("alpha = 2\n", "scaling.toml:3: alpha is 2"),
        ('engine = "magic"\n', "scaling.toml:3: engine `magic`"),
        ("nonsense\n", "scaling.toml: "),
    ],
)
def test_a_wrong_specification_exits_with_2_and_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, problem: str
) -> None:
    assert check(folder, text) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert problem in said


def test_rows_that_are_not_needed_may_be_no_measurement(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"function": "odd", "metric": "time", "size": s, "value": s - 1} for s in (1, 2)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "odd.jsonl").write_text(lines, encoding="utf-8")
    assert check(folder, expectation("sort", "n log n")) == 0
    assert check(folder, expectation("odd", "n")) == 2
    assert "odd.jsonl:1: the value at size 1 is 0" in capsys.readouterr().err
    assert check(folder, '\n[[rule]]\nrule = "odd <= sort"\n') == 2


def test_a_report_is_written_whole_or_not_at_all(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    report = folder / "report.json"
    text = expectation("sort", "n log n")
    assert check(folder, text, "--json", str(report)) == 0
    before = report.read_text(encoding="utf-8")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(report.stat().st_mode) == 0o666 & ~mask

    def full(_part: Path, _path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    assert check(folder, text, "--json", str(report), "--alpha", "0.02") == 2
    assert f"error: {report}: No space left on device" in capsys.readouterr().err
    assert report.read_text(encoding="utf-8") == before
    assert sorted(path.name for path in folder.iterdir()) == [
        "measured.jsonl",
        "report.json",
        "scaling.toml",
    ]


def test_standard_output_that_is_a_file_is_added_to(folder: Path) -> None:
    (folder / "scaling.toml").write_text(HEAD + expectation("sort", "n log n"), encoding="utf-8")
    words = [sys.executable, "-m", "tidings.scaling", "check", "--file", "scaling.toml"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    log = folder / "log"
    log.write_text("before\n", encoding="utf-8")
    with log.open("a") as out:
        subprocess.run(
            [*words, "--markdown", "/dev/stdout"],
            cwd=folder, env=environment, stdout=out, check=True,
        )  # fmt: skip
    assert log.exists()
    assert "1 holds" in log.read_text(encoding="utf-8")


def test_a_missing_file_exits_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--file", str(tmp_path / "scaling.toml")]) == 2
    assert "No such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("m.jsonl", b"", "m.jsonl: the file is empty"),
        ("m.jsonl", b"\xff\x00\x80", "m.jsonl: this is not UTF-8 text"),
        ("m.txt", b"# a comment\n", "m.txt: the file has only comments"),
        ("m.json", b'{"benchmarks": 3}', "m.json: JSON of no known format"),
        ("m.json", b'{"benchmarks": [3]}', "m.json: JSON of no known format"),
        ("m.json", b'{"measurements": {"f": 3}}', "m.json: JSON of no known format"),
        ("scaling.toml", b"\xff\x00", "scaling.toml: this is not UTF-8 text"),
        ("scaling.toml", b"target = -1", "scaling.toml:1: target is -1: it must be positive"),
    ],
)
def test_files_that_are_something_else_exit_with_2(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes, problem: str
) -> None:
    (folder / "scaling.toml").write_text(HEAD, encoding="utf-8")
    (folder / name).write_bytes(content)
    words = ["check", "--file", str(folder / "scaling.toml")]
    assert main([*words, *([] if name == "scaling.toml" else [str(folder / name)])]) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize("size", ["0", "-5", "nan", "inf"])
def test_a_target_is_a_positive_size(
    folder: Path, capsys: pytest.CaptureFixture[str], size: str
) -> None:
    assert check(folder, expectation("sort", "n log n"), f"--target={size}") == 2
    assert f"--target is {size}: it must be positive" in capsys.readouterr().err


def test_a_closed_pipe_is_not_an_error(folder: Path) -> None:
    (folder / "scaling.toml").write_text(HEAD + expectation("sort", "n log n"), encoding="utf-8")
    reads, writes = os.pipe()
    os.close(reads)
    ended = subprocess.run(
        [sys.executable, "-m", "tidings.scaling", "check", "--file", folder / "scaling.toml"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=writes,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writes)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_growth_that_is_not_stated_is_recorded_and_checked_later(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '\n[[expectation]]\nfunction = "sort"\n'
    assert check(folder, text) == 0
    assert "holds (recorded)" in capsys.readouterr().out
    recorded = json.loads((folder / "scaling.recorded.json").read_text(encoding="utf-8"))
    assert recorded == {"growth": {"sort": "O(n log n)"}}
    slower = measurement("sort", "n^2.5", 2, 9)
    write_lines(folder / "measured.jsonl", [slower])
    assert check(folder, text) == 1


def test_a_pull_request_updates_what_is_recorded(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '\n[[expectation]]\nfunction = "sort"\n'
    assert check(folder, text) == 0
    write_lines(folder / "measured.jsonl", [measurement("sort", "n^2.5", 2, 9)])
    assert check(folder, text) == 1
    assert check(folder, text, "--update", "--no-record") == 0
    assert check(folder, text) == 1
    assert check(folder, text, "--update") == 0
    recorded = json.loads((folder / "scaling.recorded.json").read_text(encoding="utf-8"))
    assert recorded == {"growth": {"sort": "O(n^2.5)"}}
    assert check(folder, text) == 0


def test_annotations_are_at_the_lines_of_what_does_not_hold(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    text = expectation("sort", "n log n") + expectation("slow", "n log n")
    assert check(folder, text, "--github") == 1
    (line,) = [x for x in capsys.readouterr().out.splitlines() if x.startswith("::")]
    place = str(folder / "scaling.toml").replace(",", "%2C").replace(":", "%3A")
    assert line.startswith(f"::error file={place},line=12,title=slow violated::slow: grows faster")
    assert "95 %25" in line
    assert "| slow |" in (folder / "summary.md").read_text(encoding="utf-8")


def test_reports_for_machines(folder: Path) -> None:
    text = expectation("sort", "n log n") + expectation("slow", "n log n")
    text += '\n[[rule]]\nrule = "sort <= slow + lookup"\n'
    names = {form: folder / f"report.{form}" for form in ("json", "junit", "sarif", "markdown")}
    options = [part for form, path in names.items() for part in (f"--{form}", str(path))]
    plots = ("--svg", str(folder / "plots"), "--png", str(folder / "pictures"))
    assert check(folder, text, *options, *plots) == 1
    whole = json.loads(names["json"].read_text(encoding="utf-8"))
    sort, slow = whole["expectations"]
    assert (sort["verdict"], sort["found"], sort["match"]) == ("holds", "O(n log n)", "total")
    assert (slow["verdict"], slow["line"]) == ("violated", 12)
    assert whole["rules"][0]["rule"] == "sort <= slow + lookup"
    suite = ElementTree.parse(names["junit"]).getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    result = json.loads(names["sarif"].read_text(encoding="utf-8"))["runs"][0]["results"][0]
    place = result["locations"][0]["physicalLocation"]
    assert place["region"]["startLine"] == 12
    assert place["artifactLocation"]["uri"].endswith("scaling.toml")
    assert "| slow |" in names["markdown"].read_text(encoding="utf-8")
    drawn = sorted(path.name for path in (folder / "plots").iterdir())
    assert drawn == ["slow.svg", "sort.svg"]
    for name in ("slow.png", "sort.png"):
        pixels = imread(folder / "pictures" / name)
        assert pixels.shape[:2] == (630, 960)
        assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 10
    picture = ElementTree.parse(folder / "plots" / "sort.svg").getroot()
    assert len(picture.findall("{http://www.w3.org/2000/svg}circle")) == 5 * len(SIZES)


def test_json_keeps_to_its_schema(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(folder, expectation("sort", "n log n"), "--format", "json") == 0
    whole = json.loads(capsys.readouterr().out)
    page = Path(__file__).parents[3] / "docs" / "reference" / "scaling.schema.json"
    schema = json.loads(page.read_text(encoding="utf-8"))
    assert whole["schema"] == schema["properties"]["schema"]["const"]
    assert set(whole) == set(schema["required"]) == set(schema["properties"])
    entry = schema["properties"]["expectations"]["items"]
    assert set(whole["expectations"][0]) == set(entry["required"]) == set(entry["properties"])


def test_the_paper_s_engine(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(folder, 'engine = "paper"\n' + expectation("sort", "n log n")) == 0
    assert "✓" in capsys.readouterr().out
    assert check(folder, 'engine = "paper"\n' + expectation("slow", "n")) == 1


def test_the_paper_s_engine_finds_what_is_past_the_limit(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its space for O(1) ended at log^2: linear data passed, and so they did within p^(1/4)."""
    line = measurement("line", "n", 0.1)
    steep = measurement("steep", "n^3", 0.1)
    write_lines(folder / "line.jsonl", [line, steep])
    head = 'engine = "paper"\n'
    constant = '\n[[expectation]]\nfunction = "line"\ngrowth = "1"\n'
    report = folder / "report.json"
    assert check(folder, head + constant, "--json", str(report)) == 1
    assert "line  O(1)  O(n)  1.00  O(n)  ✗" in capsys.readouterr().out
    (entry,) = json.loads(report.read_text(encoding="utf-8"))["expectations"]
    assert (entry["parameter"], entry["found"]) == ("n", "O(n)")
    assert (entry["match"], entry["verdict"]) == ("none", "violated")
    assert check(folder, head + expectation("line", "log n")) == 1
    assert check(folder, head + expectation("steep", "1")) == 1
    assert check(folder, head + expectation("steep", "n^2.5")) == 1
    assert check(folder, head + expectation("steep", "n^3")) == 0
    capsys.readouterr()
    assert check(folder, head + expectation("line", "n"), "--format", "json") == 0
    assert '"verdict": "holds"' in capsys.readouterr().out
    assert check(folder, head + expectation("line", "n"), "--junit", str(report)) == 2
    assert "--junit: engine" in capsys.readouterr().err


def test_a_violation_comes_before_a_picture_that_cannot_be_drawn(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    png = ("--png", str(folder / "pictures"))
    assert check(folder, expectation("slow", "n log n"), *png) == 1
    assert "PNG needs matplotlib" in capsys.readouterr().err
    assert check(folder, expectation("sort", "n log n"), *png) == 2


def test_a_violation_comes_before_a_report_that_cannot_be_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It exited with 2, by which nothing was evaluated."""
    junit = ("--junit", str(folder / "nowhere" / "report.xml"))
    assert check(folder, expectation("slow", "n log n"), *junit) == 1
    assert "nowhere" in capsys.readouterr().err
    assert check(folder, expectation("sort", "n log n"), *junit) == 2


def test_a_folder_is_an_input(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "scaling.toml").write_text(expectation("sort", "n log n"), encoding="utf-8")
    assert main(["check", "--file", str(folder / "scaling.toml"), str(folder)]) == 0
    assert "1 holds" in capsys.readouterr().out


def test_theta_asks_for_both_sides(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(folder, expectation("lookup", "O(n)")) == 0
    assert check(folder, expectation("lookup", "Θ(n)")) == 1
    assert check(folder, expectation("lookup", "Θ(n)", 'sides = "upper"')) == 0


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("tidings-scaling ")


def test_plan_proposes_what_decides(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = measurement("few", "n", 10)
    rows = [row for row in few.rows if row.size <= SIZES[3]]
    write_lines(folder / "few.jsonl", [Measurement.of(rows, "few", "time", "n", "s")])
    text = HEAD + expectation("few", "n") + expectation("sort", "n log n")
    (folder / "scaling.toml").write_text(text, encoding="utf-8")
    assert main(["plan", "--file", str(folder / "scaling.toml"), "--largest", "4096"]) == 0
    out = capsys.readouterr().out
    assert "<- cheapest" in out
    assert "sort: holds; nothing to plan" in out
    assert "8192" not in out


def test_explain_shows_the_paper_s_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "p"]) == 0
    out = capsys.readouterr().out
    assert "O(p^0.5) to O(p^1.5)" in out
    assert "1, log p, p^0.25, p^0.25 log p, p^0.5" in out
    assert main(["explain", "p^^2"]) == 2
    assert main(["explain", "p", "--within", "1/p"]) == 2
