"""Evaluating a study's functions by the paper's engine and by the default one, side by side."""

from __future__ import annotations

from dataclasses import dataclass

from tidings.scaling import Expectation, Limits, Measurement, PaperEngine, Term
from tidings.scaling.engines.bayes import BayesEngine, BayesModel
from tidings.scaling.engines.paper import PaperModel
from tidings.scaling.two_parameters.products import Sum
from tidings.scaling.verdict import Evaluation, evaluate


@dataclass(frozen=True)
class Both:
    """A function held against its expectation by both engines."""

    expectation: Expectation
    limits: Limits
    paper: PaperModel
    model: BayesModel
    verdict: Evaluation


def both(
    measured: list[Measurement],
    expected: list[str],
    spaces: list[list[Term]],
    deviation: Term | None,
) -> list[Both]:
    """Evaluate functions as one suite, so that the rate of false alarms is that of all together.

    `spaces` are what the paper's engine seeks in; `deviation` None is the default one.
    """
    expectations = [Expectation.parse(text) for text in expected]
    limits = [Limits.around(one.term, deviation) for one in expectations]
    models = [BayesEngine().fit(m, e.term) for m, e in zip(measured, expectations, strict=True)]
    verdicts = evaluate(models, limits)
    papers = [PaperEngine(space).fit(m) for m, space in zip(measured, spaces, strict=True)]
    rows = zip(expectations, limits, papers, models, verdicts, strict=True)
    return [Both(*row) for row in rows]


def growth(term: Term | Sum, variable: str) -> str:
    """Return a term as the tables print it; they have none in two parameters."""
    assert isinstance(term, Term)
    return term.text(variable, short=True)


def r2(model: PaperModel) -> str:
    """Return the adjusted R², or a dash for a constant."""
    return "-" if model.adjusted_r2 is None else f"{model.adjusted_r2:.2f}"
