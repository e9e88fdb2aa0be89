"""Build the book: every lesson with its outputs, the documentation, and the library's reference.

    python docs/book/build.py             from recordings; a lesson that has changed since is run
    python docs/book/build.py --fresh     run every lesson here
    python docs/book/build.py --links     ask the network whether the links to other sites answer

The book is a folder of HTML pages that open from files and ask nobody for anything.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx

# This checkout's library, whichever is installed, and what the book shares with other pages.
sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.append(str(Path(__file__).parents[1]))
from house import ROOT
from sources import write_sources


def build(out: Path, is_fresh: bool = False, builder: str = "html") -> int:
    """Write the book below ``out``, and return 0, or Sphinx's status if it warned of anything."""
    source = out / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.rmtree(out / builder, ignore_errors=True)  # no page of yesterday's book
    write_sources(source, kept=out / "recordings", is_fresh=is_fresh)
    command = ["-W", "--keep-going", "-q", "-j", "auto", "-b", builder]
    places = ["-c", str(Path(__file__).parent), "-d", str(out / "read"), str(source)]
    return sphinx([*command, *places, str(out / builder)])


def main() -> int:
    """Read the command line, and build."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "book", metavar="DIR")
    parser.add_argument("--fresh", action="store_true", help="run every lesson here")
    parser.add_argument("--links", action="store_true", help="check the links to other sites")
    asked = parser.parse_args()
    builder = "linkcheck" if asked.links else "html"
    status = build(asked.out.resolve(), asked.fresh, builder)
    if not status and not asked.links:
        print(f"The book: {asked.out / 'html' / 'index.html'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
