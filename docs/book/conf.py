"""Sphinx's settings for the book, and what it does with docstrings and widgets."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from docstrings import to_rst  # noqa: E402

import mlc_course  # noqa: E402
from mlc_course.lecture.page import module  # noqa: E402
from mlc_course.lessons.kit import STYLE  # noqa: E402

project = "Machine learning compilation, by hand"
author = "the contributors of mlc_course"
version = release = mlc_course.__version__
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
nb_execution_mode = "off"  # the outputs are recorded
nb_mime_priority_overrides = [("html", "text/html", 0)]
myst_heading_anchors = 4
# The type "bytes" is also the name of fields; it has no page here, whichever is meant.
suppress_warnings = ["ref.python"]
autodoc_default_options = {"members": True, "undoc-members": True, "no-value": True}
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
toc_object_entries = False
exclude_patterns = ["widgets"]

html_theme = "furo"
html_title = project
html_static_path = []
html_css_files, html_js_files = [], []
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
templates_path = []
linkcheck_timeout = 20


def read_docstring(app, what, name, obj, options, lines):
    """Replace a docstring's lines by reStructuredText."""
    lines[:] = to_rst(lines)


def add_widgets(app, pagename, templatename, context, doctree):
    """Give a lesson's page the states of its widgets, and the script that moves them."""
    states = Path(app.srcdir) / "widgets" / f"{Path(pagename).name}.json"
    if states.exists() and pagename.startswith("notebooks/"):
        app.add_js_file(
            None, body=states.read_text(encoding="utf-8"), type="application/json", id="widgets"
        )
        app.add_js_file("book.js", defer="defer")


def skip_other_code(app, env, docnames):
    """Keep the code of other libraries out of the pages of code."""
    env._viewcode_modules = dict.fromkeys((*sys.stdlib_module_names, "numpy"), False)


def write_static(app):
    """Write the style sheet and the script of the book beside the theme's."""
    place = Path(app.outdir) / "_static"
    if app.builder.format == "html":
        place.mkdir(parents=True, exist_ok=True)
        style = (HERE / "book.css").read_text(encoding="utf-8")
        (place / "book.css").write_text(f"{STYLE}\n{style}", encoding="utf-8")
        held = (HERE / "book.js").read_text(encoding="utf-8")
        text = re.sub(r"^import .*\n", "", held, flags=re.M)
        (place / "book.js").write_text(f"{{\n{module('host.js')}\n{text}}}\n", encoding="utf-8")


def setup(app):
    """Connect the above to Sphinx."""
    app.connect("autodoc-process-docstring", read_docstring)
    app.connect("html-page-context", add_widgets)
    app.connect("env-before-read-docs", skip_other_code)
    app.connect("builder-inited", write_static)
    app.add_css_file("book.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
