"""Votes are counted once a voter, only for what was asked."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from tornado.ioloop import IOLoop

from mlc_course.errors import MachineError, UsageError
from mlc_course.lecture import Poll

CHOICES = ("once", "<b>twice</b>", "never")


def test_a_second_vote_replaces_the_first() -> None:
    poll = Poll()
    poll.open("q", "How often?", CHOICES)
    for voter, choice in (("a", 0), ("b", 0), ("a", 2)):
        poll.vote(voter, "q", choice)
    assert poll.tally() == {0: 1, 2: 1}


def test_votes_stay_with_their_question() -> None:
    poll = Poll()
    poll.open("q", "How often?", CHOICES)
    poll.vote("a", "q", 1)
    poll.open("r", "How much?", ("one", "two"))
    assert poll.tally() == {}
    poll.open("q", "How often?", CHOICES)
    assert poll.tally() == {1: 1}


@pytest.mark.parametrize(("name", "choice"), [("q", 3), ("q", -1), ("other", 0), ("", 0)])
def test_a_vote_for_nothing_that_was_asked_is_refused(name: str, choice: int) -> None:
    poll = Poll()
    poll.open("q", "How often?", CHOICES)
    with pytest.raises(UsageError):
        poll.vote("a", name, choice)
    assert poll.tally() == {}


@pytest.fixture
def served() -> Iterator[tuple[Poll, int]]:
    poll, ready, loops, ports = Poll(), threading.Event(), [], []

    def serve() -> None:
        loop = IOLoop(make_current=True)
        ports.append(int(poll.listen(0).rpartition(":")[2]))
        loops.append(loop)
        loop.add_callback(ready.set)
        loop.start()
        loop.close(all_fds=True)

    thread = threading.Thread(target=serve)
    thread.start()
    assert ready.wait(30)
    yield poll, ports[0]
    loops[0].add_callback(loops[0].stop)
    thread.join(30)


def asked(port: int, method: str, path: str, body: Any = None, cookie: str = "") -> tuple[int, str]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as line:
        line.request(method, path, body, {"Cookie": cookie} if cookie else {})
        reply = line.getresponse()
        return reply.status, reply.read().decode()


def test_phones_see_the_question_and_vote(served: tuple[Poll, int]) -> None:
    poll, port = served
    poll.open("q", "How <often>?", CHOICES)
    status, page = asked(port, "GET", "/")
    assert status == 200
    assert "How &lt;often&gt;?" in page and "&lt;b&gt;twice" in page and "<b>" not in page
    for voter in range(300):
        vote = json.dumps({"name": "q", "choice": voter % 3})
        assert asked(port, "POST", "/vote", vote, f"voter={voter}")[0] == 200
    assert poll.tally() == {0: 100, 1: 100, 2: 100}


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"name": "q"}', '{"name": "q", "choice": "x"}'])
def test_a_body_that_is_no_vote_is_a_bad_request(served: tuple[Poll, int], body: str) -> None:
    poll, port = served
    poll.open("q", "How often?", CHOICES)
    assert asked(port, "POST", "/vote", body)[0] == 400
    assert poll.tally() == {}


def test_a_port_that_is_taken_is_an_error_of_ours() -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        with pytest.raises(MachineError, match="votes"):
            Poll().listen(taken.getsockname()[1])
