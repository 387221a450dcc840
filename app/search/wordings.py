"""Other wordings of a question: abbreviations written out, and words that say the same."""

import re
from collections.abc import Iterator

MOST_WORDINGS = 2
"""Beside the question itself: each costs a search of its own."""

GROUPS: tuple[tuple[str, ...], ...] = (
    ("auth", "authentication", "login"),
    ("authz", "authorization", "permissions"),
    ("db", "database"),
    ("config", "configuration", "settings"),
    ("configure", "set up"),
    ("env", "environment"),
    ("repo", "repository"),
    ("repos", "repositories"),
    ("docs", "documentation"),
    ("k8s", "kubernetes"),
    ("js", "javascript"),
    ("ts", "typescript"),
    ("py", "python"),
    ("api", "interface"),
    ("ui", "user interface"),
    ("cli", "command line"),
    ("err", "error", "exception"),
    ("errors", "exceptions"),
    ("args", "arguments", "parameters"),
    ("arg", "argument", "parameter"),
    ("params", "parameters"),
    ("param", "parameter"),
    ("func", "function"),
    ("dir", "directory", "folder"),
    ("directories", "folders"),
    ("delete", "remove"),
    ("deleting", "removing"),
    ("create", "add", "make"),
    ("fetch", "download", "retrieve"),
    ("start", "launch", "run"),
    ("stop", "terminate", "shut down"),
    ("perf", "performance", "speed"),
    ("slow", "performance"),
    ("async", "asynchronous"),
    ("sync", "synchronous"),
    ("msg", "message"),
    ("pwd", "password"),
    ("password", "credentials"),
    ("info", "information"),
    ("max", "maximum", "limit"),
    ("min", "minimum"),
    ("dep", "dependency"),
    ("deps", "dependencies"),
    ("pkg", "package"),
    ("lib", "library"),
    ("var", "variable"),
    ("vm", "virtual machine"),
    ("os", "operating system"),
    ("ci", "continuous integration"),
    ("pr", "pull request"),
    ("llm", "language model"),
    ("ml", "machine learning"),
    ("nlp", "natural language processing"),
    ("rag", "retrieval augmented generation"),
    ("regex", "regular expression"),
    ("backup", "back up"),
    ("bug", "defect", "problem"),
    ("fix", "repair", "solve"),
    ("upgrade", "update"),
    ("test", "check", "verify"),
)
"""Words that say the same in software; each may stand for the others. Deliberately few."""


def _alternatives() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for group in GROUPS:
        for word in group:
            others = found.setdefault(word, {})
            others.update(dict.fromkeys(other for other in group if other != word))
    return {word: tuple(others) for word, others in found.items()}


_OTHERS = _alternatives()
_KNOWN = re.compile(
    # Of ASCII alone: whatever its case, `\u0131` or `\u0130` is no `i`, and `\u017f` no `s`.
    r"(?<![\w\"\u201c\u201e.-])(?ai:"
    + "|".join(re.escape(word) for word in sorted(_OTHERS, key=len, reverse=True))
    + r")(?![\w-]|\.\w)"
)
_LEFT_ALONE = re.compile(
    r"((?:(?<!\S)-)?"
    r"(?:\"[^\"]*\"|\u201c[^\u201c-\u201e]*\u201d|\u201e[^\u201c-\u201e]*[\u201c\u201d])"
    r"|(?<!\S)-\S+)"
)
"""Phrases in quotes and what is excluded: nothing in them may change. No phrase holds an opening
quote, so that a query of nothing else is not read to its end from each of them."""


def other_wordings(query: str) -> list[str]:
    """At most MOST_WORDINGS further ways to ask, each with every known word replaced.

    The first takes the first word of each that says the same, the second the second.
    """
    wordings: dict[str, None] = {}
    for number in range(MOST_WORDINGS):
        wording = "".join(_replaced(query, number))
        if wording != query:
            wordings.setdefault(wording)
    return list(wordings)


def _replaced(query: str, number: int) -> Iterator[str]:
    def other(match: re.Match[str]) -> str:
        others = _OTHERS[match.group().lower()]
        return others[number] if number < len(others) else match.group()

    for place, part in enumerate(_LEFT_ALONE.split(query)):
        yield part if place % 2 else _KNOWN.sub(other, part)
