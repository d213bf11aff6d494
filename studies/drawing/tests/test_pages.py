"""The tables of the pages: written into their places, everything else untouched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from drawing.csv_table import Table, TableError
from drawing.drawn import main
from drawing.pages import insert, markdown
from drawing.tests.samples import ALL, DRAWN, ROOT, STUDIES, of_study

PAGES = sorted(ROOT.glob("*/README.md"))


def tables_of(kind: str, folder: Path) -> dict[str, str]:
    """Make the tables of a sample."""
    file = folder / f"{kind}.csv"
    file.write_text(ALL[kind], encoding="utf-8")
    _, drawn = DRAWN[kind]
    assert drawn.tables is not None
    return drawn.tables(Table.read(file, drawn.columns))


@pytest.mark.parametrize(
    ("kind", "name", "line"),
    [
        ("figure2", "figure2", "| 1024 | 14.19 | 9.81 |"),
        ("figure2", "figure2-beside", "| 128 | 20 % | 7.79 | 7.8 | -0.10 % | 28.6 | 28.7 | 26.6 |"),
        ("ages", "ages", "| 256 ms | 1024 | 2.51 s | 2 to 3 s | 7.3 s | 10.2 s |"),
        ("ages", "ages-averages", "| 8192 | 760 | 3,038 |"),
        (
            "failures",
            "failures-loss",
            "| uniform | 128 | 30 % | 11.41 | 39.2 | 42.6 | 99.995 % | 87.6 % | 1.4e-04 |",
        ),
        (
            "failures",
            "failures-crash",
            "| uniform | 128 | 50 % | 10.72 | 31.9 | 29.7 | 100.000 % | 91.8 % | 70.6 | 65.5 "
            "| 69.7 | 70.6 |",
        ),
        (
            "strategies",
            "strategies",
            "| 1024 | 20 % | 0 % | 0 % | 0 ms | 9.80 / 28.3 / 39.8 | 4.06 / 8.2 / 8.3 |",
        ),
        (
            "strategies",
            "strategies",
            "| 1024 | 20 % | 10 % | 0 % | 0 ms | 10.96 / 31.9 / 44.9 | - |",
        ),
        (
            "overhead",
            "overhead",
            "| fft | 2 | gossip, 4 ms, 20% of 64 B | 40 (0) | 1.54 s | **2.67 %** | 2.10 to 3.10 % "
            "| 62.0 | 1.20 | 0.01 s |",
        ),
        (
            "reproduction",
            "table1",
            "| 64 ms | 0.17 % (0.2 %) | 0.35 % (0.3 %) | - (0.6 %) | 1.48 % (1.5 %) |",
        ),
        (
            "reproduction",
            "equal-bytes",
            "| 80 % at 64 ms | 1.25 % at 8 ms | - at 16 ms | - at 32 ms | 1.48 % at 64 ms |",
        ),
        ("reproduction", "against-interval", "| 64 ms | 0.28 % | 1.4 % | 0.00 % | 0.0 % |"),
        ("overhead", "slowdown-grid", "| 256 ms | ≤ 0.24 % | ≤ 0.26 % |"),
        (
            "deaths",
            "deaths",
            "| uniform | silent | 10 % | 20 | 3.26 s | 3.76 s | 5.09 s | 5.09 s | 0 |",
        ),
        (
            "deaths-hour",
            "deaths-hour",
            "| 64 | 1,000 | **0** | 1,234, 1,234 cleared | 32,000, 0.50 a node and unit "
            "| 4.3 units | 1,753,974 ages, 0 violations |",
        ),
        (
            "deaths-agents",
            "deaths-agents",
            "| killed | 0 % | 3 | 0.31 s | 0.40 s | 0.52 s | 0.85 s |",
        ),
        (
            "starved",
            "starved",
            "| 16 | 0.41 s | 0.61 s | 1.50 | 1.00 s | 1.50 s | 1.50 | 2 | 0.5 s |",
        ),
        ("busy", "busy", "| 1024 | 1452 | 8192 | 3100 | 3300 | **640 %** | 2.5 % |"),
        ("tasks", "steady", "| ProcessPoolExecutor | 9,106 (9,012 to 9,200) | - | - | - | - | - |"),
        ("tasks", "coordinator-killed", "| Dask | > 30.00 | - | - | - |"),
        ("tasks", "worker-frozen", "| Tidings, workers | 3.10 |"),
    ],
)
def test_each_table_has_its_lines(kind: str, name: str, line: str, tmp_path: Path) -> None:
    """One line of each, rounded by hand from the sample."""
    assert line in tables_of(kind, tmp_path)[name].splitlines()


@pytest.mark.parametrize(
    ("study", "at"), [(study, at) for study in STUDIES for at in range(len(of_study(study)))]
)
def test_the_page_of_a_study_holds_its_tables(study: str, at: int) -> None:
    """What `run --draw` writes into exists, and holds the table of the CSV beside it."""
    drawn = of_study(study)[at]
    if drawn.tables is None:
        return
    page = (STUDIES[study] / drawn.page).read_text(encoding="utf-8")
    table = Table.read(STUDIES[study] / drawn.table, drawn.columns)
    assert insert(page, drawn.tables(table)) == page


def test_only_the_table_s_own_place_changes() -> None:
    """The page around it stays, and a second time changes nothing."""
    page = (
        "# Ages\n\n<!-- table: a -->\nold\n<!-- end -->\nText.\n<!-- table: b -->\n<!-- end -->\n"
    )
    table = markdown(["x"], [["1"], ["2"]])
    changed = insert(page, {"a": table})
    assert changed == page.replace("old", f"\n{table}")
    assert insert(changed, {"a": table}) == changed
    with pytest.raises(TableError, match="<!-- table: c -->"):
        insert(page, {"c": table})


def test_exit_codes_are_those_of_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """2 for a page without a place, which is left alone; 1 for one that is not there."""
    study, drawn = DRAWN["ages"]
    table, page = tmp_path / "ages.csv", tmp_path / "README.md"
    table.write_text(ALL["ages"], encoding="utf-8")
    asked = (str(STUDIES[study] / "draw.py"), [drawn], ["--folder", str(tmp_path)])
    assert main(*asked) == 1
    assert "README.md: " in capsys.readouterr().err
    page.write_text("# Ages\n", encoding="utf-8")
    assert main(*asked) == 2
    assert page.read_text(encoding="utf-8") == "# Ages\n"


def numbers(text: str) -> list[str]:
    """Return the numbers of a text, as they stand."""
    return re.findall(r"\d+(?:,\d{3})+|\d+\.\d+|\d+", text)


def stands(number: str, text: str) -> bool:
    """Whether a text has a number, exact or rounded."""
    plain = number.replace(",", "")
    digits = len(plain.partition(".")[2])
    return any(f"{float(other.replace(',', '')):.{digits}f}" == plain for other in numbers(text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_what_a_page_answers_stands_in_its_tables(page: Path) -> None:
    """The answer, and the result in the index, are of the tables that are there."""
    head, _, below = page.read_text(encoding="utf-8").partition("\n---\n")
    below += "".join(p.read_text(encoding="utf-8") for p in page.parent.glob("*.md") if p != page)
    answer = head[head.index("**Answer.**") : head.index("Command: ")]
    broken = [number for number in numbers(answer) if "." in number and not stands(number, below)]
    assert broken == [], "no table of the page says so"
    index = (ROOT / "README.md").read_text(encoding="utf-8")
    (result,) = re.findall(rf"\]\({page.parent.name}/README\.md\) \| (.*) \|", index)
    assert [number for number in numbers(result) if not stands(number, head + below)] == []


def test_a_number_stands_where_it_is_written_or_rounds_to_it() -> None:
    """By hand."""
    assert stands("0.28", "| 0.277 |")
    assert stands("14,949", "| 14,949 |")
    assert not stands("0.29", "| 0.277 |")
    assert not stands("14,949", "| 14,948 |")
