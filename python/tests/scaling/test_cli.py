"""The command: exit codes, formats, and messages that name place and remedy."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

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
    assert "grows faster than O(n^1.25 log n), the limit" in out
    assert "slow: code: litmus test sort is as expected" in out


def test_a_litmus_test_that_deviates_lays_it_to_the_machine(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = expectation("slow", "n", 'litmus = "sort"') + expectation("sort", "log n")
    assert check(folder, text) == 1
    assert "slow: machine: litmus test sort deviates too" in capsys.readouterr().out


def test_a_count_that_is_as_expected_lays_time_to_the_machine(
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


def test_doubt_exits_with_3_only_where_strict(folder: Path) -> None:
    few = measurement("few", "n", 2)
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
        ("\n[[expectation]]\nfunction = 3\n", "scaling.toml:5: `function` must be a str"),
        (expectation("sort", "n", 'sides = "lower"'), "sides is `lower`"),
        (expectation("none", "n"), "no measurement of none, stated on line 6; there are: lookup"),
        ('\n[[rule]]\nrule = "sort < slow"\n', "scaling.toml:5: `sort < slow` has no `<=`"),
        ('\n[[rule]]\nrule = "sort <= other"\n', "scaling.toml:5: `sort <= other`: there is no"),
        ("alpha = 2\n", "scaling.toml:3: alpha is 2"),
        ('engine = "magic"\n', "scaling.toml:3: engine `magic`"),
        ("nonsense\n", "scaling.toml: "),
    ],
)
def test_what_is_wrong_exits_with_2_and_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, problem: str
) -> None:
    assert check(folder, text) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert problem in said


def test_a_missing_file_exits_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--file", str(tmp_path / "scaling.toml")]) == 2
    assert "No such file" in capsys.readouterr().err


def test_growth_that_is_not_stated_is_recorded_and_held_to(
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


def test_reports_for_machines(folder: Path) -> None:
    text = expectation("sort", "n log n") + expectation("slow", "n log n")
    text += '\n[[rule]]\nrule = "sort <= slow + lookup"\n'
    names = {form: folder / f"report.{form}" for form in ("json", "junit", "sarif", "markdown")}
    options = [part for form, path in names.items() for part in (f"--{form}", str(path))]
    assert check(folder, text, *options, "--svg", str(folder / "plots")) == 1
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


def test_plan_says_what_decides(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_run_measures_interleaved_and_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = f"{sys.executable} -c 'print(\\\"work\\\", 3 * {{size}})'"
    text = (
        f'[[run]]\nfunction = "f"\nmetric = "work"\ncommand = "{command}"\nsizes = [1, 2, 4]\n'
        'repetitions = 2\nvalue = "work ([0-9.]+)"\noutput = "out/f.jsonl"\n'
    )
    file = tmp_path / "scaling.toml"
    file.write_text(text, encoding="utf-8")
    assert main(["run", "--file", str(file)]) == 0
    output = tmp_path / "out" / "f.jsonl"
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert [row["size"] for row in rows] == [1, 2, 4, 1, 2, 4]
    assert [row["value"] for row in rows] == [3, 6, 12, 3, 6, 12]
    output.write_text("".join(json.dumps(row) + "\n" for row in rows[:4]), encoding="utf-8")
    capsys.readouterr()
    assert main(["run", "--file", str(file)]) == 0
    assert "(2 of 2)" in capsys.readouterr().err
    assert len(output.read_text(encoding="utf-8").splitlines()) == 6


@pytest.mark.parametrize(
    ("counter", "program", "said"),
    [
        ("callgrind", "valgrind", "==7== Events    : Ir\\n==7== Collected : 131012"),
        ("perf", "perf", "131012,,instructions:u,1000,100.00,,"),
    ],
)
def test_instructions_are_counted(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    counter: str,
    program: str,
    said: str,
) -> None:
    """The counter's program is a stand-in that says what the real one does of `/bin/true`."""
    stand_in = tmp_path / program
    stand_in.write_text(f"#!/bin/sh\nprintf '{said}\\n' >&2\n", encoding="utf-8")
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    file = tmp_path / "scaling.toml"
    text = '[[run]]\nfunction = "f"\ncommand = "true {size}"\nsizes = [1, 2]\noutput = "f.jsonl"\n'
    file.write_text(f'{text}counter = "{counter}"\nrepetitions = 1\n', encoding="utf-8")
    assert main(["run", "--file", str(file)]) == 0
    rows = [json.loads(line) for line in (tmp_path / "f.jsonl").read_text().splitlines()]
    assert [(row["metric"], row["value"]) for row in rows] == [("instructions", 131012)] * 2
    stand_in.write_text("#!/bin/sh\necho '<not supported>' >&2\n", encoding="utf-8")
    (tmp_path / "f.jsonl").unlink()
    assert main(["run", "--file", str(file)]) == 2
    assert f"{counter} counted no instructions here: <not supported>" in capsys.readouterr().err


def test_a_run_that_fails_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scaling.toml"
    file.write_text(
        '[[run]]\nfunction = "f"\ncommand = "false {size}"\nsizes = [1]\noutput = "f.jsonl"\n',
        encoding="utf-8",
    )
    assert main(["run", "--file", str(file)]) == 2
    assert "`false 1` ended with 1" in capsys.readouterr().err


def test_explain_shows_the_paper_s_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "p"]) == 0
    out = capsys.readouterr().out
    assert "O(p^0.5) to O(p^1.5)" in out
    assert "1, log p, p^0.25, p^0.25 log p, p^0.5" in out
    assert main(["explain", "p^^2"]) == 2
    assert main(["explain", "p", "--within", "1/p"]) == 2
