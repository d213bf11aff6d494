"""The example mcphoton in Python: known slabs, and the digest of the program in C."""

from __future__ import annotations

import importlib
import math
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import tidings.tasks as tt

EXAMPLE = Path(__file__).parents[3] / "examples" / "mcphoton"

# tests/tasks/mcphoton.rs has the same of the program in C: 50,000 photons, t = 1, a = 1, straight.
DIGEST = "1c9ce2cef71057fa"


@pytest.fixture(scope="module")
def mcphoton() -> Iterator[ModuleType]:
    # Processes that call functions look for modules where this one does.
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLE)
        yield importlib.import_module("mcphoton")


def test_random_numbers_are_those_of_the_paper(mcphoton: ModuleType) -> None:
    """The known answers that come with Random123 (kat_vectors)."""
    np = mcphoton.np
    for counter, key, answer in [
        ([0] * 4, 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        (
            [0xFFFFFFFF] * 4,
            0xFFFFFFFFFFFFFFFF,
            [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
        ),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            0x299F31D0A4093822,
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ]:
        words = [np.array([word], dtype=np.uint64) for word in counter]
        assert [int(word[0]) for word in mcphoton.philox(words, key)] == answer


def test_a_path_is_a_logarithm(mcphoton: ModuleType) -> None:
    words = [0, 1, 2**31 - 1, 2**31, 3_000_000_000, 2**32 - 1]
    paths = mcphoton.path(mcphoton.np.array(words, dtype=mcphoton.np.uint64))
    expected = [-math.log((word + 0.5) / 2**32) for word in words]
    assert paths == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("thickness", "albedo", "diffuse", "share"),
    [
        (0.5, 0.0, False, math.exp(-0.5)),
        (2.0, 0.0, False, math.exp(-2.0)),
        # Heaslet and Warming, Int. J. Heat Mass Transfer 8 (1965) 979-994.
        (0.5, 1.0, True, 0.7040),
        (1.0, 1.0, True, 0.5532),
        (2.0, 1.0, True, 0.3900),
    ],
)
def test_what_is_known_comes_out(
    mcphoton: ModuleType, thickness: float, albedo: float, diffuse: bool, share: float
) -> None:
    photons = 100_000
    counts = mcphoton.trace(mcphoton.Slab(thickness, albedo, diffuse), 0, photons)
    assert sum(counts) == photons
    # Five standard deviations; the seed is always the same.
    noise = 5 * math.sqrt(share * (1 - share) / photons)
    assert counts[mcphoton.TRANSMITTED] / photons == pytest.approx(share, abs=noise + 0.00005)


def test_batches_make_no_difference(mcphoton: ModuleType) -> None:
    slab = mcphoton.Slab(1.0, 0.5)
    whole = mcphoton.trace(slab, 0, 3_000)
    parts = [mcphoton.trace(slab, first, 1_000) for first in (2_000, 0, 1_000)]
    assert [sum(part[i] for part in parts) for i in range(len(whole))] == whole


def test_the_digest_is_that_of_c_also_when_a_process_is_killed(mcphoton: ModuleType) -> None:
    slab = mcphoton.Slab(1.0, 1.0)
    with tt.Executor(workers=2) as executor:
        process = executor.submit(os.getpid).result()
        os.kill(process, signal.SIGKILL)
        counts = mcphoton.run(executor, slab, 50_000, 2_000)
    assert mcphoton.digest(counts) == DIGEST


@pytest.mark.parametrize("batch", [50_000, 6_250, 5_600, 700])
def test_a_flow_has_the_digest_for_every_number_of_batches(
    mcphoton: ModuleType, batch: int
) -> None:
    """Of 1, 8, 9 and 72 places, some levels of the tree have places without a batch."""
    with tt.Executor(workers=2) as executor:
        counts = mcphoton.dataflow(executor, mcphoton.Slab(1.0, 1.0), 50_000, batch)
        assert mcphoton.digest(counts.get(0)) == DIGEST
