"""The fields of a lexical record: how they are stored, what they hold, what they weigh."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import tantivy

from app.adapters.text_analysis.analyser import ANALYSER_VERSION, Analyser
from app.adapters.text_analysis.code_tests import is_code_test
from app.adapters.text_analysis.contents_links import without_repeating_anchors
from app.adapters.text_analysis.headings import heading_terms, names_of
from app.adapters.text_analysis.languages import Languages
from app.adapters.text_analysis.mixed_case_names import SPLIT_MARK
from app.adapters.text_analysis.numbered_names import numbered_names
from app.adapters.text_analysis.operators import operators_in
from app.adapters.text_analysis.path_tails import path_tails
from app.adapters.text_analysis.shown import shown_paragraphs
from app.adapters.text_analysis.symbols import defined_symbols
from app.adapters.text_analysis.terms import IndexTerms, has_signs
from app.protocols import LexicalRecord

SCHEMA_VERSION = 21
"""Raise it whenever the fields, or what they hold, change."""

CHUNK_ID, ITEM, DOCUMENT = "chunk_id", "item_id", "document_number"
ID_HIGH, ID_LOW = "id_high", "id_low"
"""The two halves of a chunk id of 32 hex digits, as the service makes them. 256 of them are read in
two calls (0.1 ms), while stored texts take a call each, which lets other threads in and then waits
for them."""
BODY, TITLE, PATH = "body", "title", "path"
SYMBOLS, IDENTIFIERS, SPLITS = "symbols", "identifiers", "splits"
SIGNED = "signed"
"""Names that differ from a word only by signs, such as `__slots__` and `-m`. They are not among the
identifiers, since each of those counts for less the longer their field is."""
OPERATORS = "operators"
"""What is written only with signs, in content and titles: see text_analysis/operators.py."""
TAILS = "tails"
"""The names by which the document may be called from its path: see path_tails.py and
numbered_names.py in text_analysis."""
HEADING = "heading"
"""Terms for the titles and headings that the chunk stands under: see text_analysis/headings.py."""
SHOWN = "shown"
"""Paragraphs with markup, as a reader sees them, and whole texts where BODY leaves out anchors: a
phrase in quotes is looked for here, too."""
QUOTABLE = "quotable"
"""The identifiers but those of the path, where a phrase in quotes does not count."""
KIND = "kind"
"""What the document is, where that counts: CODE_TEST."""
CODE_TEST = "test"
SAID = "said"
"""Tells what the content says, for exclusions. A word from a part of a name or a switch: names as a
whole, their parts, and those of these that stand alone as well; and operators."""

WITHIN_NAME, ALSO_ALONE = "within=", "alone="
"""Before a part. What names say as a whole has the sign at its start or end."""

_HEX_ID = re.compile(r"[0-9a-f]{32}")

GAP = "|"
"""Keeps the last word of a heading or paragraph from standing beside the first of the next; no
term."""


@dataclass(frozen=True)
class FieldWeights:
    """How much the BM25 score of each field counts; a field of weight 0 is not searched.

    Measured in docs/adr/0010 and 0022: the fields besides the body help questions about code most.
    """

    body: float = 1.0
    """The content: prose, and the parts of identifiers."""
    title: float = 0.25
    """Title and headings."""
    path: float = 0.5
    """The document's key."""
    symbols: float = 0.5
    """Names that the content defines, whole and in parts. The parts stand in the body, too: with
    full weight, a function with the name would outweigh the one that does what is asked for."""
    identifiers: float = 0.5
    """Compound names in one piece, anywhere in the text."""
    signed: float = 2.0
    """Four times as much as other names: a question for `__slots__` does not want texts that are
    all about slots."""
    operators: float = 2.0
    """Times the rarity of the operator; as much as for names by their signs."""
    tails: float = 3.0
    """For what a path in the query names: how many times the BM25 of a text that says all words of
    the path as densely as BM25 rewards. That holds if the query is only the path; beside other
    words it is less, in proportion to the path's share of the ceiling. So it outweighs what only
    mentions the path in its text, title and headings."""

    heading: float = 1.0
    """For standing under a heading that is exactly the query: as much as saying the query again and
    again."""

    @property
    def shown(self) -> float:
        """As the body: it is content."""
        return self.body

    @property
    def quotable(self) -> float:
        """As identifiers."""
        return self.identifiers


@dataclass(frozen=True)
class LexicalIdentity:
    """What an index on disk must agree in to be of use.

    The languages of collections do not belong to it: each record names its own.
    """

    language: str
    """The language of records that name none; its terms bear no mark."""
    schema_version: int = SCHEMA_VERSION
    analyser_version: int = ANALYSER_VERSION


def make_schema() -> tantivy.Schema:
    """The schema. Every text field takes terms that are already analysed, separated by spaces."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field(CHUNK_ID, stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field(ITEM, indexed=True, fast=True)
    builder.add_integer_field(DOCUMENT, indexed=True, fast=True)
    builder.add_unsigned_field(ID_HIGH, fast=True)
    builder.add_unsigned_field(ID_LOW, fast=True)
    for name, option in (
        (BODY, "position"),
        (TITLE, "position"),
        (PATH, "position"),
        (SHOWN, "position"),
        (SYMBOLS, "freq"),
        (IDENTIFIERS, "freq"),
        (SIGNED, "basic"),
        (QUOTABLE, "basic"),
        (SPLITS, "basic"),
        (SAID, "basic"),
        (OPERATORS, "basic"),
        (TAILS, "basic"),
        (HEADING, "basic"),
        (KIND, "basic"),
    ):
        builder.add_text_field(name, tokenizer_name="whitespace", index_option=option)
    return builder.build()


def make_document(record: LexicalRecord, languages: Languages) -> tantivy.Document:
    """The record as the index takes it: most of what it costs to add one."""
    analyser, mark = languages.analyser(record.language), languages.mark(record.language)
    document = tantivy.Document()
    document.add_text(CHUNK_ID, record.chunk_id)
    document.add_integer(ITEM, record.item_id)
    document.add_integer(DOCUMENT, record.document_number)
    if _HEX_ID.fullmatch(record.chunk_id):
        document.add_unsigned(ID_HIGH, int(record.chunk_id[:16], 16))
        document.add_unsigned(ID_LOW, int(record.chunk_id[16:], 16))
    terms = _terms_by_field(record, analyser, mark)
    if mark:
        terms[SPLITS].append(language_term(languages.known(record.language)))
    for field, terms_of_field in terms.items():
        if terms_of_field:
            document.add_text(field, " ".join(terms_of_field))
    return document


def _terms_by_field(record: LexicalRecord, analyser: Analyser, mark: str) -> dict[str, list[str]]:
    """Stemmed terms bear the mark of their language; those in one piece are the same in all."""
    content = analyser.index_terms(record.content)
    once = without_repeating_anchors(record.content)
    body = content if once == record.content else analyser.index_terms(once)
    titles = [analyser.index_terms(text) for text in (*record.titles, *record.heading_path)]
    path = analyser.index_terms(record.path)
    shown = list(map(analyser.index_terms, shown_paragraphs(record.content, record.path)))
    if body is not content:
        shown.append(content)  # found if quoted as it is written, from two words on
    wholes = [whole for terms in (content, *titles, path) for whole in terms.wholes]
    return {
        BODY: _marked(mark, body.parts),
        TITLE: _apart(mark, titles),
        PATH: _marked(mark, path.parts),
        SHOWN: _apart(mark, shown),
        SYMBOLS: list(_symbols(record, analyser, mark)),
        IDENTIFIERS: [whole for whole in wholes if not has_signs(whole)],
        SIGNED: list(set(filter(has_signs, wholes))),
        QUOTABLE: list({whole for terms in (content, *titles) for whole in terms.wholes}),
        SPLITS: _marked(
            mark, list({split for terms in (content, *titles, path) for split in terms.splits})
        ),
        SAID: [*_marked(mark, _said(content)), *map(sign_mark, operators_in(record.content))],
        OPERATORS: list(operators_in(record.content, *record.titles, *record.heading_path)),
        HEADING: _marked(mark, _named(record, analyser)),
        TAILS: [*path_tails(record.path), *numbered_names(record.path)],
        KIND: [CODE_TEST] if is_code_test(record.path) else [],
    }


def _symbols(record: LexicalRecord, analyser: Analyser, mark: str) -> Iterator[str]:
    """The names that the content defines, in parts and in one piece."""
    for name in defined_symbols(record.content, record.path):
        terms = analyser.index_terms(name)
        yield from _marked(mark, terms.parts)
        yield from (whole for whole in terms.wholes if not has_signs(whole))


def sign_mark(operator: str) -> str:
    """The term for an operator in SAID; no mark of a language and no name begins like it."""
    return f"={operator}="


def _said(content: IndexTerms) -> list[str]:
    """The terms for SAID; none for a text without names."""
    within = Counter(content.within)
    said = {*content.names, *(WITHIN_NAME + part for part in within)}
    said.update(
        ALSO_ALONE + part for part, count in within.items() if content.parts.count(part) > count
    )
    return list(said)


def _named(record: LexicalRecord, analyser: Analyser) -> list[str]:
    names = names_of(record.titles, record.heading_path, record.content, record.path)
    return list({term for name in names for term in heading_terms(name, analyser)})


def _apart(mark: str, texts: Iterable[IndexTerms]) -> list[str]:
    """The parts of several texts, with those of different texts kept apart."""
    return f" {GAP} ".join(" ".join(_marked(mark, text.parts)) for text in texts).split()


def _marked(mark: str, terms: list[str]) -> list[str]:
    return [mark + term for term in terms] if mark else terms


def language_term(language: str = "") -> str:
    """What stands among the splits of each record of a language; with none, how each begins.

    No name is empty, so no split begins like that.
    """
    return SPLIT_MARK + language


def chunk_ids_at(searcher: tantivy.Searcher, addresses: Sequence[tantivy.DocAddress]) -> list[str]:
    """The chunk ids of the records at these addresses, in the same order."""
    listed = list(addresses)
    high, low = (searcher.fast_field_values(half, listed) for half in (ID_HIGH, ID_LOW))
    if None in high or None in low:
        return [str(searcher.doc(address).get_first(CHUNK_ID)) for address in listed]
    digits = np.array([high, low], ">u8").T.tobytes().hex()  # of all: sooner than one by one
    return [digits[start : start + 32] for start in range(0, len(digits), 32)]
