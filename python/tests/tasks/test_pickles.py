"""Calls, results and exceptions as bytes."""

from __future__ import annotations

import functools
import importlib
import pickle
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidings.tasks import RemoteError, RemoteTraceback, failures, pickles


def again(value: object) -> Any:
    return pickles.loads(pickles.dumps(value))


def test_values_and_functions_come_back() -> None:
    assert again({"a": [1, b"2", None]}) == {"a": [1, b"2", None]}
    assert again(again) is again
    factor = 3
    assert again(lambda number: number * factor)(2) == 6


def test_what_the_main_program_defines_goes_by_value() -> None:
    """By name it would mean something else, or nothing, in another process."""
    main: dict[str, Any] = {"__name__": "__main__"}
    exec("class Point:\n    x = 3\n", main)
    data = pickles.dumps(main["Point"]())
    assert pickles.loads(data).x == 3
    assert data[:1] == b"V"


def test_a_call_by_name_needs_the_same_source(monkeypatch: pytest.MonkeyPatch) -> None:
    body = pickles.dump_call(again, (1,), {})
    assert pickles.load_call(body) == (again, (1,), {})
    monkeypatch.setitem(pickles._hashes, __name__, bytes(range(16)))
    with pytest.raises(pickle.UnpicklingError, match=r"the source of module .*test_pickles here"):
        pickles.load_call(body)


def test_a_function_of_many_calls_is_pickled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    dumped: list[object] = []
    dumps = pickles.dumps

    def noting(value: object) -> bytes:
        dumped.append(value)
        return dumps(value)

    monkeypatch.setattr(pickles, "dumps", noting)
    successor = lambda number: number + 1  # noqa: E731
    function = pickles.Function(successor)
    bodies = [pickles.dump_call(function, (n,), {"n": n}) for n in range(3)]
    assert dumped == [successor, *(((n,), {"n": n}) for n in range(3))]
    calls = [pickles.load_call(body) for body in bodies]
    assert [(args, kwargs) for _, args, kwargs in calls] == dumped[1:]
    assert calls[0][0](4) == 5
    assert calls[0][0] is calls[2][0], "it is read once"


def test_a_function_of_many_calls_needs_the_same_source(monkeypatch: pytest.MonkeyPatch) -> None:
    body = pickles.dump_call(pickles.Function(again), (1,), {})
    assert pickles.load_call(body) == (again, (1,), {})
    monkeypatch.setattr(pickles, "_functions", {})
    monkeypatch.setitem(pickles._hashes, __name__, bytes(range(16)))
    with pytest.raises(pickle.UnpicklingError, match=r"the source of module .*test_pickles here"):
        pickles.load_call(body)


def test_no_more_functions_are_kept_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickles, "_functions", {})
    functions = [functools.partial(pow, n) for n in range(pickles._MOST_FUNCTIONS + 3)]
    for n, function in enumerate(functions):
        body = pickles.dump_call(pickles.Function(function), (2,), {})
        read, args, _ = pickles.load_call(body)
        assert read(*args) == n**2
    assert 0 < len(pickles._functions) <= pickles._MOST_FUNCTIONS


def test_the_hash_is_that_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "versioned.py"
    file.write_text("def f():\n    return 1\n", encoding="utf-8")
    versioned = importlib.import_module("versioned")
    body = pickles.dump_call(versioned.f, (), {})
    file.write_text("def f():\n    return 2\n", encoding="utf-8")
    monkeypatch.delitem(pickles._hashes, "versioned")
    with pytest.raises(pickle.UnpicklingError, match="module versioned"):
        pickles.load_call(body)


def test_code_of_another_python_is_refused() -> None:
    data = bytearray(pickles.dumps(lambda: 1))
    data[2] += 1
    with pytest.raises(pickle.UnpicklingError, match="code of Python"):
        pickles.loads(bytes(data))


@pytest.mark.parametrize(
    ("call", "blamed"),
    [
        ((again, (1, threading.Lock()), {}), "argument 2 of .*:again .a lock. cannot be pickled"),
        ((again, (), {"value": threading.Lock()}), "argument value of .*:again"),
        ((threading.Lock().acquire, (), {}), "the function of "),
    ],
)
def test_what_cannot_be_pickled_is_named(
    call: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]], blamed: str
) -> None:
    with pytest.raises(pickle.PicklingError, match=blamed) as raised:
        pickles.dump_call(*call)
    assert "\n" not in str(raised.value)


def test_names_are_those_of_functions() -> None:
    assert pickles.name_of(again) == f"{__name__}:again"
    assert pickles.name_of(functools.partial(functools.partial(again), 1)) == f"{__name__}:again"
    assert pickles.name_of(pow) == "builtins:pow"


def raised_by(function: Callable[[], object]) -> BaseException:
    """Return what the result of a task would raise."""
    with pytest.raises(BaseException) as caught:  # noqa: PT011, whatever it raises
        function()
    text, detail = failures.text_of(caught.value), failures.detail_of(caught.value)
    assert len(text.encode()) <= 2_048
    assert len(detail) <= 8_192
    return failures.error_of([(1, "lost", "gone", "a", b""), (2, "error", text, "b", detail)])


def deep(level: int) -> None:
    if level == 0:
        raise KeyError("missing", level)
    deep(level - 1)


class OddError(Exception):
    """Cannot be made again from its arguments."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


def test_an_exception_comes_back_with_the_traceback_of_its_worker() -> None:
    error = raised_by(lambda: deep(3))
    assert isinstance(error, KeyError)
    assert error.args == ("missing", 0)
    cause = error.__cause__
    assert isinstance(cause, RemoteTraceback)
    assert (cause.host, cause.attempts) == ("b", 2)
    assert 'raise KeyError("missing", level)' in str(cause)
    assert str(cause).startswith("on host b, after 2 attempts:\nTraceback")


def test_a_long_traceback_loses_its_beginning() -> None:
    """The exception itself stays."""

    def long() -> None:
        text = "\n".join(f"x{n} = {n!r} * {n * 7919}" for n in range(400)) + "\n1 / 0\n"
        exec(compile(text, "long", "exec"), {})

    def nested() -> None:
        try:
            long()
        except ZeroDivisionError as error:
            raise ValueError("".join(chr(33 + n * 37 % 90) for n in range(900))) from error

    error = raised_by(nested)
    assert isinstance(error, (ValueError, RemoteError))
    assert "raise ValueError" in str(error.__cause__)


def test_an_exception_that_cannot_be_passed_on_is_a_remote_error() -> None:
    def odd() -> None:
        raise OddError(1, 2)

    error = raised_by(odd)
    assert isinstance(error, RemoteError)
    assert (error.cause, error.host, error.attempts) == ("error", "b", 2)
    assert "OddError: 1 and 2" in str(error)
    assert "raise OddError(1, 2)" in str(error.__cause__)


def test_other_causes_are_remote_errors() -> None:
    error = failures.error_of([(4, "signal", "killed by signal 9", "c", b"")])
    assert isinstance(error, RemoteError)
    assert str(error) == "signal on host c, attempt 4: killed by signal 9"
    assert error.__cause__ is None


@pytest.mark.parametrize("detail", [b"", b"!", zlib.compress(b"x"), bytes(100)])
def test_a_damaged_detail_is_a_remote_error(detail: bytes) -> None:
    error = failures.error_of([(1, "error", "ValueError: x", "a", detail)])
    assert isinstance(error, RemoteError)
    assert error.text == "ValueError: x"
