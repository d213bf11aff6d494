"""The paper's numbers beside those of the simulated torus; other models, other machines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import balaji
import points
import sharing
from drawing.csv_table import Table
from drawing.pages import markdown
from points import (
    LARGE,
    TORUS,
    TWO_NODES,
    WITHOUT_LAST,
    beside,
    chosen,
    farthest,
    kept,
    most,
    only,
    plain,
    rate,
    seconds,
)

GB_S = 8e-9
"""Gb/s in bytes a second."""
COLLECTIVES = ", collectives"
"""What the name of a machine ends with on which these alone are measured."""
HEAD = ["figure", "what", "the paper", "here", "as there?"]


def line(said: balaji.Said, here: str, verdict: str = "yes") -> list[str]:
    """Return a line of the table that puts numbers side by side."""
    return [said.figure, said.what, said.text, here, verdict]


def us(value_s: float) -> str:
    """Return a time in microseconds."""
    return f"{1e6 * value_s:.2f} µs"


def percent(ratio: float) -> str:
    """Return a change."""
    return f"{100 * (ratio - 1):+.0f} %"


def share(ratio: float) -> str:
    """Return a part of a whole."""
    return f"{100 * ratio:.0f} %"


def fold(ratio: float) -> str:
    """Return how many times as much."""
    return f"{ratio:.1f}-fold"


def judged(is_so: bool, otherwise: str) -> str:
    """Return whether a number is as in the paper."""
    return "yes" if is_so else otherwise


def alike(here: float, there: float) -> str:
    """Return whether a number is within a tenth of the paper's."""
    return judged(abs(here / there - 1) < 0.1, "no")


def gain_of_streams(own: Table, size: int) -> float:
    """Return the ratio of what four streams carry to what one does."""
    four, one = (
        only(own, test="streams", count=count, bytes=size).number("bytes_per_s") for count in (4, 1)
    )
    return four / one


def exponent(own: Table, size: int) -> float:
    """Return the power of the workers with which a hot spot's latency grows, at the end."""
    spots = own.where(test="hotspot", bytes=size)
    last = points.values(spots, "count")[-4:]
    pairs = ((row.number("count"), row.number("seconds")) for row in chosen(spots, "count", last))
    return points.slope(pairs, math.log)


def two_processes(table: Table, own: Table) -> list[list[str]]:
    """Return the lines of figures 2 to 4."""
    core = {"variant": "core 0 and core 1"}
    link, inside = rate(own, test="bandwidth"), rate(own, test="core-bandwidth", **core)
    far = farthest(table)
    grown = [
        seconds(far, count=131072, bytes=size) / seconds(far, count=TWO_NODES, bytes=size)
        for size in (0, 1024)
    ]
    near, away = points.values(own.where(test="hops-bandwidth"), "count")[
        :: len(points.values(own.where(test="hops-bandwidth"), "count")) - 1
    ]
    lost = rate(own, test="hops-bandwidth", count=away) / rate(
        own, test="hops-bandwidth", count=near
    )
    through = [
        kept(own, "through", f"{flow}, with flow-through", f"{flow}, alone")
        for flow in ("inside the node", "another link")
    ]
    near_s = seconds(own, test="latency", bytes=0)
    inside_s = seconds(own, test="core-latency", bytes=0, **core)
    return [
        line(balaji.NEIGHBOUR_US, us(near_s), alike(near_s, 2.8e-6)),
        line(balaji.LINK, f"{GB_S * link:.2f} Gb/s", alike(GB_S * link, 3)),
        line(balaji.INSIDE_US, us(inside_s), alike(inside_s, 2.8e-6)),
        line(balaji.INSIDE, fold(inside / link), alike(inside / link, 6)),
        line(balaji.FARTHEST, percent(grown[0]), alike(grown[0], 2)),
        line(balaji.FARTHEST_1K, percent(grown[1]), alike(grown[1], 1.4)),
        line(balaji.HOPS, f"{100 * (1 - lost):.1f} % lost", judged(lost > 0.97, "no")),
        line(balaji.THROUGH, f"{share(through[0])} kept", judged(through[0] > 0.97, "no")),
        line(balaji.THROUGH_LINK, f"{share(through[1])} kept", judged(through[1] > 0.97, "no")),
    ]


def throttled(kept_first: float, kept_second: float) -> str:
    """Return whether the second flow is the throttled one, as in the paper."""
    if alike(kept_first, kept_second) == "yes":
        return "no: both alike"
    return judged(kept_first > kept_second, "the reverse")


def several(table: Table, own: Table) -> list[list[str]]:
    """Return the lines of figures 5 to 7."""
    gains = [f"{fold(gain_of_streams(own, size))} ({size:,} B)" for size in (256, 1024)]
    sizes = points.values(table.where(test="hotspot"), "bytes")
    ends = (sizes[0], sizes[-1])
    spots = ", ".join(f"w^{exponent(table, size):.2f} ({size:,} B)" for size in ends)
    out, into = (8e-6 * most(own, test) for test in ("fan-out", "fan-in"))
    far, near = beside(own, "P0-P3", "P1-P2"), beside(own, "P1-P2", "P0-P3")
    first, second = beside(own, "P0-P2", "P1-P3"), beside(own, "P1-P3", "P0-P2")
    power = min(exponent(table, size) for size in ends)
    return [
        line(balaji.FAR_FLOW, share(far), throttled(far, near)),
        line(balaji.NEAR_FLOW, share(near), throttled(far, near)),
        line(balaji.FIRST_FLOW, share(first), throttled(first, second)),
        line(balaji.SECOND_FLOW, share(second), throttled(first, second)),
        line(balaji.STREAMS, ", ".join(gains)),
        line(balaji.HOTSPOT, spots, judged(power > 0.9, "no: less")),
        line(balaji.FAN_OUT, f"{out:,.0f} Mb/s", alike(out, 18_000)),
        line(balaji.FAN_IN, f"{into:,.0f} Mb/s", judged(into < 0.8 * out, "no: as fan-out")),
    ]


def of_point_to_point(table: Table) -> dict[str, str]:
    """Return the table of figures 2 to 7."""
    own = table.where(machine=TORUS)
    return {"point-to-point": markdown(HEAD, [*two_processes(table, own), *several(table, own)])}


def ten_fold(ratio: float) -> str:
    """Return whether a ratio is close to ten."""
    return judged(7 < ratio < 13, "less" if ratio < 10 else "no: more")


def of_collectives(table: Table) -> dict[str, str]:
    """Return the table of figures 8 to 11, of the largest machine."""
    own = points.largest(table)

    def against_world(test: str, size: int, other: str = WITHOUT_LAST) -> float:
        one, world = (
            seconds(own, test=test, bytes=size, variant=variant) for variant in (other, "WORLD")
        )
        return one / world

    def four_of_one(test: str, size: int) -> float:
        four, one = (
            seconds(own, test=f"parallel-{test}", bytes=size, count=count) for count in (4, 1)
        )
        return four / one

    duplicate = against_world("barrier", 0, "duplicate of WORLD")
    without = against_world("barrier", 0)
    small, large = (against_world("bcast", size) for size in (4, 16384))
    ratios = [
        four_of_one(*one)
        for one in (("barrier", 0), ("bcast", 4), ("bcast", 16384), ("allreduce", 16384),
                    ("allgather", 4))
    ]  # fmt: skip
    barrier, four, sixteen, allreduce, allgather = (percent(ratio) for ratio in ratios)
    rows = [
        line(balaji.WORLD, percent(duplicate), alike(duplicate, 1)),
        line(balaji.BARRIER, fold(without), judged(without > 2, "no")),
        line(balaji.BARRIERS, barrier, judged(ratios[0] < 0.9, "no: not less")),
        line(
            balaji.BCAST,
            f"{fold(small)} (4 B), {fold(large)} (16 KiB)",
            judged(ten_fold(small) == "yes", ten_fold(large) + " at 16 KiB"),
        ),
        line(balaji.BCASTS_4, four, judged(ratios[1] < 0.9, "no: not less")),
        line(balaji.BCASTS_16K, sixteen, judged(ratios[2] > 1.5, "less")),
        line(balaji.ALLREDUCES, allreduce, judged(ratios[3] < 1.1, "no: more")),
        line(balaji.ALLGATHERS, allgather, judged(ratios[4] > 1.1, "no")),
    ]
    return {"collectives": markdown(HEAD, rows)}


def of_halo(table: Table) -> dict[str, str]:
    """Return the tables of figure 12: the paper's orders, and the best and worst of all."""
    heads = ["ranks", "N", *balaji.ORDERS, "Hilbert", "worst / best of the four", "of all orders"]
    rows = []
    for ranks in points.values(table, "ranks"):
        own = plain(table, ranks)
        for side in points.values(own, "count"):
            at = own.where(count=side)
            four = [seconds(at, variant=order) for order in balaji.ORDERS]
            every = at.numbers("seconds")
            cells = [us(value) for value in (*four, seconds(at, variant="Hilbert"))]
            ratios = [fold(max(times) / min(times)) for times in (four, every)]
            rows.append([f"{ranks:,}", str(side), *cells, *ratios])
    return {"halo": markdown(heads, rows)}


def of_models(table: Table) -> dict[str, str]:
    """Return what each model makes of two flows, of fans and of a node's engine."""
    pairs = [("P0-P3", "P1-P2"), ("P1-P2", "P0-P3"), ("P0-P2", "P1-P3"), ("P1-P3", "P0-P2")]
    heads = ["model", *(f"{one} beside {other}" for one, other in pairs), "link, Gb/s",
             "inside a node", "fan-out, Gb/s", "fan-in, Gb/s"]  # fmt: skip
    rows = []
    for (machine,) in table.distinct("machine"):
        own = table.where(machine=machine)
        link, inside = rate(own, test="bandwidth"), rate(own, test="core-bandwidth")
        fans = [GB_S * most(own, test) for test in ("fan-out", "fan-in")]
        rows.append(
            [machine, *(share(beside(own, *pair)) for pair in pairs), f"{GB_S * link:.2f}",
             fold(inside / link), *(f"{fan:.1f}" for fan in fans)]
        )  # fmt: skip
    return {"models": markdown(heads, rows), "sharing": of_sharing()}


def of_sharing() -> str:
    """Return the rates of models without a simulator, while both flows last."""
    heads = ["model", *(f"{flow} beside {other}" for pair in sharing.OVERLAPS
                        for flow, other in (pair, pair[::-1]))]  # fmt: skip
    models: dict[str, Callable[[Sequence[sharing.Route]], list[float]]] = {
        "max-min": lambda routes: sharing.max_min(routes, 1.0),
        "weighted by links, as SimGrid": lambda routes: sharing.weighted(
            routes, 1.0, [float(len(route)) for route in routes]
        ),
        "through traffic first": lambda routes: sharing.through_first(routes, 1.0),
    }
    rows = [
        [name, *(share(one) for routes in sharing.OVERLAPS.values() for one in model(routes))]
        for name, model in models.items()
    ]
    return markdown(heads, rows)


def of_others(table: Table) -> dict[str, str]:
    """Return the numbers of the fat tree and of the dragonfly."""
    all_machines = [machine for (machine,) in table.distinct("machine")]
    machines = [machine for machine in all_machines if not machine.endswith(COLLECTIVES)]
    columns = []
    for machine in machines:
        own, together = (table.where(machine=name) for name in (machine, machine + COLLECTIVES))
        core = {"variant": "core 0 and core 1"}
        link = rate(own, test="bandwidth")
        inside = rate(own, test="core-bandwidth", **core)
        fans = [GB_S * most(own, test) for test in ("fan-out", "fan-in")]
        world = seconds(together, test="bcast", bytes=4, variant="WORLD")
        split = seconds(together, test="bcast", bytes=4, variant=WITHOUT_LAST)
        four, one = (
            seconds(together, test="parallel-bcast", bytes=16384, count=count) for count in (4, 1)
        )
        halos = plain(own, points.values(own, "ranks")[-1])
        times = halos.where(count=points.values(halos, "count")[-1]).numbers("seconds")
        columns.append([
            us(seconds(own, test="latency", bytes=0)),
            f"{GB_S * link:.1f} Gb/s",
            fold(inside / link),
            share(beside(own, "P0-P3", "P1-P2")),
            share(beside(own, "P1-P2", "P0-P3")),
            f"w^{exponent(own, 1):.2f}, w^{exponent(own, LARGE):.2f}",
            f"{fans[0]:.1f}, {fans[1]:.1f} Gb/s",
            fold(split / world),
            percent(four / one),
            fold(max(times) / min(times)),
        ])  # fmt: skip
    names = [
        "latency to the next node",
        "bandwidth to it",
        "bandwidth inside a node, of that",
        "P0-P3 beside P1-P2 keeps",
        "P1-P2 beside P0-P3 keeps",
        "hot spot, 1 B and 1 MiB",
        "fan-out, fan-in",
        "broadcast without the last rank, of WORLD",
        "broadcasts of 16 KiB: four at once, of one",
        "HALO of N = 1,024: worst order, of the best",
    ]
    heads = ["what", *machines]
    return {"others": markdown(heads, list(zip(names, *columns, strict=True)))}
