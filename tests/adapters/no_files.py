"""A process that may open no file, as when too many clients are connected."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

OPEN_ALREADY = 3


@contextmanager
def no_file_to_open() -> Iterator[None]:
    """Whatever wants to open a file during the block fails; what is open stays so."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_ALREADY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
