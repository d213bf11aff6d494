"""Pickles: how calls, results and exceptions become bytes.

Functions and classes that can be imported go by name; those of the main program, lambdas and what
is defined inside a function go by value, by cloudpickle. Plain pickle is tried first, since it is
ten times as fast; it writes what ``__main__`` defines by a name that means something else in
another process, so where that name occurs cloudpickle is asked.

A call by name must find the code that its sender has. So it carries a hash of the source of the
function's module, and a worker that has another source refuses it.

The function of many calls is pickled once (``Function``), apart from their arguments, and read once
by each process that makes some of them.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_BY_NAME = b"N"
_BY_VALUE = b"V"
_APART = b"A"
_NO_HASH = bytes(16)
_PROTOCOL = 5

# How many functions of calls that were pickled apart a process keeps.
_MOST_FUNCTIONS = 64

# What those raise of which an instance can be made from a text.
_PICKLING_ERRORS = (pickle.PicklingError, TypeError, AttributeError, RecursionError)

_hashes: dict[str, bytes] = {}
_functions: dict[bytes, Callable[..., Any]] = {}


class Function:
    """A function that is pickled once for many calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = name_of(function)
        try:
            pickled = dumps(function)
        except Exception as error:
            raise pickle.PicklingError(_blame(function, (), {}, error)) from error
        length = len(pickled).to_bytes(4, "big")
        self.head = _source_hash(function) + _APART + length + pickled


def dumps(value: object) -> bytes:
    """Return the bytes of a value; the first says whether they hold code."""
    try:
        data = pickle.dumps(value, _PROTOCOL)
    except Exception:
        # Whatever plain pickle cannot do, cloudpickle can, or says better why not.
        data = b"__main__"
    if b"__main__" not in data:
        return _BY_NAME + data
    import cloudpickle

    version = bytes(sys.version_info[:2])
    pickled: bytes = cloudpickle.dumps(value, _PROTOCOL)
    return _BY_VALUE + version + pickled


def dump_result(value: object) -> bytes:
    """Return the bytes of what a call has returned, or say that this cannot be pickled."""
    try:
        return dumps(value)
    except Exception as error:
        kind = type(value).__qualname__
        text = f"the result (a {kind}) cannot be pickled: {error}; return plain data made from it"
        # As the same type: who catches it need not know of this.
        told = type(error)(text) if type(error) in _PICKLING_ERRORS else pickle.PicklingError(text)
        raise told from error


def loads(data: bytes) -> Any:
    """Return the value that was pickled."""
    if data[:1] == _BY_NAME:
        return pickle.loads(memoryview(data)[1:])
    version = tuple(data[1:3])
    if version != sys.version_info[:2]:
        here = ".".join(map(str, sys.version_info[:2]))
        raise pickle.UnpicklingError(
            f"it holds code of Python {'.'.join(map(str, version))}, which Python {here} cannot "
            "run: use one version, or define the function in a module"
        )
    return pickle.loads(memoryview(data)[3:])


def dump_call(
    function: Callable[..., Any] | Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> bytes:
    """Return the bytes of a call, or raise a PicklingError that says what cannot be pickled."""
    try:
        if isinstance(function, Function):
            return function.head + dumps((args, kwargs))
        return _source_hash(function) + dumps((function, args, kwargs))
    except Exception as error:
        raise pickle.PicklingError(_blame(function, args, kwargs, error)) from error


def load_call(body: bytes) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """Return function and arguments of a call, unless its code is another one here."""
    if body[16:17] != _APART:
        function, args, kwargs = loads(body[16:])
        _check_source(function, body[:16])
        return function, args, kwargs
    end = 21 + int.from_bytes(body[17:21], "big")
    head = body[:end]
    known = _functions.get(head)
    if known is None:
        known = loads(head[21:])
        _check_source(known, head[:16])
        if len(_functions) >= _MOST_FUNCTIONS:
            _functions.clear()
        _functions[head] = known
    args, kwargs = loads(body[end:])
    return known, args, kwargs


def _check_source(function: Callable[..., Any], expected: bytes) -> None:
    here = _source_hash(function)
    if expected not in (_NO_HASH, here) and here != _NO_HASH:
        raise pickle.UnpicklingError(
            f"the source of module {_module(function)} here is not that of the program that has "
            "submitted the task: bring both to one version and start them again"
        )


def name_of(function: object) -> str:
    """Return the name of a function for people, and for the ids of tasks."""
    while isinstance(function, functools.partial):
        function = function.func
    qualified = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{_module(function)}:{qualified}"


def _module(function: object) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__module__", None) or type(function).__module__
    return str(name)


def _source_hash(function: object) -> bytes:
    """Return the hash of the source of a function's module, zeros if there is none to compare."""
    name = _module(function)
    known = _hashes.get(name)
    if known is None:
        known = _hashes[name] = _hash_of_module(name)
    return known


def _hash_of_module(name: str) -> bytes:
    file = getattr(sys.modules.get(name), "__file__", None)
    if name == "__main__" or file is None or not file.endswith(".py"):
        return _NO_HASH
    try:
        return hashlib.sha256(Path(file).read_bytes()).digest()[:16]
    except OSError:
        return _NO_HASH


def _blame(
    function: Callable[..., Any] | Function,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    error: Exception,
) -> str:
    """Return one sentence: which part of a call cannot be pickled."""
    if isinstance(function, Function):
        function = function.function
    parts: list[tuple[str, object]] = [("the function", function)]
    parts += [(f"argument {place}", value) for place, value in enumerate(args, 1)]
    parts += [(f"argument {name}", value) for name, value in kwargs.items()]
    for what, value in parts:
        try:
            dumps(value)
        except Exception as its:
            kind = type(value).__qualname__
            return (
                f"{what} of {name_of(function)} (a {kind}) cannot be pickled: {its}; pass what it "
                "is made from, and make it in the task"
            )
    return f"the call of {name_of(function)} cannot be pickled: {error}"
