"""Noise of a system as ``tidings lab noise`` has measured it: raw samples, spectrum, plots.

``python -m tidings.noise DIR... --output OUT`` draws results beside each other, each a setting:
work or time of quanta over time (one line a setting, as in Figure 3 of the FOX report), how long
gaps were, and the spectrum of what was lost, with its peaks named. ``samples.read_quanta`` and
``samples.read_gaps`` give the samples as NumPy arrays.
"""
