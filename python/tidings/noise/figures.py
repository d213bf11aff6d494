"""Figures of results of ``tidings lab noise``, as SVG that depends on the samples alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tidings.noise.samples import Measured, NoiseError
from tidings.noise.spectrum import Spectrum, spectrum

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Safe for the colour-blind (Okabe and Ito), with a style of line each for print in grey.
_LOOKS = (
    ("#0072b2", "-"),
    ("#d55e00", "--"),
    ("#009e73", "-."),
    ("#e69f00", ":"),
    ("#666666", "-"),
    ("#cc79a7", "--"),
)
# Points of a line: more are drawn as the least of as many stretches, so that no gap is lost.
_MOST_POINTS = 2_000


def draw(measured: Sequence[Measured], output: Path) -> list[Path]:
    """Draw all figures into a folder; return the files."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as error:
        raise NoiseError("figures need matplotlib: pip install 'tidings[plots]'") from error
    output.mkdir(parents=True, exist_ok=True)
    figures = {"quanta": _quanta, "gaps": _gaps}
    if any(one.result["method"] != "fwq" for one in measured):
        figures["spectrum"] = _spectrum
    drawn = []
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update({"svg.hashsalt": "tidings", "svg.fonttype": "path", "font.size": 9})
        for name, figure in figures.items():
            file = output / f"{name}.svg"
            figure(measured).savefig(file, metadata={"Date": None, "Creator": None})
            drawn.append(file)
    return drawn


def spectra(measured: Sequence[Measured]) -> list[tuple[str, Spectrum]]:
    """Return the spectrum of each probe with quanta of fixed time."""
    found = []
    for one, probe, label in _probes(measured):
        if one.result["method"] != "fwq":
            lost = one.quanta(probe)["lost_ns"].astype(float)
            found.append((label, spectrum(lost, one.result["quantum_us"] / 1e6)))
    return found


def _probes(measured: Sequence[Measured]) -> list[tuple[Measured, dict[str, Any], str]]:
    several = any(len(one.result["probes"]) > 1 for one in measured)
    found = []
    for one in measured:
        for place, probe in enumerate(one.result["probes"]):
            core = f"core {probe['core']}" if one.result["pinned"] else f"probe {place}"
            found.append((one, probe, f"{one.name}, {core}" if several else one.name))
    if not found:
        raise NoiseError("no result has a probe")
    return found


def _blank() -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    axes.grid(color="#dddddd", linewidth=0.6)
    return figure, axes


def _look(place: int) -> dict[str, Any]:
    colour, style = _LOOKS[place % len(_LOOKS)]
    return {"color": colour, "linestyle": style, "linewidth": 1}


def _thinned(values: NDArray[np.float64], lowest: bool) -> tuple[NDArray[np.float64], int]:
    step = -(-len(values) // _MOST_POINTS)
    whole = values[: len(values) // step * step].reshape(-1, step) if step else values
    return (whole.min(axis=1) if lowest else whole.max(axis=1)) if step else values, step


def _quanta(measured: Sequence[Measured]) -> Figure:
    figure, axes = _blank()
    methods = {one.result["method"] for one in measured}
    if len(methods) > 1:
        raise NoiseError(f"results of {' and '.join(sorted(methods))} have no axis in common")
    is_time = methods != {"fwq"}
    for place, (one, probe, label) in enumerate(_probes(measured)):
        quanta = one.quanta(probe)
        values = quanta["units" if is_time else "length_ns"].astype(float)
        if not len(values):
            continue
        shown, step = _thinned(values / np.percentile(values, 95 if is_time else 5), is_time)
        seconds = (quanta["begin_ns"] - quanta["begin_ns"][0])[::step][: len(shown)] / 1e9
        axes.plot(seconds, shown, label=label, **_look(place))
    axes.set_xlabel("time, s")
    what = "work in a quantum" if is_time else "time of fixed work"
    axes.set_ylabel(f"{what}, by that of a quantum that nothing disturbed")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return figure


def _gaps(measured: Sequence[Measured]) -> Figure:
    figure, axes = _blank()
    for place, (_, probe, label) in enumerate(_probes(measured)):
        seconds = max(probe["measured_s"], 1e-9)
        edges, heights = [], []
        for bucket in probe["histogram"]:
            edges += [bucket["from_ns"] / 1e3, bucket["below_ns"] / 1e3]
            heights += [bucket["count"] / seconds] * 2
        axes.plot(edges, heights, label=label, **_look(place))
    axes.set(xscale="log", yscale="log", xlabel="length of a gap, µs", ylabel="gaps in a second")
    axes.legend(frameon=False)
    return figure


def _spectrum(measured: Sequence[Measured]) -> Figure:
    figure, axes = _blank()
    for place, (label, own) in enumerate(spectra(measured)):
        axes.plot(own.hz, own.power, label=label, **_look(place))
        for peak in own.peaks:
            axes.annotate(
                peak.name,
                (peak.hz, peak.power),
                xytext=(0, 4),
                textcoords="offset points",
                fontsize=7,
                rotation=60,
                color=_look(place)["color"],
            )
    axes.set(xscale="log", yscale="log", xlabel="frequency, Hz", ylabel="power of lost time, s²/Hz")
    axes.legend(frameon=False)
    return figure
