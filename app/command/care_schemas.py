"""What the commands that look after a data directory answer, as JSON."""

from pydantic import BaseModel, ConfigDict


class VerifyReport(BaseModel):
    """What a comparison of SQL with itself and with both indexes found, and what was mended."""

    model_config = ConfigDict(from_attributes=True)

    clean: bool
    """Nothing is wrong (any more)."""
    documents: int
    chunks: int
    index_records: int
    sampled_vectors: int
    unreferenced_embeddings: int
    problem_count: int
    mended_count: int
    problems: list[str]
    """The first problems, a sentence each, with what was or is to be done about them."""
    healed: list[str]
    """Indexes whose files had to be made good as they were opened, a sentence each."""


class StorageSizes(BaseModel):
    """Bytes on the disk."""

    model_config = ConfigDict(from_attributes=True)

    database: int
    vector_index: int
    lexical_index: int
    total: int


class CompactionReport(BaseModel):
    """What compacting has changed."""

    model_config = ConfigDict(from_attributes=True)

    before: StorageSizes
    after: StorageSizes
    generations_dropped: int
    embeddings_dropped: int
