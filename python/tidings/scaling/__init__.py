"""tidings.scaling: expectations of growth as tests.

State how a function should grow, measure it at five or more sizes, and get a verdict with a stated
rate of false alarms. After Shudler et al., "Exascaling Your Library", ICS 2015;
docs/concepts/scaling.md states what is added. The modules, from input to output:
`terms`, `expectation`, `limits`, `search_space`; `measurement`, `readers`; `engines`; `verdict`,
`plan`, `rules`; `specification`, `checking`, `reports`, `runs`, `cli`, `pytest_plugin`.

What is named here is imported when it is first used: a start loads only what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidings.scaling.engines.bayes import BayesEngine, BayesModel
    from tidings.scaling.engines.paper import PaperEngine
    from tidings.scaling.expectation import Expectation, ExpectationError
    from tidings.scaling.limits import Limits, Match
    from tidings.scaling.measurement import Measurement, MeasurementError, Row
    from tidings.scaling.terms import Term
    from tidings.scaling.verdict import Outcome, evaluate

_HOMES = {
    "BayesEngine": "engines.bayes",
    "BayesModel": "engines.bayes",
    "PaperEngine": "engines.paper",
    "Expectation": "expectation",
    "ExpectationError": "expectation",
    "Limits": "limits",
    "Match": "limits",
    "Measurement": "measurement",
    "MeasurementError": "measurement",
    "Row": "measurement",
    "Term": "terms",
    "Outcome": "verdict",
    "evaluate": "verdict",
}
__all__ = [
    "BayesEngine",
    "BayesModel",
    "Expectation",
    "ExpectationError",
    "Limits",
    "Match",
    "Measurement",
    "MeasurementError",
    "Outcome",
    "PaperEngine",
    "Row",
    "Term",
    "evaluate",
    "fit",
]


def fit(measurement: Measurement, expected: Term | None = None) -> BayesModel:
    """Fit the default engine; an expectation, if given, is among the candidates."""
    from tidings.scaling.engines.bayes import BayesEngine

    return BayesEngine().fit(measurement, expected)


def __getattr__(name: str) -> Any:  # noqa: ANN401
    name = {"judge": "evaluate"}.get(name, name)  # its name before the release
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
