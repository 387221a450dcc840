"""Questions about the two documentation trees, with the page that answers each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """A question in a person's words."""

    text: str
    pages: tuple[str, ...]
    """Ends of the paths of pages that answer it."""
    words: str
    """Must stand in a found chunk of such a page: the chunk answers, not only its page."""


QUESTIONS = (
    Question(
        "How do I declare the type of a path parameter?", ("tutorial/path-params.md",), "type"
    ),
    Question("upload a file from a form", ("tutorial/request-files.md",), "UploadFile"),
    Question(
        "allow a browser page of another origin to call my API", ("tutorial/cors.md",), "CORS"
    ),
    Question("run code when the application starts and stops", ("advanced/events.md",), "lifespan"),
    Question("How can I test an endpoint?", ("tutorial/testing.md",), "TestClient"),
    Question("maximum length of a line of code", ("pep-0008.rst",), "79"),
    Question("walrus operator: assign inside an expression", ("pep-0572.rst",), ":="),
    Question("make the global interpreter lock optional", ("pep-0703.rst",), "GIL"),
    Question("file name convention of a wheel", ("pep-0427.rst", "pep-0491.rst"), "{distribution}"),
    Question(
        "syntax of structural pattern matching",
        ("pep-0634.rst", "pep-0635.rst", "pep-0636.rst", "pep-0622.rst"),
        "match",
    ),
)
