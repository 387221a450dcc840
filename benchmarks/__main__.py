"""`make bench`: the figures that README and the issues speak of, on real documents."""

import argparse
import tempfile
from pathlib import Path

from benchmarks import embedding, service


def main() -> None:
    """Run the embedding comparison, then the whole service."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder with docs_fastapi.tar.gz, docs_peps.tar.gz")
    parser.add_argument("--only", choices=["embedding", "service"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="groundwork-bench-") as folder:
        if options.only != "service":
            trees = service.unpack(options.data, Path(folder))
            embedding.main([str(trees["docs_peps"])])
        if options.only != "embedding":
            service.main(options.data)


if __name__ == "__main__":
    main()
