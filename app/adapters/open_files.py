"""Which errors say that this process may open no more files, and nothing of the one it wanted."""

import errno


def is_out_of_files(error: Exception) -> bool:
    """Whether the limit of open files was met: that of the process, or of the whole system."""
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)
