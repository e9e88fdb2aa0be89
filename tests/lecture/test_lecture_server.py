"""The server of a lecture ends at Ctrl-C, whenever that comes."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from ports import free_port

pytestmark = pytest.mark.slow

NOTEBOOK = Path(__file__).parents[2] / "notebooks/05_loop_reorder.ipynb"
PATIENCE_S = 120
SERVED = """
import os, signal, sys
from pathlib import Path
from tornado import httputil
from mlc_course.lecture import serve

plain = httputil.HTTPServerRequest.__init__

def interrupted(request, *args, **named):
    plain(request, *args, **named)
    if "pressed" in request.uri:
        os.kill(os.getpid(), signal.SIGINT)

httputil.HTTPServerRequest.__init__ = interrupted
signal.signal(signal.SIGINT, signal.default_int_handler)
serve(Path(sys.argv[1]), browser=False, port=int(sys.argv[2]), poll_port=None)
print("the end")
"""


@contextlib.contextmanager
def ending(port: int) -> Iterator[subprocess.Popen[str]]:
    """Serve a lecture that ends well in here."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVED, str(NOTEBOOK), str(port)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout and "Slides: " in process.stdout.readline()
            yield process
            said, _ = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 0
    assert said.endswith("the end\n")


def test_ctrl_c_while_a_request_is_read_ends_the_lecture() -> None:
    """There Tornado would log an exception, and go on."""
    port = free_port()
    with ending(port), contextlib.suppress(OSError):  # the answer may be none
        urllib.request.urlopen(f"http://127.0.0.1:{port}/pressed", timeout=PATIENCE_S).close()


def test_ctrl_c_before_the_first_request_ends_the_lecture() -> None:
    with ending(free_port()) as process:
        process.send_signal(signal.SIGINT)
