"""Sphinx's settings for the book, and what it does with docstrings and widgets."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from docstrings import to_rst  # noqa: E402
from house import rooms  # noqa: E402

import mlc_course  # noqa: E402
from mlc_course.lecture.page import module, read  # noqa: E402
from mlc_course.lessons.kit import STYLE  # noqa: E402

OTHERS = ("tvm", "tvm_ffi", "numpy")
ROOMS = [name for name, _, _ in rooms()]

project = "Machine learning compilation, by hand"
author = "the contributors of mlc_course"
copyright = f"{author}; text under CC BY 4.0, code under Apache-2.0"
version = release = mlc_course.__version__
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
nb_execution_mode = "off"  # the outputs are recorded
nb_mime_priority_overrides = [("html", "text/html", 0)]
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]  # the width of a picture
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
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
linkcheck_timeout = 20


def read_docstring(app, what, name, obj, options, lines):
    """Replace a docstring's lines by reStructuredText."""
    lines[:] = to_rst(lines)


def skip_other_names(app, what, name, obj, skip, options):
    """Leave out names of other libraries, such as TVM's: these describe them themselves."""
    home = (getattr(obj, "__module__", None) or "mlc_course").split(".")[0]
    return True if what == "module" and home in OTHERS else None


def room(module):
    """Return the room that a module is in: the longest of those whose name its own begins with."""
    return max((each for each in ROOMS if f"{module}.".startswith(f"{each}.")), key=len, default="")


def add_widgets(app, pagename, templatename, context, doctree):
    """Give a lesson's page the states of its widgets, and the script that moves them."""
    folder, _, name = pagename.removeprefix("notebooks/").rpartition("/")
    if pagename.startswith("notebooks/") and folder:
        context["language"] = folder  # of a lesson in another language
    states = Path(app.srcdir) / "widgets" / folder / f"{name}.json"
    if states.exists() and pagename.startswith("notebooks/"):
        app.add_js_file(
            None, body=states.read_text(encoding="utf-8"), type="application/json", id="widgets"
        )
        app.add_js_file("book.js", defer="defer")


def give_headings_a_level(app, pagename, templatename, context, doctree):
    """Say how deep the captions of lists of pages are, which Sphinx calls headings without it."""
    for part in ("body", "furo_navigation_tree"):
        if part in context:
            context[part] = context[part].replace(
                ' role="heading"', ' role="heading" aria-level="2"'
            )


def skip_other_code(app, name):
    """Keep the code of other libraries, such as TVM's, out of the pages of code."""
    return None if name.split(".")[0] == "mlc_course" else ("", {})


def drop_other_code(app):
    """Leave other code out of the list of code pages, and link each name to its room's page.

    A name may be met first on another page: as the value of a field there.
    """
    pages = {}
    for module_name, held in app.env._viewcode_modules.items():
        if held and held[0]:
            code, tags, used, _ = held
            home = room(module_name)
            own = {name: page for name, page in used.items() if page == f"library/{home}"}
            pages[module_name] = (code, tags, own, home)
    app.env._viewcode_modules = pages
    return ()


def write_static(app):
    """Write the style sheet and the script of the book beside the theme's."""
    place = Path(app.outdir) / "_static"
    if app.builder.format == "html":
        place.mkdir(parents=True, exist_ok=True)
        style = "\n".join((STYLE, read("pictures.css"), (HERE / "book.css").read_text("utf-8")))
        (place / "book.css").write_text(style, encoding="utf-8")
        text = (HERE / "book.js").read_text(encoding="utf-8")
        (place / "book.js").write_text(f"{{\n{module('host.js')}\n{text}}}\n", encoding="utf-8")
        (place / "page.js").write_text((HERE / "page.js").read_text("utf-8"), encoding="utf-8")


def setup(app):
    """Connect the above to Sphinx."""
    app.connect("autodoc-process-docstring", read_docstring)
    app.connect("autodoc-skip-member", skip_other_names)
    app.connect("html-page-context", add_widgets)
    app.connect("html-page-context", give_headings_a_level, priority=900)  # after the theme
    app.connect("viewcode-find-source", skip_other_code)
    app.connect("html-collect-pages", drop_other_code, priority=100)  # before the pages are made
    app.connect("builder-inited", write_static)
    app.add_css_file("book.css")
    app.add_js_file("page.js")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
