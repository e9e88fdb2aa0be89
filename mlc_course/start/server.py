"""Serve the start page to JupyterLab, whose tab for it is in ``labextension``."""

from __future__ import annotations

import json
from typing import Any

from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from tornado import web

from mlc_course import progress
from mlc_course.start.course import ENGLISH
from mlc_course.start.page import start_page


class PageHandler(JupyterHandler):
    """The start page."""

    @web.authenticated
    def get(self) -> None:
        """Answer the page in a language, as HTML without a head."""
        lab = url_path_join(self.base_url, "lab/tree")
        language = self.get_query_argument("language", ENGLISH)
        self.finish(start_page(language, link=lambda path: url_path_join(lab, path)))

    @web.authenticated
    def delete(self) -> None:
        """Forget what is done; 409 with what is wrong, as plain text."""
        try:
            progress.forget()
        except OSError as error:
            self.set_status(409)
            self.set_header("Content-Type", "text/plain; charset=utf-8")
            self.finish(str(error))
        else:
            self.finish(json.dumps({}))


def add_handlers(app: Any) -> None:
    """Have a Jupyter server answer at ``course``."""
    address = url_path_join(app.base_url, "course/?")
    app.web_app.add_handlers(".*$", [(address, PageHandler)])


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(app: Any) -> None:
    add_handlers(app)
