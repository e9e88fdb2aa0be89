"""The hall's votes: a page for phones on the local network, without an account or the internet.

It listens on a port of its own, so that the kernels stay on loopback behind their token.
"""

from __future__ import annotations

import html
import json
import secrets
import socket
from collections import Counter
from dataclasses import dataclass, field

from tornado import httpserver, web

from mlc_course.errors import MachineError, UsageError

MOST_VOTERS = 2000
COOKIE = "voter"
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Vote</title>
<link rel="icon" href="data:,">
<style>
html {{ background: Canvas; color: CanvasText; }}
body {{ font: 20px/1.4 system-ui, sans-serif; margin: 1em; color-scheme: light dark; }}
button {{ display: block; width: 100%; font: inherit; margin: .5em 0; padding: .8em; }}
[aria-pressed=true] {{ outline: 4px solid #0072b2; font-weight: bold; }}
</style></head><body><main><h1>{question}</h1>{buttons}<p role="status"></p></main>
<script>
const shown = {name};
const said = document.querySelector("p");
for (const button of document.querySelectorAll("button")) button.onclick = async () => {{
  const body = JSON.stringify({{ name: shown, choice: Number(button.value) }});
  const reply = await fetch("vote", {{ method: "POST", body }}).catch(() => null);
  if (!reply?.ok) {{ said.textContent = "Not counted: try again."; return; }}
  for (const each of document.querySelectorAll("button")) each.ariaPressed = each === button;
  said.textContent = "Counted. Another press changes your vote.";
}};
setInterval(async () => {{
  const now = await fetch("now").then((reply) => reply.json()).catch(() => shown);
  if (now !== shown) location.reload();
}}, 2000);
</script></body></html>"""


@dataclass
class Poll:
    """The question that is open, and one vote a voter for each question so far."""

    name: str = ""
    question: str = "No question is open."
    choices: tuple[str, ...] = ()
    votes: dict[str, dict[str, int]] = field(default_factory=dict)

    def open(self, name: str, question: str, choices: tuple[str, ...]) -> None:
        """Ask another question; the votes for it so far are kept."""
        self.name, self.question, self.choices = name, question, choices

    def vote(self, voter: str, name: str, choice: int) -> None:
        """Count a vote, in place of the voter's vote before.

        Raises ``UsageError`` for a question that is not open, an unknown choice, and one voter too
        many.
        """
        if name != self.name or choice not in range(len(self.choices)):
            raise UsageError("vote: no such choice", got=choice)
        votes = self.votes.setdefault(name, {})
        if voter not in votes and len(votes) >= MOST_VOTERS:
            raise UsageError("vote: too many voters", expected=f"at most {MOST_VOTERS}")
        votes[voter] = choice

    def tally(self) -> dict[int, int]:
        """Return the number of votes for each choice that has any."""
        return dict(Counter(self.votes.get(self.name, {}).values()))

    def listen(self, port: int) -> str:
        """Serve the page for phones on all interfaces, and return its address.

        Port 0 means any free one. Raises ``UsageError`` for a port that does not exist, and
        ``MachineError`` for one that is taken.
        """
        handlers = [("/", VotePage), ("/vote", Vote), ("/now", Now)]
        app = web.Application([(path, handler, {"poll": self}) for path, handler in handlers])
        try:
            line = socket.create_server(("0.0.0.0", port))
        except OverflowError:
            raise UsageError("lecture: no such port for votes", got=port) from None
        except OSError as error:
            raise MachineError(f"lecture: port {port} for votes", got=error) from None
        line.setblocking(False)
        # Phones that keep a connection open and say nothing would use up the server's.
        httpserver.HTTPServer(
            app, max_body_size=1000, idle_connection_timeout=10, body_timeout=5
        ).add_socket(line)
        return f"http://{own_address()}:{line.getsockname()[1]}"


def own_address() -> str:
    """Return this machine's address on the local network; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("10.255.255.255", 1))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


class _Handler(web.RequestHandler):
    def initialize(self, poll: Poll) -> None:
        self.poll = poll


class VotePage(_Handler):
    """The question with a button for each choice."""

    def get(self) -> None:
        """Give a voter a cookie, and the page."""
        if not self.get_cookie(COOKIE):
            self.set_cookie(COOKIE, secrets.token_hex(8), samesite="Strict", httponly=True)
        buttons = "".join(
            f'<button type="button" value="{number}">{html.escape(choice)}</button>'
            for number, choice in enumerate(self.poll.choices)
        )
        name = json.dumps(self.poll.name).replace("</", "<\\/")
        question = html.escape(self.poll.question)
        self.finish(PAGE.format(question=question, buttons=buttons, name=name))


class Vote(_Handler):
    """One vote."""

    def post(self) -> None:
        """Count it, or answer 400."""
        try:
            body = json.loads(self.request.body)
            voter = self.get_cookie(COOKIE) or str(self.request.remote_ip)
            self.poll.vote(voter, str(body["name"]), int(body["choice"]))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError, UsageError):
            raise web.HTTPError(400) from None


class Now(_Handler):
    """The name of the question that is open."""

    def get(self) -> None:
        """Answer it as JSON."""
        self.finish(json.dumps(self.poll.name))
