"""The tables of simulated slowdowns, from the rows that `tidings lab series` kept.

python studies/overhead-simulated/table.py ROWS.jsonl TABLE.csv [APPLICATION...]

A line for each run beside gossip, against the run of its application beside ranks that sleep.
APPLICATION: fft, fft-long, ptrans, proxy (the default), fft-without-bytes or fft-without-work.
"""

from __future__ import annotations

import sys
from pathlib import Path

from drawing.manifest import ManifestError, Table, first_line
from drawing.series import lines, wall_s

COLUMNS = (
    "application", "nodes", "elements", "interval_ms", "window_percent", "message_bytes", "seed",
    "idle_s", "seconds", "slowdown_percent", "mpi_share", "age_avg_units", "busy_share",
    "messages", "dropped", "partition_s", "idle_partition_s",
)  # fmt: skip


def line(idle: dict, row: dict) -> dict[str, object]:
    """Return a line of the table."""
    gossip = row["report"]
    partition = [run.get("phases", {}).get("partition", "") for run in (row, idle)]
    return {
        "application": row["program"].split("-")[0],
        "nodes": row["nodes"],
        "elements": row.get("elements", ""),
        "interval_ms": row["interval"],
        "window_percent": row["window"],
        "message_bytes": round(gossip["bytes_made"] / max(gossip["messages_sent"], 1)),
        "seed": row["seed"],
        "idle_s": idle["seconds"],
        "seconds": row["seconds"],
        "slowdown_percent": f"{100 * (row['seconds'] / idle['seconds'] - 1):.4f}",
        "mpi_share": row["mpi_share"],
        "age_avg_units": gossip["age_avg_units"],
        "busy_share": gossip["busy_share"],
        "messages": gossip["messages_sent"],
        "dropped": gossip["messages_dropped"],
        "partition_s": partition[0],
        "idle_partition_s": partition[1],
    }


def write(source: Path, file: Path, wanted: list[str]) -> None:
    """Write a table and its manifest."""
    rows = lines(source)
    idle = {row["program"].removesuffix("-idle"): row for row in rows if "report" not in row}
    chosen = [row for row in rows if row["program"] in wanted and "report" in row]
    against = [idle.get(row["program"]) or idle[row["program"].split("-")[0]] for row in chosen]
    seeds = sorted({row["seed"] for row in chosen})
    nodes = "" if rows[0]["nodes"] == 1024 else f"NODES={rows[0]['nodes']} "
    made = Table(
        file,
        command=f"{nodes}studies/overhead-simulated/run",
        seed=seeds if len(seeds) > 1 else seeds[0],
    )
    made.write_rows(
        COLUMNS,
        [list(line(*pair).values()) for pair in zip(against, chosen, strict=True)],
        added={"simgrid": first_line(["smpirun", "--version"])},
        wall_s=wall_s(source, against + chosen),
    )


def main() -> int:
    """Write what the command line asks for."""
    source, file, *wanted = sys.argv[1:]
    try:
        write(Path(source), Path(file), wanted or ["fft", "fft-long", "ptrans", "proxy"])
    except (OSError, ManifestError) as error:
        print(f"table.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
