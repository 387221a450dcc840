"""The suffixes of texts: which are Markdown, which have frontmatter, which folders take in."""

MARKDOWN_SUFFIXES = (".md", ".markdown", ".mdx")

FRONTMATTER_SUFFIXES = (*MARKDOWN_SUFFIXES, ".mkd", ".mkdn", ".mdown", ".mdwn", ".qmd", ".rmd")
"""Of Markdown under any name. What begins with `---` elsewhere may be a manifest or a record."""

TEXT_SUFFIXES = (*MARKDOWN_SUFFIXES, ".txt", ".rst")
"""Of the documents that an item of type `folder` takes in."""
