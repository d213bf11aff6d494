"""The processor's own counter of instructions, as Linux offers it: perf_event_open(2).

It counts instructions of this process in user mode, its later threads included, at no cost. Virtual
machines and containers often have none, or forbid it; `refused` gives the reason. The layout is
that of ``struct perf_event_attr`` of its first version, 64 bytes, which every kernel accepts.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import struct
from collections.abc import Callable

_SYSCALLS = {"x86_64": 298, "aarch64": 241, "ppc64le": 319, "s390x": 331, "riscv64": 241}
_HARDWARE, _INSTRUCTIONS = 0, 1
_SIZE = 64
_DISABLED, _INHERIT, _NO_KERNEL, _NO_HYPERVISOR = 1 << 0, 1 << 1, 1 << 5, 1 << 6
_ENABLE, _DISABLE, _RESET = 0x2400, 0x2401, 0x2403
_CLOSE_ON_EXEC = 8


def _open(kind: int, event: int) -> int:
    """Open a counter of this process that does not run yet; return its descriptor."""
    number = _SYSCALLS.get(platform.machine())
    if number is None:
        raise OSError(0, f"its number on {platform.machine()} is not known")
    flags = _DISABLED | _INHERIT | _NO_KERNEL | _NO_HYPERVISOR
    attributes = struct.pack("=IIQQQQQ", kind, _SIZE, event, 0, 0, 0, flags)
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes.ljust(_SIZE, b"\0"), _SIZE)
    opened = libc.syscall(
        ctypes.c_long(number), buffer, ctypes.c_int(0), ctypes.c_int(-1), ctypes.c_int(-1),
        ctypes.c_ulong(_CLOSE_ON_EXEC),
    )  # fmt: skip
    if opened < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(opened)


def refused() -> str:
    """Return why there is no counter of instructions here, or nothing."""
    try:
        os.close(_open(_HARDWARE, _INSTRUCTIONS))
    except OSError as error:
        return f"perf_event_open: {error.strerror}"
    return ""


def count(call: Callable[[], object], kind: int = _HARDWARE, event: int = _INSTRUCTIONS) -> int:
    """Count the instructions (or another event of Linux) of a call."""
    counter = _open(kind, event)
    try:
        fcntl.ioctl(counter, _RESET, 0)
        fcntl.ioctl(counter, _ENABLE, 0)
        try:
            call()
        finally:
            fcntl.ioctl(counter, _DISABLE, 0)
        return int(struct.unpack("=Q", os.read(counter, 8))[0])
    finally:
        os.close(counter)
