"""Growth in two parameters: what is read, found, called violated, and written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tidings.scaling import cli, verdict
from tidings.scaling.expectation import Expectation, ExpectationError, TwoExpectation
from tidings.scaling.limits import Match
from tidings.scaling.measurement import Measurement, MeasurementError
from tidings.scaling.readers import read, read_any
from tidings.scaling.terms import Term
from tidings.scaling.two_parameters import engine
from tidings.scaling.two_parameters.limits import TwoLimits
from tidings.scaling.two_parameters.points import PointsMeasurement, of_points
from tidings.scaling.two_parameters.products import Product, Sum
from tidings.scaling.verdict import Evaluation, Outcome

P = (4.0, 8.0, 16.0, 32.0, 64.0)
N = (100.0, 200.0, 400.0, 800.0, 1600.0)
NAMES = ("p", "n")
GRID = [(p, n) for p in P for n in N]
CROSS = [(p, n) for p, n in GRID if p == P[0] or n == N[0]]
Function = Callable[[float, float], float]


def growth(text: str) -> Sum:
    """Read growth in p and n."""
    return TwoExpectation.lifted(Expectation.read(text), NAMES).growth


def measured(
    function: Function,
    percent: float = 2.0,
    seed: int = 1,
    points: list[tuple[float, float]] = GRID,
) -> PointsMeasurement:
    """Return five repetitions at points, with noise."""
    rng = np.random.default_rng(seed)
    factors = 1 + percent / 100 * rng.standard_normal((len(points), 5))
    values = [(function(*at) * row).tolist() for at, row in zip(points, factors)]
    return of_points(NAMES, points, values, "f", "time", "s")


def evaluated(
    measurement: PointsMeasurement, expected: str, within: str | None = None, two: bool = False
) -> Evaluation:
    """Evaluate one expectation."""
    asked = growth(expected)
    stated = TwoExpectation.lifted(Expectation.read(expected), NAMES).stated
    model = engine.fit(measurement, asked, stated)
    limits = TwoLimits.around(asked, growth(within) if within else None)
    return verdict.evaluate([model], [limits], two_sided=[two])[0]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("n log p + p", "O(n log p + p)"),
        ("O(n·p log n)", "O(n log n · p)"),
        ("p n", "O(p n)"),
        ("2^k m", "O(2^k m)"),
        ("(p + n)^2", "O(p^2 + n^2)"),
        ("p n + n + 3", "O(p n)"),
        ("p n - n", "O(p n)"),
        ("sqrt(p n)", "O(p^0.5 n^0.5)"),
        ("n/p", "O(n (1/p))"),
        ("p + n + sqrt(p n)", "O(p + n)"),
    ],
)
def test_expectations_in_two_variables(text: str, written: str) -> None:
    read_back = Expectation.read(text)
    assert isinstance(read_back, TwoExpectation)
    assert str(read_back) == written
    again = Expectation.read(written)
    assert isinstance(again, TwoExpectation)
    assert TwoExpectation.lifted(again, read_back.variables).growth == read_back.growth


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a b c", "a third variable, `c`"),
        ("p - n", "what is subtracted must grow more slowly"),
        ("1/(p + n)", "division by a sum in two variables"),
        ("(p + n)^-1", "division by a sum in two variables"),
        ("log(p n)", "the argument of a logarithm"),
        ("exp(p n)", "the argument of exp"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ExpectationError, match=r".") as refused:
        Expectation.read(text)
    assert problem in str(refused.value)


def test_one_variable_stays_as_it_was() -> None:
    assert Expectation.read("n log n") == Expectation.parse("n log n")
    with pytest.raises(ExpectationError, match="two variables, `n` and `m`"):
        Expectation.parse("n m")


def test_an_expectation_takes_the_order_and_names_of_what_was_measured() -> None:
    assert growth("n p^2") == growth("p^2 n")
    assert growth("n") == Sum((Product(second=Term.of(1)),))
    assert growth("1").is_constant
    with pytest.raises(ValueError, match="is in `k`, but what was measured is in p and n"):
        growth("k p")


def test_a_sum_bounds_what_lies_between_its_products() -> None:
    either = growth("p + n")
    assert either.covers(growth("p^0.5 n^0.5"))
    assert either.covers(growth("p^0.25 n^0.75 + p"))
    assert not either.covers(growth("p^0.5 n^0.75"))
    assert not either.covers(growth("p n"))
    assert growth("p n").covers(either)
    assert not growth("p n").covers(growth("n^1.25"))


def test_limits_are_those_of_each_product() -> None:
    limits = TwoLimits.around(growth("n log p + p"))
    assert limits.upper == growth("n^1.5 log^1.5 p + p^1.5")
    assert limits.match(growth("n log p + p")) is Match.TOTAL
    assert limits.match(growth("n log^1.5 p + p")) is Match.APPROXIMATE
    assert limits.match(growth("n p")) is Match.NONE
    assert limits.divergence(growth("n p")) == growth("p / log p")
    with pytest.raises(ValueError, match="shrinks"):
        TwoLimits.around(growth("p n"), growth("1/p"))
    with pytest.raises(ValueError, match="one product"):
        TwoLimits.around(growth("p n"), growth("p + n"))


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("p n", lambda p, n: 50 + p * n),
        ("n log p + p", lambda p, n: n * np.log2(p) / 100 + p),
        ("p + n", lambda p, n: 5 + p + n / 20),
        ("n^2", lambda p, n: 5 + n**2 / 1e4),
        ("p^0.5", lambda p, n: 1 + p**0.5),
        ("1", lambda p, n: 3.0),
        ("p n log n", lambda p, n: 100 * p + p * n * np.log2(n)),
        ("n / p", lambda p, n: 0.5 + n / p),
    ],
)
def test_growth_is_named_on_a_grid(text: str, function: Function) -> None:
    model = engine.fit(measured(function, 0.5))
    assert model.growth == growth(text)
    far = (1024.0, 25600.0)
    low, high = model.interval(far)
    assert low < function(*far) < high


@pytest.mark.parametrize("seed", range(5))
def test_true_expectations_hold_and_broken_ones_are_violated(seed: int) -> None:
    cost = measured(lambda p, n: 20 + n * np.log2(p) + 5 * p, 3, seed)
    assert evaluated(cost, "n log p + p", "p^(1/4) n^(1/4)").outcome is Outcome.HOLDS
    broken = evaluated(cost, "n^0.5 log p + p", "n^(1/4)")
    assert broken.outcome is Outcome.VIOLATED
    assert evaluated(cost, "n + p", "log^(1/2) p").outcome is not Outcome.HOLDS


def test_an_expectation_that_no_listed_sum_has_is_weighed() -> None:
    """Its leading term in p is in no listed sum of two, so that another one fitted better."""

    def function(p: float, n: float) -> float:
        return float(p**1.25 * np.log2(p) ** 2 * n**0.5 / 1e4 + p**0.5 + 0.2)

    one = evaluated(measured(function, 0.1), "p^1.25 log^2 p n^0.5", "n^(1/4)")
    assert one.outcome is Outcome.HOLDS


@pytest.mark.parametrize(
    "text", ["p^(2/3) log^2 n + n^0.5", "p^2 n^1.05 + n^(4/3) log n", "p^0.35 n + p^0.9", "n p + 1"]
)
def test_a_sum_that_is_stated_is_weighed_whatever_else_fits(text: str) -> None:
    """Sums of two terms in n are chosen by their fit, and a rare one is in no list."""
    stated = growth(text)
    noisy = measured(lambda p, n: 3 + p**0.4 * np.log2(n) ** 2 + n**0.6, 5)
    assert stated in engine.fit(noisy, stated).by_growth


@pytest.mark.parametrize("seed", range(4))
def test_a_true_sum_with_two_terms_in_one_parameter_is_not_violated(seed: int) -> None:
    def function(p: float, n: float) -> float:
        at = p / 16, n / 400
        product = at[0] ** (2 / 3) * (np.log2(n) / np.log2(400)) ** 2
        return float(0.6 * product + at[1] ** 0.5 + 0.67)

    true = "p^(2/3) log^2 n + n^0.5"
    one = evaluated(measured(function, 2, seed), true, "p^(1/4)")
    assert one.outcome is Outcome.HOLDS
    broken = evaluated(measured(function, 2, seed), "p^(1/6) log^2 n + n^0.5", "p^(1/4)")
    assert broken.outcome is Outcome.VIOLATED


def in_units(p: float, n: float) -> tuple[float, float, float, float]:
    """Return p and n beside the middle of the grid, and their logarithms."""
    return p / 16, n / 400, np.log2(p) / 4, np.log2(n) / np.log2(400)


STATED: list[tuple[str, str, Callable[..., float]]] = [
    ("p^2 log n + n^2 log p", "p log n + n^2 log p", lambda p, n, lp, ln: p**2 * ln + n**2 * lp),
    ("p n + p^2 + n^2", "p + n^2", lambda p, n, lp, ln: p * n + p**2 + n**2),
    ("p^2 + n^2", "p^2 + n", lambda p, n, lp, ln: p * n + p**2 + n**2),
    ("p log n + n log p", "p^0.5 log n + n log p", lambda p, n, lp, ln: p * ln + n * lp),
    ("n log p + p + n^2", "n log p + p", lambda p, n, lp, ln: n * lp + p + n**2),
]


@pytest.mark.parametrize("percent", [1, 5])
@pytest.mark.parametrize(("true", "broken", "function"), STATED)
def test_sums_of_any_products_may_be_stated(
    true: str, broken: str, function: Callable[..., float], percent: float
) -> None:
    """Sums that are no candidates without an expectation: they were violated in most cases."""
    cost = measured(lambda p, n: 0.3 + function(*in_units(p, n)), percent)
    assert evaluated(cost, true, "p^(1/4) n^(1/4)").outcome is Outcome.HOLDS
    assert evaluated(cost, broken, "p^(1/4) n^(1/4)").outcome is Outcome.VIOLATED


def test_what_is_stated_is_kept_with_what_others_exceed() -> None:
    written = Expectation.read("O(n p + 3 p^2 + n^2)")
    assert isinstance(written, TwoExpectation)
    turned = TwoExpectation.lifted(written, NAMES)
    assert turned.growth == growth("p^2 + n^2")
    one, two, both = Term.of(1), Term.of(2), Product(Term.of(1), Term.of(1))
    assert turned.stated == (both, Product(two), Product(second=two))
    assert written.stated == (both, Product(second=two), Product(two))
    assert Product(one) not in turned.stated


def test_slower_growth_is_a_fault_where_both_sides_are_asked_for() -> None:
    cost = measured(lambda p, n: 1 + n**0.5, 1)
    one = evaluated(cost, "n p", "n^(1/4) p^(1/4)")
    assert one.outcome is Outcome.HOLDS
    assert one.reasons == ("grows more slowly than the limits",)
    assert evaluated(cost, "n p", "n^(1/4) p^(1/4)", two=True).outcome is Outcome.VIOLATED


@pytest.mark.parametrize("function", [lambda p, n: p + n / 20, lambda p, n: p * n])
def test_a_cross_does_not_tell_a_sum_from_a_product(function: Function) -> None:
    one = evaluated(measured(function, 1, 1, CROSS), "p + n", "p^(1/4) n^(1/4)")
    assert one.outcome is Outcome.UNDECIDED
    assert "p=64, n=1600" in one.reasons[0]
    product = evaluated(measured(function, 1, 1, CROSS), "p n", "p^(1/4) n^(1/4)")
    assert product.outcome is Outcome.HOLDS
    corner = [*CROSS, (P[-1], N[-1])]
    told = evaluated(measured(function, 1, 1, corner), "p + n", "p^(1/4) n^(1/4)")
    assert told.outcome is (Outcome.VIOLATED if function(3, 5) == 15 else Outcome.HOLDS)


def test_growth_is_the_same_in_any_order_and_unit() -> None:
    values = measured(lambda p, n: 20 + n * np.log2(p) + 5 * p, 5)
    rows = [[r.value for r in values.rows.at(i + 1)] for i in range(len(GRID))]
    order = np.random.default_rng(3).permutation(len(GRID)).tolist()
    turned = of_points(NAMES, [GRID[i] for i in order], [rows[i][::-1] for i in order])
    scaled = of_points(NAMES, GRID, [[1024 * v for v in row] for row in rows])
    swapped = of_points(("n", "p"), [(n, p) for p, n in GRID], rows)
    first, second, third, fourth = (engine.fit(m) for m in (values, turned, scaled, swapped))
    assert first.by_growth == second.by_growth == third.by_growth
    mirrored = {
        Sum.of(Product(p.second, p.first) for p in g.products): share
        for g, share in fourth.by_growth.items()
    }
    for found, share in list(first.by_growth.items())[:5]:
        assert mirrored[found] == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("parameter", [0, 1])
def test_a_step_is_named_and_is_no_growth(parameter: int) -> None:
    """Values above a size of one parameter were 2.5 times as large: taken for growth before."""
    at = (16, 400)[parameter]

    def function(p: float, n: float) -> float:
        return (50 + p * n) * (2.5 if (p, n)[parameter] >= at else 1)

    found = evaluated(measured(function, 0.5), "p n", within="p^(1/8) n^(1/8)")
    assert found.outcome is Outcome.HOLDS
    assert found.growth == growth("p n")
    name, below = NAMES[parameter], (8, 200)[parameter]
    assert f"a step between {name}={below} and {name}={at}, by a factor of 2." in found.reasons[0]
    assert evaluated(measured(function), "p^0.5 n^0.5").outcome is Outcome.VIOLATED


def test_wild_points_are_a_misfit() -> None:
    rng = np.random.default_rng(8)
    wild = of_points(NAMES, GRID, [[v * 1.01, v] for v in np.exp(2 * rng.standard_normal(25))])
    one = evaluated(wild, "p n")
    assert one.outcome is Outcome.MISFIT
    assert "points scatter" in one.reasons[0]


def write(path: Path, measurement: PointsMeasurement) -> None:
    """Write JSON Lines of Extra-P's form."""
    rows = [
        {"params": dict(zip(NAMES, at)), "callpath": "f", "metric": "time", "value": row.value}
        for index, at in enumerate(measurement.points.tolist())
        for row in measurement.rows.at(index + 1)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_forms_of_two_parameters_are_read_alike(tmp_path: Path) -> None:
    cost = measured(lambda p, n: p * n, 1)
    write(tmp_path / "f.jsonl", cost)
    blocks = "".join(f" ( {p:g} , {n:g} )" for p, n in GRID)
    data = [
        "DATA " + " ".join(repr(r.value) for r in cost.rows.at(i + 1)) for i in range(len(GRID))
    ]
    head = f"PARAMETER p\nPARAMETER n\nPOINTS{blocks}\nREGION f\nMETRIC time\n"
    (tmp_path / "f.txt").write_text(head + "\n".join(data), encoding="utf-8")
    listed = [
        {"point": list(at), "values": [r.value for r in cost.rows.at(i + 1)]}
        for i, at in enumerate(GRID)
    ]
    whole = {"parameters": ["p", "n"], "measurements": {"f": {"time": listed}}}
    (tmp_path / "f.json").write_text(json.dumps(whole), encoding="utf-8")
    asked = growth("p n")
    found = []
    for name in ("f.jsonl", "f.txt", "f.json"):
        (one,) = read_any([tmp_path / name])
        assert isinstance(one, PointsMeasurement)
        model = engine.fit(one, asked)
        found.append(model.by_growth[Sum((Product(Term.of(1), Term.of(1)),))])
        assert set(one.parameters) == set(NAMES)
        with pytest.raises(MeasurementError, match="only one can grow here"):
            read([tmp_path / name])
    assert found[0] == pytest.approx(found[1], abs=0.05)
    assert found[1] == found[2]


def test_a_parameter_that_never_changes_is_none(tmp_path: Path) -> None:
    rows = [{"params": {"p": 8, "n": n}, "callpath": "f", "value": n} for n in (1, 2, 4, 8, 16)]
    path = tmp_path / "f.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (one,) = read_any([path])
    assert isinstance(one, Measurement)
    assert one.parameter == "n"
    assert one.warnings == ("p is 8 everywhere",)


@pytest.mark.parametrize(
    ("points", "problem"),
    [
        ([(1.0, 1.0), (2.0, 2.0), (4.0, 4.0)], "no line of 3 values or more of p"),
        ([(1.0, 1.0), (2.0, 1.0), (4.0, 1.0), (1.0, 2.0)], "no line of 3 values or more of n"),
        ([(0.0, 1.0), (2.0, 1.0), (4.0, 1.0)], "sizes must be positive"),
        ([(p, n) for p in range(1, 34) for n in range(1, 33)], "1056 points; at most 1024"),
    ],
)
def test_points_that_show_nothing_are_refused(
    points: list[tuple[float, float]], problem: str
) -> None:
    with pytest.raises(MeasurementError, match=problem):
        of_points(NAMES, points, [[1.0]] * len(points))


TOML = """
[[expectation]]
function = "f"
growth = "{growth}"
"""


def checked(tmp_path: Path, text: str, *options: str) -> int:
    """Run a check of f.jsonl."""
    specification = tmp_path / "scaling.toml"
    specification.write_text(text, encoding="utf-8")
    return cli.main(
        ["check", "--file", str(specification), str(tmp_path / "f.jsonl"), "--no-record", *options]
    )


def test_a_check_in_two_parameters_writes_all_forms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "f.jsonl", measured(lambda p, n: 20 + n * np.log2(p) + 5 * p, 1))
    files = {form: tmp_path / f"out.{form}" for form in ("json", "junit", "sarif", "html")}
    options = [word for form, path in files.items() for word in (f"--{form}", str(path))]
    text = TOML.format(growth="n log p + p")
    assert checked(tmp_path, text, *options, "--svg", str(tmp_path / "plots")) == 0
    out = capsys.readouterr().out
    assert "O(n log p + p)" in out
    assert "holds" in out
    (entry,) = json.loads(files["json"].read_text())["expectations"]
    assert entry["parameter"] == "n, p"
    assert entry["target"] == [12800.0, 512.0]
    assert len(entry["sizes"]) == len(GRID)
    assert entry["verdict"] == "holds"
    svg = (tmp_path / "plots" / "f.svg").read_text()
    assert svg.count("<polygon") == len(P)
    assert "✓ holds" in svg
    assert "<svg" in files["html"].read_text()
    assert checked(tmp_path, TOML.format(growth="n^0.5 + p")) == 1
    said = capsys.readouterr().out
    assert "grows faster than O(" in said


def test_wrong_uses_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "f.jsonl", measured(lambda p, n: p * n, 1))
    cases = (
        (TOML.format(growth="k n"), "is in `k`, but what was measured is in n and p"),
        (TOML.format(growth="p n") + 'within = "1/p"\n', "shrinks"),
        ('engine = "paper"\n' + TOML.format(growth="p"), "is for one parameter"),
        ('[[rule]]\nrule = "f <= f"\n', "a rule compares functions in one parameter"),
    )
    for text, problem in cases:
        assert checked(tmp_path, text) == cli.USAGE
        assert problem in capsys.readouterr().err
    png = str(tmp_path / "pictures")
    assert checked(tmp_path, TOML.format(growth="p n"), "--png", png) == cli.USAGE
    assert "draw it with --svg" in capsys.readouterr().err


def test_growth_in_two_parameters_is_recorded(tmp_path: Path) -> None:
    write(tmp_path / "f.jsonl", measured(lambda p, n: 20 + p * n, 1))
    (tmp_path / "scaling.toml").write_text('[[expectation]]\nfunction = "f"\n', encoding="utf-8")
    words = ["check", "--file", str(tmp_path / "scaling.toml"), str(tmp_path / "f.jsonl")]
    assert cli.main(words) == 0
    recorded = json.loads((tmp_path / "scaling.recorded.json").read_text())
    assert recorded["growth"] == {"f": "O(n p)"}
    write(tmp_path / "f.jsonl", measured(lambda p, n: 20 + p * n**2, 1))
    assert cli.main(words) == 1
