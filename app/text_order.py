"""Texts in the order of their characters, whatever language the database sorts in."""

from typing import Any

from sqlalchemy import String
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class by_character(FunctionElement[str]):  # noqa: N801, called like the functions of SQLAlchemy
    """A text to be sorted by and compared with, in both databases alike.

    PostgreSQL sorts as its operating system does, and otherwise after an update of that.
    """

    name = "by_character"
    type = String()
    inherit_cache = True


@compiles(by_character)
def _as_it_is(element: by_character, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.clauses, **options)


@compiles(by_character, "postgresql")
def _by_code_point(element: by_character, compiler: SQLCompiler, **options: Any) -> str:
    return f'({compiler.process(element.clauses, **options)} COLLATE "C")'
