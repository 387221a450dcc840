"""The suffixes of files that are texts, not code: which of them are Markdown, and all of them."""

MARKDOWN_SUFFIXES = (".md", ".markdown", ".mdx")

TEXT_SUFFIXES = (*MARKDOWN_SUFFIXES, ".txt", ".rst")
"""Of the documents that an item of type `folder` takes in."""
