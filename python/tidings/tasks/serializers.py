"""Serializers: data of queues and keys as bytes.

| name | what the bytes are | who reads them |
|---|---|---|
| ``json`` | JSON in UTF-8 | programs of any language, and people |
| ``pickle`` | a pickle, sealed where there is a key | Python alone |
| ``bytes`` | the bytes that were passed | those who know what they are |
"""

from __future__ import annotations

import json
from typing import Any

from tidings.tasks import pickles
from tidings.tasks.seal import Seal

NAMES = ("json", "pickle", "bytes")


class Serializer:
    """How the data of a queue, or the values of keys, become bytes."""

    def __init__(self, name: str, seal: Seal) -> None:
        if name not in NAMES:
            raise ValueError(f"no serializer is called {name!r}: it is one of {', '.join(NAMES)}")
        self._name = name
        self._seal = seal

    def called(self, name: str | None) -> Serializer:
        """Return the serializer of that name, this one if it is None."""
        return self if name is None else Serializer(name, self._seal)

    def dumps(self, value: Any) -> bytes:
        """Return a value as bytes that are not sealed yet."""
        if self._name == "json":
            try:
                return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
            except (TypeError, ValueError) as error:
                hint = "pass what JSON has, or use serializer='pickle'"
                raise type(error)(f"{error}: {hint}") from None
        if self._name == "pickle":
            return pickles.dumps(value)
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise TypeError(f"serializer 'bytes' takes bytes, not {type(value).__qualname__}")
        return bytes(value)

    def close(self, kind: bytes, owner: bytes, data: bytes) -> bytes:
        """Return the bytes as they go to their place."""
        return self._seal.close(kind, owner, data) if self._name == "pickle" else data

    def loads(self, kind: bytes, owner: bytes, data: bytes) -> Any:
        """Return the value in the bytes of a place.

        A ValueError says what they are not, a SealError that they are not from this cluster.
        """
        if self._name == "bytes":
            return data
        if self._name == "pickle":
            data = self._seal.open(kind, owner, data)
        try:
            return json.loads(data) if self._name == "json" else pickles.loads(data)
        except Exception as error:
            raise ValueError(f"it is no {self._name}: {error}") from error
