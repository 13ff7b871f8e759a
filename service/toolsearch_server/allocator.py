"""The C library's memory allocator, kept from hoarding what many threads have freed.

By default glibc makes arenas for threads, up to eight times as many as there are cores, and seldom gives anything back:
building and dropping catalogs in threads then takes twice the memory that is in use. Elsewhere these do nothing.
"""

import contextlib
import ctypes

M_ARENA_MAX = -8
ARENAS = 2


def limit_arenas() -> None:
    """To be called before threads are started."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").mallopt(M_ARENA_MAX, ARENAS)


def give_back() -> None:
    """What is free and at the end of an arena goes back to the system. Takes milliseconds."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
