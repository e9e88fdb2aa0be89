"""The server of a lecture ends at Ctrl-C, whenever that comes."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

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


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def started(port: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SERVED, str(NOTEBOOK), str(port)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_ctrl_c_while_a_request_is_read_ends_the_lecture(port: int) -> None:
    """There Tornado would log an exception, and go on."""
    with started(port) as process:
        try:
            assert process.stdout and "Slides: " in process.stdout.readline()
            ask(f"http://127.0.0.1:{port}/pressed")
            said, _ = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 0
    assert said.endswith("the end\n")


def test_ctrl_c_before_the_first_request_ends_the_lecture(port: int) -> None:
    with started(port) as process:
        try:
            assert process.stdout and "Slides: " in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    assert process.returncode == 0
    assert said.endswith("the end\n")


def ask(address: str) -> None:
    """Ask until there is an answer, of whatever kind; the server may only be beginning."""
    for _ in range(10 * PATIENCE_S):
        try:
            urllib.request.urlopen(address, timeout=PATIENCE_S).close()
        except ConnectionRefusedError:
            pass
        except OSError as error:
            if "refused" not in str(error):
                return
        else:
            return
        time.sleep(0.1)
