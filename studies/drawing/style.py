"""What all figures share: size, fonts, colours, labels at the ends of lines, and saving.

Colours are safe for the colour-blind: those of Okabe and Ito (2008) for things of different kinds,
the cividis scale (Nunez, Anderton and Renslow, 2018) for ordered ones such as numbers of nodes.
Whatever colour says, a marker or the style of a line says too, so that print in grey does.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

BLUE, ORANGE, GREEN, VERMILION, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#666666"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")

Colour = str | tuple[float, float, float, float]
End = tuple[float, float, str, Colour]

_PARAMETERS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "svg.hashsalt": "tidings",
    "svg.fonttype": "path",
}


@contextlib.contextmanager
def applied() -> Iterator[None]:
    """Draw in this style, whatever the machine's own is."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_PARAMETERS)
        yield


def blank(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches."""
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, output: Path) -> None:
    """Write a figure without date or version, in place of an old one as a whole."""
    metadata = {"Date": None} if output.suffix == ".svg" else {"Software": None}
    fresh = output.with_name(f".new-{output.name}")
    figure.savefig(fresh, metadata=metadata, dpi=150)
    fresh.replace(output)


def ordered_colours(count: int) -> list[Colour]:
    """Return colours from dark to light; the lightest, which paper swallows, are left out."""
    scale = mpl.colormaps["cividis"]
    return [scale(0.72 * at / max(count - 1, 1)) for at in range(count)]


def thousands(number: float) -> str:
    """Return a number as 8,192."""
    return f"{number:,.0f}"


def label_ends(axes: Axes, ends: Iterable[End], gap: float) -> None:
    """Write labels right of the ends of lines, at least ``gap`` points apart.

    Each end is x, y, text and colour. Labels keep the order of the ends; where those are too near
    each other, labels move apart as little as it takes.
    """
    known = sorted((end for end in ends if math.isfinite(end[1])), key=lambda end: end[1])
    if not known:
        return
    figure = axes.get_figure(root=True)
    assert isinstance(figure, Figure), "the axes are part of a figure"
    figure.draw_without_rendering()  # settles the layout, and with it the scale
    points_a_pixel = 72 / figure.dpi
    heights = [axes.transData.transform((x, y))[1] * points_a_pixel for x, y, *_ in known]
    places = apart(heights, gap)
    for (x, y, text, colour), height, place in zip(known, heights, places, strict=True):
        axes.annotate(
            text,
            (x, y),
            xytext=(7, place - height),
            textcoords="offset points",
            va="center",
            color=colour,
            fontsize=8,
            annotation_clip=False,
        )


def apart(places: Sequence[float], gap: float) -> list[float]:
    """Return ascending places moved apart to at least ``gap``, each group around its own middle."""
    groups: list[list[float]] = []  # each: wanted places of labels that touch
    for place in places:
        groups.append([place])
        while len(groups) > 1 and _top(groups[-2], gap) + gap > _bottom(groups[-1], gap):
            groups[-2:] = [groups[-2] + groups[-1]]
    return [_bottom(group, gap) + gap * at for group in groups for at in range(len(group))]


def _bottom(group: Sequence[float], gap: float) -> float:
    return sum(group) / len(group) - gap * (len(group) - 1) / 2


def _top(group: Sequence[float], gap: float) -> float:
    return _bottom(group, gap) + gap * (len(group) - 1)


def log_ticks(axes: Axes, *, x: Sequence[float] = (), y: Sequence[float] = ()) -> None:
    """Make axes logarithmic where ticks are given, with plain numbers at just those."""
    plain = FuncFormatter(lambda value, _: f"{value:,.10g}")
    for ticks, axis, scale in ((x, axes.xaxis, axes.set_xscale), (y, axes.yaxis, axes.set_yscale)):
        if ticks:
            scale("log")
            axis.set_major_locator(FixedLocator(ticks))
            axis.set_major_formatter(plain)
            axis.set_minor_locator(NullLocator())
