"""The default engine: Bayesian model averaging over growth terms by marginal likelihood.

Every candidate growth, with and without a constant or a lower term beside it, is weighed by how
probable it makes the measurements, integrated over everything unknown: coefficients (all positive)
and the noise, which is relative and may exceed the scatter of repetitions. There is no threshold
and no penalty to tune: a candidate that can fit anything has its prior spread thin and is weighed
down by that.

`summary` reduces the measurements, `noise` is the likelihood of residuals, `candidates` the terms,
`linear` fits them roughly, `pairs` chooses sums of two, `forms` adds those with negative
coefficients where counts are exact, `search` finds free exponents, `evidence` has the integrals,
`averaging` what is computed from them, `posterior` the answers, `tails` the bounds of intervals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tidings.scaling.engines.bayes import cliff, forms, free, pairs, search, steps, tails
from tidings.scaling.engines.bayes.candidates import Candidates, candidates
from tidings.scaling.engines.bayes.cliff import Cliff
from tidings.scaling.engines.bayes.evidence import Problem, Rows
from tidings.scaling.engines.bayes.forms import Forms
from tidings.scaling.engines.bayes.linear import Linear
from tidings.scaling.engines.bayes.noise import noise_of
from tidings.scaling.engines.bayes.posterior import Points, Posterior
from tidings.scaling.engines.bayes.search import Found
from tidings.scaling.engines.bayes.steps import Steps
from tidings.scaling.engines.bayes.summary import Summary, summarize
from tidings.scaling.measurement import Measurement
from tidings.scaling.terms import Term

Floats = NDArray[np.float64]

_ALONE_SHARE = 0.2
_CONSTANT_NODES = np.array([-1.7, 0.0, 1.7])
_CONSTANT_GAPS = np.gradient(_CONSTANT_NODES)
_WIDEST_CONSTANT = 2.0
_FAMILIES = np.repeat([0, 1], free.NODES)
"""The families of the exponents around a free one."""
_FARTHEST_CONSTANT = 6.0
_NEGLIGIBLE = 1e-6
_SMOOTH = 0.5
"""Where more noise than the repetitions show is less likely than this, no cliff is searched for."""


@dataclass(frozen=True)
class BayesModel:
    """A posterior over growth, and the summary it is computed from.

    `wider_noise` is the probability that sizes scatter more than their repetitions.
    """

    posterior: Posterior
    summary: Summary
    wider_noise: float
    again: _Again

    @cached_property
    def cliff(self) -> Cliff | None:
        """The likeliest jump, likely or not, looked for when it is first asked for."""
        return self.again.cliff() if self.wider_noise > _SMOOTH else None

    @cached_property
    def steps(self) -> Steps | None:
        """Growth beside steps, weighed when it is first asked for; None with too few sizes."""
        return self.again.beside_steps(self.posterior)

    @property
    def growth(self) -> Term:
        """The growth that the data favour, G."""
        return self.posterior.growth

    def form(self, variable: str = "x") -> str:
        """Return the form of exact counts, such as ``0.5 n^2 - 0.5 n``; empty if they have none."""
        posterior, summary = self.posterior, self.summary
        if posterior.points.residual.min() > forms.EXACT:
            return ""
        scale = math.exp(posterior.reference)
        best = int(posterior.shares.argmax())
        if best >= posterior.first_form and posterior.forms:
            return posterior.forms.text(best - posterior.first_form, scale, variable)
        exponents = posterior.rows.terms_of(best)
        found = forms.plain(summary.sizes, summary.logs, exponents)
        return (
            forms.written(exponents, scale * found[0], scale * found[1], variable) if found else ""
        )

    def likely(self, variable: str, count: int = 5) -> dict[str, float]:
        """Return the likeliest growths as text, with their probabilities."""
        listed = list(self.posterior.by_term().items())[:count]
        return {term.big_o(variable): share for term, share in listed}

    def probability(self, expected: Term, lower: Term | None, upper: Term) -> float:
        """Return the probability that growth keeps the limits; `lower` None: no lower limit."""
        return self.posterior.holds(expected, lower, upper)

    def predict(self, sizes: Floats) -> Floats:
        """Return the median of the expected value at each size, in the metric's unit."""
        return np.array([self.interval(float(size), 0.0)[0] for size in np.atleast_1d(sizes)])

    def interval(self, size: float, level: float = 0.95) -> tuple[float, float]:
        """Return the interval that holds the expected value at a size with this probability."""
        low, high = self.log_interval(size, level)
        return (_exp(low), _exp(high))

    def log_interval(self, size: float, level: float = 0.95) -> tuple[float, float]:
        """Return ln of the interval, which may be beyond what a float holds."""
        tail = (1 - level) ** self._tail_exponent / 2
        low, high = self.posterior.quantiles(size, np.array([tail, 1 - tail]))
        return (float(low), float(high))

    @cached_property
    def _tail_exponent(self) -> float:
        return tails.exponent(self.posterior)


def _exp(value: float) -> float:
    return math.exp(value) if value < 709 else math.inf


@dataclass(frozen=True)
class BayesEngine:
    """Fits all candidates; an expectation, if there is one, is among them."""

    def fit(self, measurement: Measurement, expected: Term | None = None) -> BayesModel:
        """Return the posterior of a measurement."""
        summary = summarize(measurement)
        noise = noise_of(summary, measurement.apart)
        problem = Problem(summary.sizes, summary.logs, noise)
        listed = candidates(summary.sizes, expected)
        weighed = _Weighed(problem, listed)
        squares = min(weighed.mixed_integral.least, weighed.alone_integral.least)
        if _is_precise(summary) and squares > len(summary.sizes) * forms.EXACT**2:
            weighed.forms = forms.find(problem, listed.terms, expected)
            squares = min(squares, weighed.form_squares)
        wider = noise.wider(squares)
        posterior = weighed.posterior(summary.reference)
        again = _Again(problem, listed, weighed, measurement.apart > 0)
        return BayesModel(posterior, summary, wider, again)


@dataclass(frozen=True)
class _Again:
    """What the candidates are weighed on, and how they are, for steps and cliffs.

    `is_timed`: a step may be before the last size, too.
    """

    problem: Problem
    listed: Candidates
    weighed: _Weighed
    is_timed: bool

    def cliff(self) -> Cliff | None:
        prior = np.log(self.listed.weights)
        return cliff.find(self.problem, self.listed.exponents, prior, self.weighed.total)

    def beside_steps(self, smooth: Posterior) -> Steps | None:
        def weigh(problem: Problem) -> Posterior:
            return _Weighed(problem, self.listed).posterior(smooth.reference)

        above = 1 if self.is_timed else 2
        return steps.weighed(self.problem, smooth, self.listed.exponents, weigh, above)


def _is_precise(summary: Summary) -> bool:
    """Whether the repetitions, if there are any, would show the trace of a subtracted term."""
    return summary.variance <= forms.LARGEST_SD**2 * float(summary.counts.mean())


class _Weighed:
    """All rows with their integrals, first those with a constant or lower term, then forms."""

    forms: Forms | None = None

    def __init__(self, problem: Problem, listed: Candidates) -> None:
        self.problem = problem
        linear = Linear(problem, listed.exponents)
        chosen, begins = pairs.chosen(problem, listed, linear)
        self.chosen = chosen
        starts, shares = free.starts(linear, listed.families)
        searched = _searched(problem, chosen, starts, shares, begins)
        power, width = free.straight(problem)
        free_exponents, free_weights = free.rows(
            np.array([searched.q[:2] + starts[:, 0], power]), np.array([searched.width[:2], width])
        )
        constants, constant_weights = _pair_constants(searched.q[2:], searched.width[2:], chosen)
        pair_count, count = len(chosen.leads), len(_CONSTANT_NODES)
        leads = np.concatenate([chosen.leads, chosen.leads.repeat(count)])
        lowers = np.concatenate([chosen.lowers, chosen.lowers.repeat(count)])
        exponents = listed.exponents
        self.mixed = Rows.listed(
            np.concatenate([listed.growing, free_exponents[0], exponents.take(leads, axis=0)]),
            exponents.take(lowers, axis=0),
            np.concatenate([np.full(pair_count, -np.inf), constants]),
        )
        self.alone = Rows.listed(np.concatenate([exponents, free_exponents[1]]))
        beside = 1 - _ALONE_SHARE
        weights = np.concatenate(
            [
                beside * listed.growing_weights,
                beside * free_weights[0],
                _ALONE_SHARE * chosen.pair_weights,
                beside * constant_weights,
                np.where(listed.is_growing, listed.weights * _ALONE_SHARE, listed.weights),
                free_weights[1] * _ALONE_SHARE,
            ]
        )
        self.log_prior = np.log(weights / weights.sum())
        terms = len(listed.terms)
        families = terms + _FAMILIES
        self.group = np.concatenate([listed.grows, families, leads, np.arange(terms), families])
        self.mixed_integral = problem.integrate(self.mixed)
        self.alone_integral = problem.alone(self.alone.growing)

    @property
    def form_squares(self) -> float:
        """The least squares that a form leaves."""
        return float(self.forms.squares.min()) if self.forms else math.inf

    @property
    def total(self) -> float:
        """Ln of the prior-weighted evidence of all rows."""
        evidence, prior = self._evidence
        return float(np.logaddexp.reduce(evidence + prior))

    @cached_property
    def _evidence(self) -> tuple[Floats, Floats]:
        """Log evidence and log prior of all rows, forms last: asked for once these are known."""
        evidence = [self.mixed_integral.log_evidence, self.alone_integral.log_evidence]
        if self.forms is None:
            return np.concatenate(evidence), self.log_prior
        prior = self.log_prior + math.log(1 - forms.PRIOR)
        return (
            np.concatenate([*evidence, self.forms.log_evidence]),
            np.append(prior, self.forms.log_prior),
        )

    def posterior(self, reference: float) -> Posterior:
        """Put all together."""
        evidence, prior = self._evidence
        rows, group = self.mixed.joined(self.alone), self.group
        if self.forms:
            group = np.append(group, self.forms.leads)
            lead = self.forms.exponents[:, 0]
            nothing = np.full(len(lead), -np.inf)
            rows = rows.joined(Rows.listed(lead, np.zeros_like(lead), nothing))
        return Posterior(
            rows,
            self.chosen.terms,
            self.chosen.exponents,
            group,
            evidence,
            prior,
            self._points,
            self.problem.middle,
            reference,
            self.forms,
        )

    def _points(self) -> Points:
        """Return every node of every row that has any weight."""
        mixed, alone = self.mixed_integral.nodes, self.alone_integral.nodes
        prior = self._evidence[1]
        count, known = len(self.mixed_integral.log_evidence), len(self.log_prior)
        row = np.concatenate([mixed.row, count + alone.row])
        logs = np.concatenate([mixed.log_weights, alone.log_weights]) + prior[row]
        nodes, levels, squares = (
            np.concatenate([getattr(mixed, part), getattr(alone, part)])
            for part in ("at", "levels", "squares")
        )
        coefficients = None
        if self.forms:
            form, coefficients, share = self.forms.points()
            own = self.forms.log_evidence + self.forms.log_prior
            logs = np.append(logs, own[form] + np.log(share))
            row = np.append(row, known + form)
            nothing = np.zeros(len(form))
            nodes, levels = np.append(nodes, nothing), np.append(levels, nothing)
            squares = np.append(squares, self.forms.squares[form])
        mass = np.exp(logs - logs.max())
        kept = np.flatnonzero(mass > _NEGLIGIBLE)
        if coefficients is not None:
            coefficients = coefficients[kept[kept >= len(logs) - len(coefficients)] - len(logs)]
        residual = self.problem.noise.variance(squares[kept])
        return Points(
            row[kept],
            nodes[kept],
            (row[kept] >= count) & (row[kept] < known),
            levels[kept],
            residual / self.problem.count_weight,
            residual,
            mass[kept] / mass[kept].sum(),
            coefficients,
        )


def _searched(
    problem: Problem, chosen: Candidates, starts: Floats, shares: Floats, begins: Floats
) -> Found:
    """Search the best free exponent of both families, then the best constant beside each pair.

    Searches begin at exponents with shares beside a constant, and at parts of pairs.
    """
    count, pair_count = len(starts), len(chosen.leads)
    rows = Rows.listed(
        np.concatenate([starts, chosen.lead_exponents]),
        chosen.lower_exponents,
        np.full(pair_count, -np.inf),
    )
    is_free = np.arange(count + pair_count) < count
    slope = np.log(problem.sizes / problem.middle)[None, :]
    first = np.concatenate([np.array([shares, np.zeros(count)]), begins], axis=1)
    return search.best(problem, rows, slope, is_free, first)


def _pair_constants(best: Floats, width: Floats, chosen: Candidates) -> tuple[Floats, Floats]:
    """Return logarithms of constants around the best ones of pairs, and their prior weights."""
    width = np.minimum(width, _WIDEST_CONSTANT)[:, None]
    constants = np.minimum(np.maximum(best, -_FARTHEST_CONSTANT), _FARTHEST_CONSTANT)[:, None]
    constants = constants + width * _CONSTANT_NODES
    half = np.exp(-np.abs(constants) / 2)
    density = half / (2 * (1 + half) ** 2)
    weights = chosen.pair_weights[:, None] * density * width * _CONSTANT_GAPS
    return constants.ravel(), weights.ravel()
