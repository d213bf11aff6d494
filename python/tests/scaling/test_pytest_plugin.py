"""The pytest plugin: one line per test, a table at the end, failure where growth is violated."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

EXAMPLE = """
def quadratic(n):
    total = 0
    for i in range(n):
        for j in range(n):
            total += 1
    return total


def test_true(scaling):
    evaluation = scaling(quadratic, n=[4, 8, 16, 32, 64]).expect("n^2", metric="bytecodes")
    assert evaluation.outcome.value == "holds"


def test_broken(scaling):
    scaling(quadratic, n=[4, 8, 16, 32, 64]).expect("n", metric="bytecodes")


def test_returned(scaling):
    scaling(quadratic, n=[4, 8, 16, 32, 64]).expect("n^2", metric="returned")


def test_few_sizes(scaling):
    scaling(quadratic, n=[4, 8, 16]).expect("n^2", metric="returned")


def test_memory(scaling):
    sizes = [2**k for k in range(10, 16)]
    scaling(lambda n: [0] * n, n=sizes).expect("n", metric="allocated")


def test_setup(scaling):
    scaling(len, setup=lambda n: "x" * n, n=[4, 8, 16, 32, 64]).expect("n", metric="returned")
"""


@pytest.fixture
def example(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Make a folder with the example, and the plugin known as an installation makes it."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makepyfile(EXAMPLE)
    return pytester


def test_one_line_per_test_and_a_table(example: pytest.Pytester) -> None:
    result = example.runpytest_subprocess("-p", "tidings.scaling.pytest_plugin", "-q")
    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*= scaling =*",
            "*expected O(n), at most O(n^1.5), found O(n) ✓*: holds",
            "len (returned): expected O(n), at most O(n^1.5), found O(n) ✓*: holds",
            "quadratic (bytecodes): expected O(n), at most O(n^1.5), found O(n^2) *: violated",
            "quadratic (bytecodes): expected O(n^2), at most O(n^3), found O(n^2) ✓*: holds",
            "quadratic (returned): expected O(n^2), at most O(n^3), found O(n^2) ✓*: holds",
            "quadratic (returned)*undecided; 3 sizes*measure n=*",
        ]
    )


def test_a_time_that_does_not_hold_advises_to_count(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makeconftest(
        """
        from tidings.scaling.counters import timing

        timing.Timing.value = lambda timer, size: 1e-6 * size**2
        """
    )
    pytester.makepyfile(
        """
        SIZES = [64, 128, 256, 512, 1024]

        def test_broken(scaling):
            scaling(len, n=SIZES).expect("n", within="n^0.25")

        def test_true(scaling):
            scaling(len, n=SIZES).expect("n^2")
        """
    )
    result = pytester.runpytest_subprocess("-p", "tidings.scaling.pytest_plugin")
    result.assert_outcomes(passed=1, failed=1)
    advice = "times depend on caches and neighbours: a count, metric instructions or bytecodes, *"
    result.stdout.fnmatch_lines([f"len (time): expected O(n), *: violated; *{advice}"])
    result.stdout.no_fnmatch_line(f"len (time): expected O(n^2), *{advice}")


def test_what_is_measured_is_expected_to_grow(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makepyfile(
        """
        import pytest

        def test_forgotten(scaling):
            scaling(len, n=[4, 8, 16, 32, 64])

        def test_failed_before(scaling):
            scaling(len, n=[4, 8, 16, 32, 64])
            assert False

        def test_skipped_before(scaling):
            scaling(len, n=[4, 8, 16, 32, 64])
            pytest.skip("not here")
        """
    )
    result = pytester.runpytest_subprocess("-p", "tidings.scaling.pytest_plugin")
    result.assert_outcomes(passed=1, errors=1, failed=1, skipped=1)
    result.stdout.fnmatch_lines(["*scaling(...) alone measures nothing: add .expect(...)"])


def test_undecided_fails_with_strict(example: pytest.Pytester) -> None:
    options = ("-p", "tidings.scaling.pytest_plugin", "--scaling-strict", "-k", "few")
    example.runpytest_subprocess(*options).assert_outcomes(failed=1, deselected=5)


@pytest.mark.parametrize("share", ["0", "7", "nan", "-1", "much"])
def test_an_impossible_share_of_alarms_is_rejected(example: pytest.Pytester, share: str) -> None:
    result = example.runpytest_subprocess(
        "-p", "tidings.scaling.pytest_plugin", "--scaling-alpha", share
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_wrong_use_is_an_error(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makepyfile(
        """
        def test_metric(scaling):
            scaling(abs, n=[1, 2, 3]).expect("n", metric="speed")

        def test_growth(scaling):
            scaling(abs, n=[1, 2, 3]).expect("n^^2")

        def test_parameters(scaling):
            scaling(abs, n=[1], m=[2], k=[3])

        def test_no_number(scaling):
            scaling(lambda n: "many", n=[1, 2, 3]).expect("n", metric="returned")
        """
    )
    result = pytester.runpytest_subprocess("-p", "tidings.scaling.pytest_plugin")
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["the function returned 'many', of type str:*return a number*"])
    result.stdout.no_fnmatch_line("*calls.py*")
    result.stdout.fnmatch_lines(["*it must be one of time*", "*an exponent is missing*"])
    result.stdout.no_fnmatch_line("*raise ExpectationError*")
    result.stdout.no_fnmatch_line("*During handling of the above exception*")


def test_what_a_first_call_alone_does_is_not_counted(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search of NetworkX was a misfit by its count: the first call imports."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makepyfile(
        """
        known = []

        def walks(n):
            if not known:
                known.append(sum(1 for _ in range(100_000)))
            return sum(1 for _ in range(n))

        def test_walks(scaling):
            scaling(walks, n=[64, 128, 256, 512, 1024]).expect("n", metric="bytecodes")
        """
    )
    result = pytester.runpytest_subprocess("-p", "tidings.scaling.pytest_plugin")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["walks (bytecodes): expected O(n), *found O(n) ✓*: holds"])


def test_theta_asks_for_both_sides(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makepyfile(
        """
        def test_slower(scaling):
            scaling(lambda n: 7, n=[4, 8, 16, 32, 64]).expect("Θ(n^2)", metric="returned")

        def test_upper(scaling):
            scaling(lambda n: n, n=[4, 8, 16, 32, 64]).expect("O(n^2)", metric="returned")
        """
    )
    result = pytester.runpytest_subprocess("-p", "tidings.scaling.pytest_plugin")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*expected O(n^2), O(n) to O(n^3), found O(1)*violated*"])


def test_two_parameters(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    pytester.makepyfile(
        """
        P, N = [2, 4, 8, 16, 32], [100, 200, 400, 800, 1600]

        def exchanged(p, n):
            return 50 + p * n

        def test_true(scaling):
            scaling(exchanged, p=P, n=N).expect("p n", metric="returned")

        def test_broken(scaling):
            scaling(exchanged, p=P, n=N, layout="cross").expect("p + n", metric="returned")

        def loops(pair):
            for _ in range(pair[0] * pair[1]):
                pass

        def test_counted_with_setup(scaling):
            small = [4, 8, 16, 32]
            checked = scaling(loops, setup=lambda p, n: (p, n), p=small, n=small)
            checked.expect("n p", metric="bytecodes")

        def test_names(scaling):
            scaling(exchanged, p=P, n=N).expect("k", metric="returned")

        def test_one_value(scaling):
            scaling(exchanged, p=P, n=[7]).expect("p n", metric="returned")

        def test_layout(scaling):
            scaling(exchanged, p=P, n=N, layout="star")
        """
    )
    result = pytester.runpytest_subprocess("-p", "tidings.scaling.pytest_plugin")
    result.assert_outcomes(passed=2, failed=4)
    result.stdout.fnmatch_lines(
        [
            "*O(k) is in `k`, but what was measured is in p and n*",
            "*n is 7 everywhere*",
            "*layout='star': it must be grid or cross*",
            "exchanged (returned): expected O(p + n), *found O(p n) *: violated",
            "exchanged (returned): expected O(p n), *found O(p n) ✓*: holds",
            "loops (bytecodes): expected O(p n), *found O(p n) ✓*: holds",
        ]
    )
