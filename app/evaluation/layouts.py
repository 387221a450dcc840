"""Recognises the layout of a question set and reads it."""

from pathlib import Path

from app.errors import SourceNotFoundError
from app.evaluation.beir import is_beir, read_beir
from app.evaluation.phrases import is_phrase_set, read_phrases
from app.evaluation.question_set import QuestionSet
from app.evaluation.spans import is_span_set, read_spans


def read_question_set(
    folder: Path, *, binary: bool = True, split: str | None = None
) -> QuestionSet:
    """Read a folder in any of the three layouts; `binary` and `split` are for BEIR's.

    Raises SourceNotFoundError and SourceUnreadableError.
    """
    folder = folder.resolve()
    if is_beir(folder):
        return read_beir(folder, binary=binary, split=split)
    if is_span_set(folder):
        return read_spans(folder)
    if is_phrase_set(folder):
        return read_phrases(folder)
    raise SourceNotFoundError(
        f"{folder} is not a set of judged questions. It needs corpus.jsonl, queries.jsonl and "
        "qrels/*.tsv; or corpora/*.md and questions.jsonl; or corpus.json and queries.jsonl."
    )
