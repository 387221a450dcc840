"""Which chunks and vectors belong together: those of one model and one splitter."""

from dataclasses import dataclass

from app.indexing.embedded_text import CONTEXT_RULE
from app.protocols import TextSplitter


@dataclass(frozen=True)
class Generation:
    """One way to cut and embed everything. Indexes hold the chunks of just one."""

    id: int
    fingerprint: str
    """Of the model."""
    rules: str
    """By which texts are cut and get their contexts; see `splitting_rules`."""
    dimension: int
    """Of the model's vectors."""

    @property
    def identity(self) -> str:
        """What tells its chunks from those of others, even where the text is the same."""
        return f"{self.fingerprint} {self.rules}"


def splitting_rules(splitter: TextSplitter) -> str:
    """A change means that the same document would give other chunks."""
    return f"{splitter.fingerprint} {CONTEXT_RULE}"
