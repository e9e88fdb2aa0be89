"""Serve the start page to JupyterLab, whose tab for it is in ``labextension``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from tornado import web

from mlc_course import progress
from mlc_course.errors import CourseError
from mlc_course.start.course import ENGLISH
from mlc_course.start.page import start_page


class PageHandler(JupyterHandler):
    """The start page."""

    def initialize(self, root: Path) -> None:
        """Take where the course is."""
        self.root = root

    @web.authenticated
    def get(self) -> None:
        """Answer the page in a language, as HTML without a head; 404 with what is wrong."""
        lab = url_path_join(self.base_url, "lab/tree")
        language = self.get_query_argument("language", ENGLISH)
        try:
            page = start_page(self.root, language, link=lambda path: url_path_join(lab, path))
        except CourseError as error:
            raise web.HTTPError(404, str(error)) from None
        self.finish(page)

    @web.authenticated
    def delete(self) -> None:
        """Forget what is done."""
        try:
            progress.forget()
        except OSError as error:
            raise web.HTTPError(409, str(error)) from None
        self.finish(json.dumps({}))


def add_handlers(app: Any, root: Path) -> None:
    """Have a Jupyter server answer at ``course``."""
    address = url_path_join(app.base_url, "course/?")
    app.web_app.add_handlers(".*$", [(address, PageHandler, {"root": root})])


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(app: Any) -> None:
    add_handlers(app, Path(app.root_dir))
