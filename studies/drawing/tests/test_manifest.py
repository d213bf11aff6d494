"""Tables that studies in Python write, with their manifests."""

from __future__ import annotations

from pathlib import Path

import pytest

from drawing.manifest import Table, exit_code


def test_a_row_that_is_no_row_of_the_table_is_refused(tmp_path: Path) -> None:
    """A value less would move those after it into other columns."""
    table = Table(tmp_path / "table.csv", command="studies/none/run")
    with pytest.raises(ValueError, match="a row of 2 values below the columns a, b, c"):
        table.write_rows(("a", "b", "c"), [(1, 2, 3), (4, 6)])
    assert list(tmp_path.iterdir()) == []
    table.write_rows(("a", "b", "c"), [(1, 2, 3), (4, "", 6)])
    assert (tmp_path / "table.csv").read_text() == "a,b,c\n1,2,3\n4,,6\n"


def test_what_could_not_be_made_is_said_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a program does not know of is not hidden."""

    def missing() -> None:
        (tmp_path / "none").read_text()

    def wrong() -> None:
        raise ZeroDivisionError

    assert exit_code("measure", lambda: None) == 0
    assert exit_code("measure", missing) == 1
    said = capsys.readouterr().err
    assert said.startswith("measure: [Errno 2]")
    assert said.count("\n") == 1
    with pytest.raises(ZeroDivisionError):
        exit_code("measure", wrong)
    assert exit_code("measure", wrong, ZeroDivisionError) == 1
