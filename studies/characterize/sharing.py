"""How two flows share links: the rates of three models of congestion, without a simulator.

A flow is the links that it crosses, the sender's own first. *Max-min* raises all rates together
until a link is full, and goes on with the flows that it leaves free. *Weighted* raises each rate by
the inverse of the flow's weight: SimGrid's weight is the sum over links of latency, and of a
constant over bandwidth, so that a flow over fewer links gets more. *Through first* is what
BlueGene/P does: a sender sees only that its own link is busy, and sends there what flows that pass
through leave it; to those the link is never busy.
"""

from __future__ import annotations

from collections.abc import Sequence

Route = Sequence[str]


def weighted(routes: Sequence[Route], capacity: float, weights: Sequence[float]) -> list[float]:
    """Return rates that are raised together, each by the inverse of its weight."""
    rates = [0.0] * len(routes)
    rising = set(range(len(routes)))
    left = {link: capacity for route in routes for link in route}
    while rising:
        pull = {link: sum(1 / weights[at] for at in rising if link in routes[at]) for link in left}
        step, full = min((left[link] / pull[link], link) for link in left if pull[link])
        for at in rising:
            rates[at] += step / weights[at]
        for link in left:
            left[link] -= step * pull[link]
        rising -= {at for at in rising if full in routes[at]}
    return rates


def max_min(routes: Sequence[Route], capacity: float) -> list[float]:
    """Return rates that are raised together, all alike."""
    return weighted(routes, capacity, [1.0] * len(routes))


def through_first(routes: Sequence[Route], capacity: float) -> list[float]:
    """Return rates of flows on whose first link those that pass through it come first."""
    rates = [capacity] * len(routes)
    for _ in routes:  # each pass settles those whose first link is passed by settled ones
        for at, (own, *_) in enumerate(routes):
            passing = sum(
                rate for rate, route in zip(rates, routes, strict=True) if own in route[1:]
            )
            beginning = sum(route[0] == own for route in routes)
            rates[at] = max(0.0, capacity - passing) / beginning
    return rates


OVERLAPS = {
    ("P0-P3", "P1-P2"): (("01", "12", "23"), ("12",)),
    ("P0-P2", "P1-P3"): (("01", "12"), ("12", "23")),
}
"""The paper's two pairs of flows, by the links between P0, P1, P2 and P3."""
