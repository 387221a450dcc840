"""The suffixes of files that are texts, not code: which of them are Markdown, and all of them."""

MARKDOWN_SUFFIXES = (".md", ".markdown", ".mdx")

FRONTMATTER_SUFFIXES = (*MARKDOWN_SUFFIXES, ".mkd", ".mkdn", ".mdown", ".mdwn", ".qmd", ".rmd")
"""Of Markdown under any name. What begins with `---` elsewhere may be a manifest or a record."""

TEXT_SUFFIXES = (*MARKDOWN_SUFFIXES, ".txt", ".rst")
"""Of the documents that an item of type `folder` takes in."""
