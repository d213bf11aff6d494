"""Tidings for Python.

``tidings.plots`` draws the figures of docs/results, ``tidings.tables`` writes their tables; both
read the CSV files that ``tidings sim`` and the benches write.
"""
