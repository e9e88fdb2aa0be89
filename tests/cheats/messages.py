"""Cells that speak on the grader's own connection, or fill its answers with what it must not run.

The connection is a socket among the process's descriptors: whoever finds it may answer first.
"""

from __future__ import annotations

from pathlib import Path

from corpus.handing_in import Notebook, hand_in

FIND = """\
import json, os, socket, stat, struct, time
def connection():
    for number in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                return socket.socket(fileno=os.dup(number))
        except OSError:
            continue
def frame(text):
    raw = text if isinstance(text, bytes) else text.encode()
    return struct.pack("!i", len(raw)) + raw
near = connection()
"""


def forged_replies(folder: Path, exercise: Notebook) -> None:
    """Hundreds of replies that claim success, sent before anything is asked."""
    hand_in(
        folder,
        exercise,
        first=FIND
        + """\
praise = {"text": '"met"', "value": "met", "failed": "", "verdict": "met", "points": 2,
          "visible": [], "hidden": [], "findings": []}
try:
    for _ in range(300):
        near.send(frame(json.dumps(praise)), socket.MSG_DONTWAIT)  # the server shares its mode
except OSError:
    pass""",
    )


def half_a_message(folder: Path, exercise: Notebook) -> None:
    """A message of which one byte comes each second."""
    hand_in(
        folder,
        exercise,
        first=FIND
        + """\
near.sendall(struct.pack("!i", 1000))
while True:
    near.sendall(b" ")
    time.sleep(0.5)""",
    )


def enormous_length(folder: Path, exercise: Notebook) -> None:
    """A header that announces ten gigabytes."""
    hand_in(folder, exercise, first=FIND + 'near.sendall(struct.pack("!iQ", -1, 10 << 30))')


def wide_message(folder: Path, exercise: Notebook) -> None:
    """A short text that takes a hundred times its size when it is read as JSON."""
    hand_in(
        folder,
        exercise,
        first=FIND + 'near.sendall(frame("[" + "[]," * (5 << 20) + "[]]"))\nos._exit(0)',
    )


def deep_message(folder: Path, exercise: Notebook) -> None:
    """Brackets within brackets, deeper than a parser's stack."""
    hand_in(
        folder,
        exercise,
        first=FIND
        + """\
for text in ("[" * 5_000_000, "[" * 900 + "]" * 900, '{"error":' * 900 + "1" + "}" * 900):
    near.sendall(frame(text))
    near.recv(1 << 16)
near.sendall(frame(json.dumps({"failed": json.loads("[" * 400 + "]" * 400)})))""",
    )


def no_text_at_all(folder: Path, exercise: Notebook) -> None:
    """Pickles, bytes that are no text, numbers with a million digits, half of a character."""
    hand_in(
        folder,
        exercise,
        first=FIND
        + """\
import pickle
class Acts:
    def __reduce__(self): return os.system, ("touch /tmp/unpickled",)
for raw in (pickle.dumps(Acts()), b"\\xff\\xfe\\x00", b"", b"9" * 1_000_000, b'"\\\\ud800"',
            b'{"failed": "\\\\ud800\\\\udfff"}', b'{"error": {"what": "\\\\ud800", "got": [1]}}',
            b'{"error": 7}', b'{"error": null, "text": {}}', b'{"text": 7}', b'{"failed": NaN}'):
    near.sendall(frame(raw))
    near.recv(1 << 20)""",
    )


def markup_in_errors(folder: Path, exercise: Notebook) -> None:
    """Error texts and cell names with HTML, formulas, terminal codes and half of a character."""
    text = r"=cmd|'/C calc'!A0<script>alert(1)</script>\x1b[2J\x1b]0;title\x07\ud800\r\n@SUM(1)"
    exercise = exercise | {"cells": [*exercise["cells"]]}
    about = {"nbgrader": {"grade_id": "=<script>alert(2)</script>\x1b[2J\ud800" + "x" * 100_000}}
    exercise["cells"].append(
        {"cell_type": "code", "metadata": about, "source": f'raise ValueError("{text}")'}
        | {"id": "markup"}
    )
    hand_in(
        folder,
        exercise,
        first=f'raise ValueError("{text}")',
        along_rows=f'def along_rows(sch):\n    raise ValueError("{text}" * 100_000)',
        add_rows=f'add_rows = type("{text}".replace("\\ud800", ""), (), {{}})()',
        mean_of_rows=f'def mean_of_rows(a):\n    return "{text}"',
        flaws=f'flaws = {{"{text}": "{text}"}}',
        counter_example=f'counter_example = "{text}" * 1000',
    )
