"""Opens the local model while Python loads the modules of the service.

Either takes a second, and the model hardly needs Python: on two cores, with 100,000 passages, a
start takes 2.9 s for 3.2.
"""

from concurrent.futures import ThreadPoolExecutor

from app.assembly.embedders import open_embedder, open_without_writing
from app.protocols import Embedder
from app.settings import Settings


class ModelAhead:
    """Opens the model of these settings on another thread, until somebody asks for it.

    The data directory is not held yet, so nothing is written. A model that has not been converted,
    or cannot be opened like this, is left to `open`, which tries again and converts it or raises.
    `close` closes a model that nobody has asked for.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model-ahead")
        self._opening = self._thread.submit(open_without_writing, settings)
        self._is_taken = False

    def open(self, settings: Settings) -> Embedder:
        """The embedder that the settings name; raises StartupError if it cannot be opened."""
        if settings is self._settings and not self._is_taken:
            self._is_taken = True
            opened = self._opening.result()
            if opened is not None:
                return opened
        return open_embedder(settings)

    def close(self) -> None:
        """Close the model, unless it has been taken."""
        opened = None if self._is_taken else self._opening.result()
        if opened is not None:
            opened.close()
        self._thread.shutdown()
