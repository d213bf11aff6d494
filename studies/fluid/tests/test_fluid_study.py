"""What the study's page says of points at which the model is wrong is what its table has."""

from __future__ import annotations

from pathlib import Path

from drawing.csv_table import Table

STUDY = Path(__file__).resolve().parents[1]
FAR = 0.05
"""A model that is farther away from SMPI is wrong, as the page says."""


def test_the_page_names_every_point_at_which_the_model_is_wrong() -> None:
    """How many there are, of which test and how many workers, and the farthest of them."""
    table = Table.read(STUDY / "validation.csv", ("test", "count", "smpi_s", "model_s"))
    away = [(row.number("model_s") / row.number("smpi_s") - 1, row) for row in table]
    far = [(own, row) for own, row in away if abs(own) > FAR]
    most, farthest = max(far, key=lambda found: abs(found[0]))
    workers = [row.whole("count") for _, row in far]
    assert {row.text("test") for _, row in far} == {"hotspot"}
    assert {row.text("nodes") for _, row in far} == {"64"}
    page = " ".join((STUDY / "README.md").read_text(encoding="utf-8").split())
    said = (
        f"{len(far)} of the {len(away)} points are more than 5 % away, all of them hot spots of "
        f"{min(workers)} to {max(workers)} workers among 64 nodes, the farthest {100 * most:.1f} %"
    )
    assert said in page
    place = f"| {farthest.text('machine')} | 64 | hotspot | {farthest.whole('bytes'):,} |"
    assert f"{place} {farthest.text('count')} | {100 * most:+.2f} % |" in page
    assert page.count("| hotspot |") >= len(far)
