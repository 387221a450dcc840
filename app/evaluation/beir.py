"""Question sets in the layout of BEIR: corpus, queries and tables of relevance (qrels)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from app.errors import SourceNotFoundError, SourceUnreadableError
from app.evaluation.files import JsonLine, find_file, json_lines, lines_of
from app.evaluation.question_set import CorpusDocument, Question
from app.evaluation.ranked_answers import Judgements, RankedAnswers
from app.search.results import SearchResult

CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels"

HIGHEST_SCORE = 10_000
"""trec_eval keeps a counter for every score up to the highest. From about 10⁹ on, memory does not
suffice for that, and it gives 0 for every question."""

MOST_DIGITS = 100
"""Python refuses to parse numbers of thousands of digits, and none is a sensible score."""

DEPTHS = (100, 400)
"""The most that HTTP returns, and enough chunks to include those of the best 100 documents."""


@dataclass(frozen=True)
class BeirSet:
    """A question set that judges documents: a document has the rank of its best chunk."""

    name: str
    documents: Sequence[CorpusDocument]
    questions: Sequence[Question]
    judgements: Judgements
    remarks: Sequence[str]
    depths: Sequence[int] = DEPTHS

    def scorer(self) -> RankedAnswers:
        """A new scorer for the answers of one mode."""
        return RankedAnswers(self.judgements, _documents_found)


def is_beir(folder: Path) -> bool:
    """Whether the folder has the files of this layout."""
    return find_file(folder, CORPUS) is not None and (folder / QRELS).is_dir()


def read_beir(folder: Path, *, binary: bool, split: str | None = None) -> BeirSet:
    """Read a folder with `corpus.jsonl`, `queries.jsonl` (both may end in `.gz`) and `qrels/*.tsv`.

    With `binary`, every score above 0 is 1. `split` names the table; default: `test`, or the only
    one there is. Where queries carry `metadata.repo`, it names their group: the documents whose
    `_id` begins with it and a slash. Raises SourceNotFoundError and SourceUnreadableError.
    """
    texts = _queries(folder)
    judged = _judgements(_table(folder, split), binary=binary)
    unknown = [question_id for question_id in judged if question_id not in texts]
    if unknown:
        raise SourceUnreadableError(f"{QRELS}: there is no query {unknown[0]!r} in {QUERIES}.")
    questions = [
        Question(key, *texts[key]) for key, scores in judged.items() if any(scores.values())
    ]
    if not questions:
        raise SourceUnreadableError(f"{folder}: no query has a relevant document in {QRELS}.")
    documents = _corpus(folder, {question.group for question in questions if question.group})
    return BeirSet(
        name=folder.name,
        documents=documents,
        questions=questions,
        judgements={question.id: judged[question.id] for question in questions},
        remarks=_remarks(judged, questions, documents),
    )


def _documents_found(_question: Question, results: Sequence[SearchResult]) -> Sequence[str]:
    return list(dict.fromkeys(result.document_uri for result in results))


# Files -----------------------------------------------------------------------------------------


def _queries(folder: Path) -> dict[str, tuple[str, str | None]]:
    path = find_file(folder, QUERIES)
    if path is None:
        raise SourceNotFoundError(f"{folder} has no {QUERIES}.")
    queries: dict[str, tuple[str, str | None]] = {}
    for line in json_lines(path):
        text = line.words("text").strip()
        group, key = line.mapping("metadata").get("repo"), line.text("_id")
        if key in queries:
            raise SourceUnreadableError(f"{line.place}: the _id {key!r} occurs twice.")
        queries[key] = (text, str(group) if group else None)
    return queries


def _table(folder: Path, split: str | None) -> Path:
    tables = sorted((folder / QRELS).glob("*.tsv")) + sorted((folder / QRELS).glob("*.tsv.gz"))
    by_name = {path.name.partition(".tsv")[0]: path for path in tables}
    wanted = split or ("test" if "test" in by_name else None)
    if wanted is None and len(by_name) == 1:
        return tables[0]
    if wanted not in by_name:
        names = ", ".join(by_name) or "none"
        raise SourceNotFoundError(
            f"{folder / QRELS} has these tables: {names}. Name one of them with --split."
        )
    return by_name[wanted]


def _judgements(path: Path, *, binary: bool) -> dict[str, dict[str, int]]:
    """Lines of query, document, score; or of query, iteration, document, score, as TREC has."""
    judged: dict[str, dict[str, int]] = {}
    for place, (number, line) in enumerate(lines_of(path)):
        cells = line.rstrip("\r\n").split("\t") if "\t" in line else line.split()
        if not place and len(cells) in (3, 4) and not _is_number(cells[-1]):
            continue  # the names of the columns
        if len(cells) not in (3, 4) or not _is_whole_number(cells[-1]):
            raise SourceUnreadableError(
                f"{path.name}, line {number}: expected query, document and a whole number."
            )
        score = max(0, int(cells[-1]))
        score = min(score, 1) if binary else score
        if score > HIGHEST_SCORE:
            raise SourceUnreadableError(
                f"{path.name}, line {number}: a score is {HIGHEST_SCORE:,} at most."
            )
        if judged.setdefault(cells[0], {}).setdefault(cells[-2], score) != score:
            raise SourceUnreadableError(
                f"{path.name}, line {number}: query {cells[0]!r} and document {cells[-2]!r} have "
                "another score further up."
            )
    return judged


def _is_whole_number(text: str) -> bool:
    """Whether it is a whole number with few enough digits for Python to parse."""
    return len(text) <= MOST_DIGITS and text.strip().removeprefix("-").isdecimal()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _corpus(folder: Path, groups: set[str]) -> list[CorpusDocument]:
    path = find_file(folder, CORPUS)
    if path is None:
        raise SourceNotFoundError(f"{folder} has no {CORPUS}.")
    longest_first = sorted(groups, key=len, reverse=True)
    documents: dict[str, CorpusDocument] = {}
    for line in json_lines(path):
        document = _document(line, longest_first)
        if document.id in documents:
            raise SourceUnreadableError(f"{line.place}: the _id {document.id!r} occurs twice.")
        documents[document.id] = document
    if not documents:
        raise SourceUnreadableError(f"{path} has no documents.")
    return list(documents.values())


def _document(line: JsonLine, groups: Sequence[str]) -> CorpusDocument:
    document_id = line.text("_id")
    group = next((name for name in groups if document_id.startswith(f"{name}/")), None)
    key = document_id[len(group) + 1 :] if group else document_id
    title = " ".join(line.text("title", "").split())
    text = with_title(title, line.text("text"), key)
    if _is_path(title, key):
        title = ""
    # As the loader has it: what has no title of its own is called by its file's name.
    title = title or PurePosixPath(key).stem
    return CorpusDocument(document_id, key, text, title or None, group)


def with_title(title: str, text: str, key: str) -> str:
    """The text as it would be in a file: with its title as a heading.

    The heading is left out if the title is the file's path, as with code, or begins the text.
    """
    opening = " ".join(text[: 2 * len(title) + 100].split()).lstrip("#= ")
    if not title or _is_path(title, key) or opening.startswith(title):
        return text
    return f"# {title}\n\n{text}"


def _is_path(title: str, key: str) -> bool:
    return key == title or key.endswith(f"/{title}")


def _remarks(
    judged: Mapping[str, Mapping[str, int]],
    questions: Sequence[Question],
    documents: Sequence[CorpusDocument],
) -> list[str]:
    remarks = []
    if left_out := len(judged) - len(questions):
        remarks.append(f"{left_out} queries have no relevant document and were left out.")
    known = {document.id for document in documents}
    missing = {
        name
        for question in questions
        for name, score in judged[question.id].items()
        if score and name not in known
    }
    if missing:
        remarks.append(
            f"{len(missing)} relevant documents are not in the corpus; they count as not found."
        )
    return remarks
