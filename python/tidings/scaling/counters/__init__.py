"""Counters: the quantities measured of a call or a command, and how.

`calls` measures a call in this process; `processor` reads the processor's own counter; `library`
compiles and loads the C library of marks, allocations and PSS; `alone` runs a test again in a
process of its own, under callgrind or with that library; `commands` states what is put around a
command to count it.
"""
