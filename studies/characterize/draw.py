"""Figures 2 to 12 of Balaji et al. (2009) on simulated machines, and their numbers side by side."""

from __future__ import annotations

import sys

import figures
import side_by_side
from drawing.drawn import Drawn, main
from points import COLUMNS

DRAWN = (
    Drawn("point-to-point.csv", COLUMNS, figures.point_to_point, side_by_side.of_point_to_point),
    Drawn("collectives.csv", COLUMNS, figures.collectives, side_by_side.of_collectives),
    Drawn("halo.csv", COLUMNS, figures.halo, side_by_side.of_halo),
    Drawn("models.csv", COLUMNS, tables=side_by_side.of_models),
    Drawn("others.csv", COLUMNS, tables=side_by_side.of_others),
)

if __name__ == "__main__":
    sys.exit(main(__file__, DRAWN))
