"""Rules across functions: where measured, and where the models cross."""

from __future__ import annotations

import pytest

from tests.scaling.series import SIZES, measurement
from tidings.scaling.engines.bayes import BayesEngine, BayesModel
from tidings.scaling.measurement import Measurement
from tidings.scaling.rules import Rule, RuleError, weigh


def models(**growths: tuple[str, float]) -> dict[str, BayesModel]:
    """Fit functions of a growth and a factor."""
    fitted = {}
    for seed, (name, (growth, factor)) in enumerate(growths.items()):
        plain = measurement(name, growth, 0.1, seed)
        values = [[row.value * factor for row in plain.at(size)] for size in SIZES]
        fitted[name] = BayesEngine().fit(Measurement.of_values(SIZES.tolist(), values))
    return fitted


def test_rules_are_read() -> None:
    rule = Rule.parse("MPI_Allreduce <= MPI_Reduce + 1.5*MPI_Bcast")
    assert rule.left == ((1.0, "MPI_Allreduce"),)
    assert rule.right == ((1.0, "MPI_Reduce"), (1.5, "MPI_Bcast"))


@pytest.mark.parametrize(
    "text", ["a < b", "a <= ", "a <= b * c", "", "a <= b <= c", "a <= 0 b", "0.0 a <= b"]
)
def test_text_that_is_not_a_rule_is_rejected(text: str) -> None:
    with pytest.raises(RuleError):
        Rule.parse(text)


def test_a_rule_that_is_kept_everywhere_holds() -> None:
    result = weigh(Rule.parse("a <= b + c"), models(a=("n", 1), b=("n", 1), c=("n", 1)), 2.0**20)
    assert result.outcome(0.01) == "holds"
    assert result.crossing is None
    assert result.worst_ratio == pytest.approx(0.5, rel=0.05)


def test_a_rule_that_is_broken_where_measured_is_violated() -> None:
    result = weigh(Rule.parse("a <= b + c"), models(a=("n", 3), b=("n", 1), c=("n", 1)), None)
    assert result.outcome(0.01) == "violated"
    assert result.measured < 1e-6


def test_a_rule_that_breaks_at_scale_is_predicted() -> None:
    """Kept at every measured size, as Allreduce on Piz Daint was, and crossed beyond."""
    fitted = models(a=("n^1.5", 0.2), b=("log n", 5), c=("n", 1))
    result = weigh(Rule.parse("a <= b + c"), fitted, 2.0**20)
    assert result.measured > 0.99
    assert result.at_target < 0.05
    assert result.outcome(0.05) == "violated"
    assert result.crossing is not None
    assert result.crossing > SIZES[-1]


def test_missing_functions_and_sizes_are_named() -> None:
    fitted = models(a=("n", 1))
    with pytest.raises(RuleError, match="no measurement of b"):
        weigh(Rule.parse("a <= b"), fitted, None)
