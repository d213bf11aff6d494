"""The dashboards have nothing that Grafana does not know, by the types that Grafana publishes.

Grafana itself is in no registry that these tests may use. What it reads of a dashboard is in its
schema, from which the types are made: a key that it does not know is lost in them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard
from grafana_foundation_sdk.models.prometheus import Dataquery

EXAMPLES = Path(__file__).parents[2] / "examples"
DASHBOARDS = ["grafana-dashboard.json", "prometheus/grafana-cluster.json"]


def _lost(read: object, known: object, place: str = "") -> Iterator[str]:
    """Yield the places of what was read and is not known, or is known as something else."""
    if isinstance(read, dict) and isinstance(known, dict):
        for key, value in read.items():
            if key in known:
                yield from _lost(value, known[key], f"{place}/{key}")
            else:
                yield f"{place}/{key}"
    elif isinstance(read, list) and isinstance(known, list) and len(read) == len(known):
        for at, (value, other) in enumerate(zip(read, known, strict=True)):
            yield from _lost(value, other, f"{place}/{at}")
    elif read != known:
        yield place


def _encoded(thing: object) -> object:
    return json.loads(JSONEncoder(sort_keys=True).encode(thing))


def _unknown(dashboard: dict[str, Any]) -> list[str]:
    found = list(_lost(dashboard, _encoded(Dashboard.from_json(dashboard))))
    # Queries are those of a data source, of which the dashboard's own types know nothing.
    for at, panel in enumerate(dashboard["panels"]):
        for query in panel.get("targets", []):
            found += _lost(query, _encoded(Dataquery.from_json(query)), f"/panels/{at}/targets")
    return found


@pytest.mark.parametrize("name", DASHBOARDS)
def test_grafana_knows_all_of_a_dashboard(name: str) -> None:
    """Each key of it, and of its queries, is one of Grafana's schema."""
    dashboard = json.loads((EXAMPLES / name).read_text())
    assert _unknown(dashboard) == []
    dashboard["panels"][0]["frobnicate"] = 1
    dashboard["panels"][1]["targets"][0]["expression"] = "up"
    assert _unknown(dashboard) == ["/panels/0/frobnicate", "/panels/1/targets/expression"]
