"""What `tidings doctor --json` prints is as its schema says."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import fastjsonschema  # type: ignore[import-untyped]
import pytest

ROOT = Path(__file__).resolve().parents[2]
TIDINGS = Path(os.environ.get("TIDINGS_BIN_DIR", ROOT / "target" / "debug")) / "tidings"


def test_a_report_is_as_the_schema_says() -> None:
    """Of a real machine, whatever works there; a remedy with what works is refused."""
    schema = (ROOT / "docs/reference/doctor.schema.json").read_text(encoding="utf-8")
    validate = fastjsonschema.compile(json.loads(schema))
    run = subprocess.run([TIDINGS, "doctor", "--json"], check=False, capture_output=True, text=True)
    report = json.loads(run.stdout)
    validate(report)
    lacking = report["degraded"] + report["not"]
    assert run.returncode == (1 if lacking else 0)
    assert report["works"] + lacking == len(report["findings"])
    report["findings"][0] |= {"verdict": "works", "remedy": "none is needed"}
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        validate(report)
