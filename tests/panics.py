"""A panic as libraries in Rust have them, from one of those that the service works with."""

from typing import NoReturn

from tokenizers import Tokenizer
from tokenizers.models import WordLevel


def panic() -> NoReturn:
    """Ask a tokenizer for what it does not refuse, but gives up at."""
    tokenizer = Tokenizer(WordLevel({"harbour": 0}, unk_token="harbour"))
    tokenizer.encode(["harbour"] * 9, is_pretokenized=True).truncate(3, stride=3)
    raise AssertionError("It does not panic at this any more: find something else.")
