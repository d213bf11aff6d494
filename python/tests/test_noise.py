"""Noise: samples are read as the command writes them, and a planted period is found and named."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tidings.noise.__main__ import main
from tidings.noise.samples import Measured, NoiseError, read_gaps, read_quanta
from tidings.noise.spectrum import spectrum

SCHEMA = Path(__file__).parents[2] / "docs" / "reference" / "noise.schema.json"


def head(contents: int) -> bytes:
    """Return the head of a file of samples."""
    return struct.pack("<8sIIII8x", b"tdgnoise", 1, contents, 0, 32)


def lay(folder: Path, method: str = "ftq", seconds: int = 4) -> Path:
    """Lay a result whose quanta of 1 ms lose 18 µs to a tick of 250 Hz, and its gaps."""
    folder.mkdir()
    quanta, gaps = head(1), head(2)
    for place in range(1_000 * seconds):
        lost = 18_000 if place % 4 == 0 else 0
        length = 1_000_000 if method != "fwq" else 1_000_000 + lost
        quanta += struct.pack("<4Q", place * 1_000_000, length, (1_000_000 - lost) // 100, lost)
        if lost:
            gaps += struct.pack("<4Q", place * 1_000_000, lost, lost, 0)
    (folder / "core-0.quanta").write_bytes(quanta)
    (folder / "core-0.gaps").write_bytes(gaps)
    probe = {
        "core": 0,
        "measured_s": float(seconds),
        "histogram": [{"from_ns": 16_384, "below_ns": 18_432, "count": 250 * seconds}],
        "files": ["core-0.quanta", "core-0.gaps"],
    }
    result = {
        "schema": "tidings-lab-noise-1",
        "method": method,
        "quantum_us": 1_000.0,
        "pinned": True,
        "probes": [probe],
    }
    (folder / "noise.json").write_text(json.dumps(result))
    return folder


def test_a_planted_tick_of_250_hz_is_found_and_named() -> None:
    random = np.random.default_rng(7)
    lost = random.exponential(500, 8_000)
    lost[::4] += 18_000
    found = spectrum(lost, 1e-3)
    assert abs(found.peaks[0].hz - 250) < 1
    assert found.peaks[0].name == "tick of 250 Hz"


def test_a_server_of_one_hz_is_found_with_its_multiples() -> None:
    random = np.random.default_rng(8)
    lost = random.exponential(500, 40_000)
    for second in range(40):
        lost[second * 1_000 : second * 1_000 + 50] += 1_000_000
    names = {peak.name for peak in spectrum(lost, 1e-3).peaks}
    assert "fair server or a timer of a second" in names
    assert any("times " in name for name in names), names


def test_noise_without_a_period_has_no_peak_and_few_samples_no_spectrum() -> None:
    random = np.random.default_rng(9)
    assert spectrum(random.exponential(500, 8_000), 1e-3).peaks == ()
    assert spectrum(np.zeros(8_000), 1e-3).peaks == ()
    with pytest.raises(NoiseError, match="too few"):
        spectrum(np.zeros(10), 1e-3)


def test_samples_are_read_and_a_file_that_was_cut_off_up_to_its_last_record(tmp_path: Path) -> None:
    folder = lay(tmp_path / "stock")
    assert len(read_quanta(folder / "core-0.quanta")) == 4_000
    gaps = read_gaps(folder / "core-0.gaps")
    assert (len(gaps), int(gaps["lost_ns"][3])) == (1_000, 18_000)
    data = (folder / "core-0.gaps").read_bytes()
    (folder / "cut").write_bytes(data[:-5])
    assert len(read_gaps(folder / "cut")) == 999


@pytest.mark.parametrize("data", [b"", b"tdgnoise", b"x" * 64, head(1)])
def test_what_are_no_gaps_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(NoiseError, match="file: "):
        read_gaps(tmp_path / "file")
    with pytest.raises(NoiseError, match=r"noise\.json"):
        Measured.read(tmp_path)


def test_figures_have_a_line_for_each_setting_and_the_peaks_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [str(lay(tmp_path / name)) for name in ("stock", "pinned")]
    assert main([*folders, "--output", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "stock: 250 Hz: tick of 250 Hz" in said
    names = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert names == ["gaps.svg", "quanta.svg", "spectrum.svg"]
    for name in names:
        text = (tmp_path / "out" / name).read_text(encoding="utf-8")
        ElementTree.fromstring(text)
        assert text.count("#0072b2") >= 1, name
        assert text.count("#d55e00") >= 1, name
        assert not re.search(r"dc:date", text)
    assert main([*folders, "--output", str(tmp_path / "again"), "--json"]) == 0
    peaks = json.loads(capsys.readouterr().out)
    assert peaks["pinned"][0]["name"] == "tick of 250 Hz"
    for name in names:
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_fixed_work_has_no_spectrum_and_methods_do_not_mix(tmp_path: Path) -> None:
    work = lay(tmp_path / "work", "fwq")
    assert main([str(work)]) == 0
    assert not (work / "spectrum.svg").exists()
    assert main([str(work), str(lay(tmp_path / "time"))]) == 2


def test_a_folder_without_a_result_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tidings.noise", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "noise.json" in done.stderr


def holds(value: object, schema: dict[str, Any], place: str = "noise.json") -> None:
    """Hold a value against the part of JSON Schema that the page uses."""
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    is_kind = {
        "null": value is None,
        "boolean": isinstance(value, bool),
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "string": isinstance(value, str),
        "array": isinstance(value, list),
        "object": isinstance(value, dict),
    }
    assert not kinds or any(is_kind[kind] for kind in kinds), f"{place}: {value!r} is no {kinds}"
    if "const" in schema:
        assert value == schema["const"], place
    if "enum" in schema:
        assert value in schema["enum"], place
    if isinstance(value, dict) and "properties" in schema:
        assert set(value) == set(schema["properties"]) == set(schema["required"]), place
        for key, inner in value.items():
            holds(inner, schema["properties"][key], f"{place}.{key}")
    if isinstance(value, dict) and isinstance(schema.get("additionalProperties"), dict):
        for key, inner in value.items():
            holds(inner, schema["additionalProperties"], f"{place}.{key}")
    if isinstance(value, list) and "items" in schema:
        for at, inner in enumerate(value):
            holds(inner, schema["items"], f"{place}[{at}]")


def test_the_golden_result_keeps_to_its_schema() -> None:
    golden = Path(__file__).parents[2] / "crates" / "noise" / "tests" / "golden.json"
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    holds(json.loads(golden.read_text(encoding="utf-8")), schema)
