"""The figures: drawn from every kind of table, the same again, refused where they cannot be."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from drawing import style
from drawing.csv_table import Table
from drawing.drawn import Drawn, main
from drawing.tests.samples import ALL, DRAWN, ROOT, STUDIES, of_study

PICTURED = sorted(kind for kind, (_, drawn) in DRAWN.items() if drawn.figure is not None)


@pytest.fixture(params=PICTURED)
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of figure."""
    return str(request.param)


def sample(kind: str, folder: Path) -> tuple[Drawn, Path]:
    """Write a sample of a kind; return what draws it, without its tables, and where it lies."""
    drawn = replace(DRAWN[kind][1], tables=None)
    file = folder / drawn.table
    file.parent.mkdir(exist_ok=True)
    file.write_text(ALL[kind], encoding="utf-8")
    return drawn, file


def test_every_kind_is_drawn_the_same_each_time(kind: str, tmp_path: Path) -> None:
    """A figure is a function of its table: no date, no random id."""
    figures = []
    for folder in (tmp_path / "one", tmp_path / "other"):
        drawn, file = sample(kind, folder)
        assert main("draw.py", [drawn], ["--folder", str(folder)]) == 0
        figures.append(file.with_suffix(".svg").read_bytes())
    one, other = figures
    assert one == other
    assert b"<svg" in one
    assert b"dc:date" not in one


@pytest.mark.parametrize("study", STUDIES)
def test_the_figures_of_a_study_are_of_its_tables(study: str, tmp_path: Path) -> None:
    """What lies in the folder is what its tables give: nothing was drawn and not kept."""
    for drawn in of_study(study):
        if drawn.figure is None:
            continue
        (tmp_path / drawn.table).write_bytes((STUDIES[study] / drawn.table).read_bytes())
        replace(drawn, tables=None).draw(tmp_path)
        name = Path(drawn.table).with_suffix(".svg").name
        kept = (STUDIES[study] / name).read_text(encoding="utf-8")
        assert _outline((tmp_path / name).read_text(encoding="utf-8")) == _outline(kept)


def _outline(figure: str) -> list[str]:
    """Return the lines of a figure that no version of fonts or of the drawing library changes."""
    return [line for line in figure.splitlines() if line.lstrip().startswith("<g id=")]


def test_png_is_drawn_when_asked_for(tmp_path: Path) -> None:
    """For a look at it."""
    drawn, file = sample("ages", tmp_path)
    assert main("draw.py", [drawn], ["--folder", str(tmp_path), "--png"]) == 0
    assert file.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_no_text_overlaps_another_or_is_cut(kind: str, tmp_path: Path) -> None:
    """Everything that is written can be read: labels keep off each other and inside the figure."""
    drawn, file = sample(kind, tmp_path)
    assert drawn.figure is not None
    with style.applied():
        figure = drawn.figure(Table.read(file, drawn.columns))
        figure.savefig(io.BytesIO(), format="png")
        page = figure.get_window_extent()
        for axes in figure.axes:
            boxes = [text.get_window_extent() for text in axes.texts if text.get_text()]
            for at, box in enumerate(boxes):
                assert box.x0 >= 0
                assert box.x1 <= page.x1 + 1, axes.texts[at].get_text()
                assert not any(box.overlaps(other) for other in boxes[at + 1 :])


def test_the_lines_are_those_of_the_table(tmp_path: Path) -> None:
    """Figure 2 has a line for each number of nodes, through the table's points."""
    drawn, file = sample("figure2", tmp_path)
    assert drawn.figure is not None
    with style.applied():
        lines = drawn.figure(Table.read(file, drawn.columns)).axes[0].get_lines()
    shown = [np.asarray(line.get_ydata()).tolist() for line in lines]
    assert shown == [[12.643, 7.792], [14.194, 9.81]]


def test_labels_move_apart_as_little_as_it_takes() -> None:
    """By hand: two at one place go half a gap each way; one far off stays."""
    assert style.apart([10, 10, 50], 8) == [6, 14, 50]
    assert style.apart([0, 5, 9], 8) == pytest.approx([-10 / 3, 14 / 3, 38 / 3])
    assert style.apart([], 8) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nodes,window_percent\n1,2\n", "no column age_avg_units"),
        ("", "no column nodes"),
        (ALL["figure2"].splitlines()[0], "no line below the heading"),
        (ALL["figure2"] + "128,10\n", "figure2.csv:6: not as many cells"),
        (ALL["figure2"].replace("7.792", "seven"), "figure2.csv:3: age_avg_units is `seven`"),
    ],
)
def test_a_table_that_is_none_is_refused_with_its_place(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, and nothing is written."""
    drawn, file = sample("figure2", tmp_path)
    file.write_text(text, encoding="utf-8")
    assert main("draw.py", [drawn], ["--folder", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err
    assert not file.with_suffix(".svg").exists()


def test_wrong_arguments_and_places_have_their_exit_codes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """2 for what is asked wrongly, 1 for what cannot be written."""
    drawn, file = sample("ages", tmp_path)
    assert main("draw.py", [drawn], ["--folder", str(tmp_path / "none")]) == 2
    file.with_suffix(".svg").mkdir()
    assert main("draw.py", [drawn], ["--folder", str(tmp_path)]) == 1
    assert "ages.svg: " in capsys.readouterr().err
    with pytest.raises(SystemExit) as refused:
        main("draw.py", [drawn], ["weather"])
    assert refused.value.code == 2


@pytest.mark.parametrize("name", ["plots", "tables", "csv_table", "reproduction"])
def test_the_package_says_where_its_drawing_went(name: str) -> None:
    """An import that worked before says so, and as a program it ends with 2."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT.parent / "python")}
    for words, code in ((["-c", f"import tidings.{name}"], 1), (["-m", f"tidings.{name}"], 2)):
        ended = subprocess.run(
            [sys.executable, *words], env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == code
        assert "studies/QUESTION/run --draw" in ended.stderr
