"""All answers to a question on one page, to read while filling in the table beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlc_course.extras import brought_by

with brought_by("grade"):
    from jinja2 import Environment

from mlc_course.grading.reports.by_hand import Given, Place, Points
from mlc_course.grading.reports.questions import Question

# Nothing of what students wrote is run or loaded, whatever gets past the escapes.
STYLE = """\
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
  :root { color-scheme: light dark; --line: #8886; --soft: #8881; --bar: #0072b2; --bad: #d55e00; }
  @media (prefers-color-scheme: dark) { :root { --bar: #56b4e9; --bad: #f0894a; } }
  html { background: Canvas; color: CanvasText; }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto;
         padding: 0 1rem; }
  h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .5rem; }
  h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; overflow-wrap: anywhere; }
  .right { float: right; font-weight: normal; }
  .quiet { opacity: .75; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .4rem 0; padding: .6rem .8rem;
        border-left: .3rem solid var(--line); background: var(--soft); font-size: .9rem; }
  .waits { border-color: var(--bad); } .given { border-color: var(--bar); }
  table { border-collapse: collapse; width: 100%; }
  th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0;
           border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
  td.n, th.n { text-align: right; white-space: nowrap; }
</style>
"""
PAGES = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
PAGE = PAGES.from_string(
    STYLE
    + """\
<title>{{ question.assignment }}: {{ question.name }}</title>
<main>
<h1>{{ question.name }} <span class="right">{{ "%g" % question.out_of }} points</span></h1>
<p class="quiet">{{ question.assignment }}. {{ answers|length }} students; {{ waiting }} waiting for
points. Write points into the table beside this page (.csv), save it, and give the same command
again. An answer that is not there has 0 points until you write others.</p>
{% if question.asked %}
<h2>Asked</h2>
<pre>{{ question.asked }}</pre>
{% endif %}
{% if question.solution %}
<h2>Your answer</h2>
<pre>{{ question.solution }}</pre>
{% endif %}
<h2>Answers</h2>
{% for row in answers %}
<h3>{{ loop.index }}. {{ row.student }} <span class="right">
{%- if row.given.points is not none %}{{ "%g" % row.given.points }} points
{%- elif row.text %}waits{% else %}no answer{% endif %}</span></h3>
{% if row.text %}
<pre class="{{ 'waits' if row.given.points is none else 'given' }}">{{ row.text }}</pre>
{% endif %}
{% if row.given.comment %}
<p class="quiet">Your comment: {{ row.given.comment }}</p>
{% endif %}
{% endfor %}
</main>
</html>
"""
)


def page_of(question: Question, answers: Mapping[str, str], points: Points) -> str:
    """HTML with the answer of each student, in the order and with the numbers of the table."""
    rows: list[dict[str, Any]] = []
    for student, text in answers.items():
        place = Place(question.assignment, question.name, student)
        rows.append({"student": student, "text": text, "given": points.get(place, Given())})
    waiting = sum(bool(row["text"]) and row["given"].points is None for row in rows)
    return PAGE.render(question=question, answers=rows, waiting=waiting)
