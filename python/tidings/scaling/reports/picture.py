"""Plots as PNG, by matplotlib: the same points, model, band and limits as those in SVG."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tidings.scaling.checking import Checked
from tidings.scaling.measurement import Measurement
from tidings.scaling.reports.plot import curves, title, value_range, verdict_of

_INCHES = (6.4, 4.2)
_DOTS_PER_INCH = 150


class PictureError(Exception):
    """A picture cannot be drawn. The message names what to do."""


def write(one: Checked, path: Path) -> None:
    """Draw the plot of one expectation into a file."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise PictureError("PNG needs matplotlib: pip install 'tidings[plots]'") from None
    if not isinstance(one.measurement, Measurement):
        raise PictureError(f"{one.stated.name} is in two parameters: draw it with --svg or --html")
    drawn = curves(one)
    grid, low, middle, high = np.exp(drawn.grid), *np.exp(drawn.bands.T)
    figure = Figure(figsize=_INCHES, dpi=_DOTS_PER_INCH, layout="constrained")
    axes = figure.add_subplot()
    axes.fill_between(grid, low, high, alpha=0.18, linewidth=0, label="95 %")
    axes.plot(grid, middle, label="model")
    for index, limit in enumerate(drawn.limits):
        label = "limits" if index == 0 else "_nolegend_"
        axes.plot(grid, np.exp(limit), "--", color="#b06000", label=label)
    axes.plot(np.exp(drawn.sizes), np.exp(drawn.values), "o", color="#222222", markersize=3)
    axes.set(xscale="log", yscale="log", xlabel=one.expectation.variable)
    axes.set_ylim(*np.exp(value_range(drawn)))
    axes.set_ylabel(one.measurement.unit or one.measurement.metric)
    verdict, color = verdict_of(one)
    axes.set_title(title(one), fontsize="small", loc="left")
    axes.set_title(verdict, fontsize="small", loc="right", color=color, fontweight="bold")
    axes.legend(fontsize="small")
    figure.savefig(path)
