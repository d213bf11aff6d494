"""The spectrum of what was lost, by Welch's method, and what its peaks may be.

Quanta of fixed time are samples at even distance: the time lost in each is a signal, and whatever
disturbs periodically is a peak at its frequency and at multiples of it. Welch, "The use of fast
Fourier transform for the estimation of power spectra", IEEE Transactions on Audio and
Electroacoustics 15, 1967; the estimate is matplotlib's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tidings.noise.samples import NoiseError

_SEGMENTS = 8
_LEAST_SAMPLES = 64
_MOST_PEAKS = 6
# A peak is so many times the median of the spectrum around it, which noise alone nearly never is:
# of a mean of some eight squares each, one of 10^4 is above four times their mean.
_ABOVE = 8.0
_AROUND = 51

# What is periodic on Linux: the tick by its usual rates, and the server that gives ordinary tasks
# their share beside real-time ones.
_KNOWN = (
    (1.0, "fair server or a timer of a second"),
    (100.0, "tick of 100 Hz"),
    (250.0, "tick of 250 Hz"),
    (300.0, "tick of 300 Hz"),
    (1000.0, "tick of 1000 Hz"),
)


@dataclass(frozen=True)
class Peak:
    """A frequency at which time is lost."""

    hz: float
    power: float
    name: str


@dataclass(frozen=True)
class Spectrum:
    """Power by frequency."""

    hz: NDArray[np.float64]
    power: NDArray[np.float64]
    peaks: tuple[Peak, ...]


def spectrum(lost_ns: NDArray[np.float64], quantum_s: float) -> Spectrum:
    """Estimate the spectrum of time lost in quanta of this length."""
    from matplotlib import mlab

    count = len(lost_ns)
    if count < _LEAST_SAMPLES:
        raise NoiseError(f"{count} quanta are too few for a spectrum: at least {_LEAST_SAMPLES}")
    length = 1 << int(np.log2(max(_LEAST_SAMPLES // 2, 2 * count // _SEGMENTS)))
    power, hz = mlab.psd(
        lost_ns / 1e9,
        NFFT=length,
        Fs=1.0 / quantum_s,
        detrend=mlab.detrend_mean,
        noverlap=length // 2,
    )
    power, hz = np.asarray(power, float)[1:], np.asarray(hz, float)[1:]
    return Spectrum(hz, power, _peaks(hz, power))


def _peaks(hz: NDArray[np.float64], power: NDArray[np.float64]) -> tuple[Peak, ...]:
    """Find what stands out of its surroundings, the strongest first, each hill once."""
    if not power.any():
        return ()
    half = _AROUND // 2
    padded = np.pad(power, half, mode="reflect" if len(power) > half else "edge")
    around = np.median(np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1), axis=1)
    out = np.flatnonzero(power > _ABOVE * np.maximum(around, power.max() * 1e-9))
    found: list[Peak] = []
    resolution = float(hz[0])
    for place in sorted(out, key=lambda at: -power[at]):
        # A peak between two frequencies of the estimate is spread over both.
        hill = slice(max(place - 1, 0), place + 2)
        frequency = float(np.average(hz[hill], weights=power[hill]))
        if any(abs(frequency - peak.hz) <= 3 * resolution for peak in found):
            continue
        name = _name(frequency, resolution, found)
        found.append(Peak(frequency, float(power[place]), name))
        if len(found) == _MOST_PEAKS:
            break
    return tuple(found)


def _name(hz: float, resolution: float, before: list[Peak]) -> str:
    """Say what a frequency may be: known, a multiple of a stronger one, or just its number."""
    for known, name in _KNOWN:
        if abs(hz - known) <= max(1.5 * resolution, 0.004 * known) and resolution < known / 3:
            return name
    for peak in before:
        times = round(hz / peak.hz)
        if times >= 2 and abs(hz - times * peak.hz) <= 1.5 * resolution * times:
            return f"{times} times {peak.hz:.4g} Hz"
    return f"{hz:.4g} Hz"
