"""A real JupyterLab with fresh settings, and a page of headless Chromium that has it open."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from ports import free_port

from mlc_course.commands.lab import LECTURES

ROOT = Path(__file__).parent.parent.parent
NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_S = 120  # machines that run tests are busy ones
SETTINGS = {
    # Cells out of sight are drawn too, and no news covers a corner of the page.
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false"},
}


def chromium() -> str:
    """The browser of this machine; its absence is a failure, because the README promises it."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail("no Chromium here: apt-get install chromium, or Chrome from its own site")
    return found


def environment(home: Path) -> dict[str, str]:
    """The variables of a JupyterLab that has never run before."""
    for name, values in SETTINGS.items():
        path = home / "settings" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))
    own = {
        f"JUPYTER_{kind}_DIR": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")
    }
    workspaces = {"JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces"}
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))  # for nbgrader
    places = {key: str(home / name) for key, name in workspaces.items()}
    return {**os.environ, "PATH": path, **own, **places}


@pytest.fixture(scope="session")
def course_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab on a copy of the notebooks."""
    home = tmp_path_factory.mktemp("lab")
    for part in ("notebooks", "exercises"):
        shutil.copytree(ROOT / part, home / "course" / part)
    with jupyterlab(home) as address:
        yield address


@pytest.fixture(scope="module")
def lab(course_server: str) -> Iterator[str]:
    """The address of the one JupyterLab; the kernels that a file's tests start end with them."""
    yield course_server
    end_kernels(course_server)


def end_kernels(address: str) -> None:
    for session in asked(f"{address}/api/sessions"):
        asked(f"{address}/api/sessions/{session['id']}", method="DELETE")


def asked(url: str, *, method: str = "GET") -> Any:
    """What the server answers."""
    same = "tests"  # as a page does: it repeats what its cookie says
    headers = {"Cookie": f"_xsrf={same}", "X-XSRFToken": same}
    request = urllib.request.Request(url, method=method, headers=headers)
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
        return json.loads(reply.read() or "null")


@contextlib.contextmanager
def jupyterlab(home: Path) -> Iterator[str]:
    """The address of a JupyterLab that runs in ``home/course`` and keeps its settings beside it."""
    port = free_port()
    words = [sys.executable, "-m", "jupyterlab", "--no-browser", f"--port={port}"]
    words += [f"--ServerApp.root_dir={home / 'course'}", "--IdentityProvider.token="]
    words += [*LECTURES, "--LabApp.expose_app_in_browser=True", "--ServerApp.port_retries=0"]
    words += ["--allow-root"] if os.geteuid() == 0 else []
    log = home / "log"
    with log.open("w") as out:
        where, variables = home / "course", environment(home)
        server = subprocess.Popen(words, cwd=where, env=variables, stdout=out, stderr=out)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(address, server, log)
        yield address
    finally:
        server.terminate()
        server.wait(PATIENCE_S)


def wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(10 * PATIENCE_S):
        if server.poll() is not None:
            break
        try:
            asked(f"{address}/api/status")
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")


@pytest.fixture(scope="session")
def chrome() -> Iterator[Browser]:
    """The one Chromium: Playwright refuses a second one in the same process."""
    expect.set_options(timeout=1000 * PATIENCE_S)
    # A container has no sandbox for Chromium to use, and a small /dev/shm.
    arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=arguments)
        yield started
        started.close()


def new_context(chrome: Browser, **settings: Any) -> BrowserContext:
    """Pages with settings of their own, as patient as all others."""
    context = chrome.new_context(**settings)
    context.set_default_timeout(1000 * PATIENCE_S)
    return context


@pytest.fixture(scope="session")
def browser(chrome: Browser) -> BrowserContext:
    """Pages that share a cache: JupyterLab's scripts take seconds to compile."""
    return new_context(chrome, viewport={"width": 1400, "height": 1000})


def new_page(browser: BrowserContext) -> AbstractContextManager[Page]:
    """A page of its own; JupyterLab is opened with ``?reset``, and so without what was open."""
    return contextlib.closing(browser.new_page())


@pytest.fixture
def page(browser: BrowserContext) -> Iterator[Page]:
    with new_page(browser) as made:
        yield made
