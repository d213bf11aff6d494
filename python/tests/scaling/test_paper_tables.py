"""The paper's tables: δ and match of all 43 rows follow from the rules as they are coded here."""

from __future__ import annotations

import numpy as np
import pytest
from drawing.scaling_paper import PrintedRow, rows

from tidings.scaling import search_space
from tidings.scaling.engines.paper import PaperEngine
from tidings.scaling.expectation import Expectation
from tidings.scaling.limits import Limits
from tidings.scaling.measurement import Measurement
from tidings.scaling.terms import Term

PROCESSES = [2.0**k for k in range(4, 12)]
DIMENSIONS = [float(k) for k in range(3, 17)]


def named(row: PrintedRow) -> str:
    """Name a row in pytest's output."""
    return f"{row.table}-{row.function}-{row.machine}".replace(" ", "")


def limits_of(row: PrintedRow) -> Limits:
    """Set the limits of the study that a row belongs to."""
    expected = Expectation.parse(row.expected).term
    return Limits.around(expected, None if row.table == 4 else search_space.MPI_DEVIATION)


def test_there_are_43_rows() -> None:
    assert [sum(row.table == table for row in rows()) for table in (2, 3, 4)] == [24, 15, 4]


@pytest.mark.parametrize("row", rows(), ids=named)
def test_divergence_and_match_are_the_printed_ones(row: PrintedRow) -> None:
    limits = limits_of(row)
    growth = Expectation.parse(row.growth).term
    variable = "k" if row.table == 4 else "p"
    assert limits.divergence(growth).text(variable, short=True) == row.divergence
    assert limits.match(growth).value == row.match


def in_study(term: Term) -> Term:
    """Return the study's own term for one printed with two decimals: p^0.67 is p^(2/3)."""
    near = [
        known
        for known in search_space.mpi()
        if known.logs == term.logs and abs(float(known.power - term.power)) < 0.005
    ]
    return near[0]


@pytest.mark.parametrize("row", rows(), ids=named)
def test_the_engine_finds_the_printed_growth_in_exact_values(row: PrintedRow) -> None:
    growth = Expectation.parse(row.growth).term
    if row.table == 4:
        sizes, space = DIMENSIONS, search_space.around(Expectation.parse(row.expected).term)
    else:
        sizes, space, growth = PROCESSES, search_space.mpi(), in_study(growth)
    values = 3.0 + 0.5 * np.exp(growth.log_value(np.array(sizes)))
    model = PaperEngine(space).fit(Measurement.of_values(sizes, list(values)))
    assert model.growth == growth
    assert model.predict(np.array(sizes)) == pytest.approx(values)
    assert (model.adjusted_r2 is None) == (row.growth == "1")
