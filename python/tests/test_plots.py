"""The figures: drawn from every kind of table, the same again, refused where they cannot be."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from tests.samples import ALL
from tidings.csv_table import Table
from tidings.plots import KINDS, draw, style
from tidings.plots.__main__ import main


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of figure."""
    return str(request.param)


def table_of(kind: str, folder: Path) -> Path:
    """Write a sample of a kind."""
    file = folder / f"{kind}.csv"
    file.write_text(ALL[kind], encoding="utf-8")
    return file


def test_every_kind_is_drawn_the_same_each_time(kind: str, tmp_path: Path) -> None:
    """A figure is a function of its table: no date, no random id."""
    table = table_of(kind, tmp_path)
    figures = [tmp_path / "one.svg", tmp_path / "more" / "other.svg"]
    for figure in figures:
        assert main([kind, str(table), "--output", str(figure)]) == 0
    one, other = (figure.read_bytes() for figure in figures)
    assert one == other
    assert b"<svg" in one
    assert b"dc:date" not in one


def test_png_is_drawn_by_its_suffix(tmp_path: Path) -> None:
    """The suffix decides."""
    draw("ages", table_of("ages", tmp_path), tmp_path / "ages.png")
    assert (tmp_path / "ages.png").read_bytes().startswith(b"\x89PNG")


def test_no_text_overlaps_another_or_is_cut(kind: str, tmp_path: Path) -> None:
    """Everything that is written can be read: labels keep off each other and inside the figure."""
    table = Table.read(table_of(kind, tmp_path), KINDS[kind].columns)
    with style.applied():
        figure = KINDS[kind].figure(table)
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
    table = Table.read(table_of("figure2", tmp_path), KINDS["figure2"].columns)
    with style.applied():
        lines = KINDS["figure2"].figure(table).axes[0].get_lines()
    drawn = [np.asarray(line.get_ydata()).tolist() for line in lines]
    assert drawn == [[12.643, 7.792], [14.194, 9.81]]


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
    table, figure = tmp_path / "figure2.csv", tmp_path / "figure2.svg"
    table.write_text(text, encoding="utf-8")
    assert main(["figure2", str(table), "--output", str(figure)]) == 2
    assert said in capsys.readouterr().err
    assert not figure.exists()


def test_wrong_arguments_and_places_have_their_exit_codes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """2 for what is asked wrongly, 1 for what cannot be written."""
    table = str(table_of("ages", tmp_path))
    assert main(["ages", table, "--output", str(tmp_path / "ages.pdf")]) == 2
    assert main(["ages", str(tmp_path / "none.csv"), "--output", str(tmp_path / "a.svg")]) == 2
    assert main(["ages", table, "--output", "/proc/none/ages.svg"]) == 1
    assert "/proc/none/ages.svg: " in capsys.readouterr().err
    with pytest.raises(SystemExit) as refused:
        main(["weather", table, "--output", "w.svg"])
    assert refused.value.code == 2
