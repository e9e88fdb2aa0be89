"""Serve the slides of a lesson beside the kernels that run its cells."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import webbrowser
from pathlib import Path
from typing import Any

from mlc_course.extras import brought_by

with brought_by("lab"):
    from jupyter_server.base.handlers import JupyterHandler
    from jupyter_server.serverapp import ServerApp
    from jupyter_server.utils import url_path_join
    from tornado import web

from mlc_course.errors import CourseError, MachineError, UsageError
from mlc_course.lecture.page import build, list_page
from mlc_course.lecture.poll import Poll
from mlc_course.lecture.recording import load
from mlc_course.lecture.slides import all_decks, lesson_notebook, read_deck

FIRST_PORT, PORTS = 8899, 100


class SlidesHandler(JupyterHandler):
    """The page of one lesson's slides."""

    def initialize(self, notebooks: Path, poll_address: str) -> None:
        """Take where the notebooks are, and where phones vote ("" without a vote)."""
        self.notebooks, self.poll_address = notebooks, poll_address

    @web.authenticated
    def get(self, number: str) -> None:
        """Answer the page, or 404 with what is wrong."""
        try:
            deck = read_deck(lesson_notebook(self.notebooks, number))
            recording = load(deck.name)
        except CourseError as error:
            raise web.HTTPError(404, str(error)) from None
        live = {
            "base": self.base_url,
            "token": self.token,
            "folder": str(self.notebooks.relative_to(self.settings["server_root_dir"])),
            "poll": self.poll_address,
        }
        self.finish(build(deck, recording, live))


class ListHandler(JupyterHandler):
    """The page of all lessons that have slides."""

    def initialize(self, notebooks: Path) -> None:
        """Take where the notebooks are."""
        self.notebooks = notebooks

    @web.authenticated
    def get(self) -> None:
        """Answer the page."""
        self.finish(list_page(all_decks(self.notebooks), url_path_join(self.base_url, "lecture")))


class VotesHandler(JupyterHandler):
    """The poll, as the slides use it."""

    def initialize(self, poll: Poll) -> None:
        """Take the poll."""
        self.poll = poll

    @web.authenticated
    def put(self) -> None:
        """Open a question for the phones."""
        asked = json.loads(self.request.body)
        self.poll.open(asked["name"], asked["question"], tuple(asked["choices"]))
        self.finish("{}")

    @web.authenticated
    def get(self) -> None:
        """Answer the votes for the question that is open."""
        self.finish(json.dumps({"name": self.poll.name, "votes": self.poll.tally()}))


def add_handlers(app: Any, notebooks: Path, poll: Poll, poll_address: str) -> None:
    """Have a Jupyter server answer at ``lecture/NUMBER``, and list the lessons at ``lecture``."""
    own = {"notebooks": notebooks, "poll_address": poll_address}
    handlers = [
        (url_path_join(app.base_url, "lecture/?"), ListHandler, {"notebooks": notebooks}),
        (url_path_join(app.base_url, "lecture/votes"), VotesHandler, {"poll": poll}),
        (url_path_join(app.base_url, r"lecture/(\d\d\w*)"), SlidesHandler, own),
    ]
    app.web_app.add_handlers(".*$", handlers)


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(app: Any) -> None:
    """Have JupyterLab answer the same addresses; hands are counted there, as it has no vote."""
    add_handlers(app, Path(app.root_dir) / "notebooks", Poll(), "")


def free_port() -> int:
    """Return the first free port from 8899 on; raises ``MachineError`` where there is none."""
    for port in range(FIRST_PORT, FIRST_PORT + PORTS):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise MachineError("lecture: no free port", expected=f"one of {PORTS} from {FIRST_PORT} on")


def check_port(port: int | None) -> None:
    """Raise ``UsageError`` for a port that does not exist, ``MachineError`` for one in use."""
    if port is None:
        return
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OverflowError:
        raise UsageError("lecture: no such port", expected="0 to 65535", got=port) from None
    except OSError as error:
        raise MachineError(f"lecture: port {port}", got=error) from None


def serve(notebook: Path, *, browser: bool, port: int | None, poll_port: int | None) -> None:
    """Serve one lesson's slides until Ctrl-C, and open them in the browser or print the address.

    ``poll_port`` lets phones vote. Raises before anything is started: ``UsageError`` for a lesson
    without slides or recording, or a port that does not exist; ``MachineError`` for one in use.
    """
    check_port(port)
    if port is not None and port == poll_port:
        raise UsageError("lecture: one port for slides and votes", got=port, expected="two ports")
    load(read_deck(notebook).name)
    os.environ["JUPYTER_NO_CONFIG"] = "1"  # no other extension: the server is up sooner
    poll = Poll()
    poll_address = "" if poll_port is None else poll.listen(poll_port)
    port, token = port or free_port(), secrets.token_hex(16)
    words = [
        f"--ServerApp.root_dir={notebook.parent.parent}",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        "--no-browser",
        f"--IdentityProvider.token={token}",
        "--KernelRestarter.time_to_dead=0.5",  # the wall hears of a dead kernel within a second
        "--ServerApp.log_level=ERROR",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        words.append("--allow-root")  # a container's only user; the server listens on loopback
    app = ServerApp.instance()
    app.initialize(words, find_extensions=False)
    _stop_at_ctrl_c(app)
    add_handlers(app, notebook.parent, poll, poll_address)
    address = f"http://127.0.0.1:{port}/lecture/{notebook.stem[:2]}?token={token}"

    def announce() -> None:
        print(f"Slides: {address}", flush=True)
        if poll_address:
            print(f"Votes:  {poll_address}", flush=True)
        if browser:
            app.io_loop.run_in_executor(None, webbrowser.open, address)

    app.io_loop.add_callback(announce)  # after the one that listens
    app.start()


def _stop_at_ctrl_c(app: ServerApp) -> None:
    """Stop a server at Ctrl-C, in the middle of a request too; a second one ends it at once.

    An exception could be lost there: Tornado logs what the reading of a request raises, and goes
    on. In a terminal Jupyter has a handler of its own, which asks first.
    """

    def stop(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        app.stop(from_signal=True)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, stop)
