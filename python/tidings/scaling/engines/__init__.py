"""Engines: they turn measurements into a model of growth; two with one interface.

``paper`` is the method of Shudler et al. as it is; ``bayes`` is the default. Both have ``fit``,
which takes a Measurement; both models have ``growth`` (a Term) and ``predict``.
"""
