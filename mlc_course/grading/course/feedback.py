"""A page for each student: what each check saw, and of hidden ones only whether they are met."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

from mlc_course.extras import brought_by

with brought_by("grade"):
    from jinja2 import Environment

from mlc_course.errors import UsageError
from mlc_course.grading.course.grader import Marks, TestMarks
from mlc_course.grading.course.result import Result
from mlc_course.grading.process import Verdict

LONGEST_NAME = 200  # bytes; a file system takes 255

PAGE = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string("""\
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ marks.assignment }}: {{ marks.student }}</title>
<style>
  :root { color-scheme: light dark; }
  html { background: Canvas; color: CanvasText; }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto;
         padding: 0 1rem; }
  h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
  .points { float: right; font-weight: normal; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .4rem 0; padding: .6rem .8rem;
        border-left: .3rem solid #888; background: #8881; font-size: .85rem; }
  .met { border-color: #0072b2; } .unmet { border-color: #d55e00; }
</style>
<main>
<h1>{{ marks.assignment }} <span class="points">{{ "%g" % result.final }} of
{{ "%g" % result.out_of }} points ({{ "%.0f" % result.percent }} %)</span></h1>
<p>{{ marks.student }}{% if marks.status != "graded" %}, {{ marks.status }}{% endif %}</p>
{% if result.late.note %}
<p>{{ result.late.note }}. {{ "%g" % result.points }} points were earned, {{ "%g" % result.final }}
count.</p>
{% endif %}
{% for name, points in result.extra.items() %}
<p>{{ "%g" % points }} points of extra credit for {{ name }} are in them.</p>
{% endfor %}
{% if result.waiting %}
<p>Points for {{ result.waiting }} of your answers are still to be given by a person.</p>
{% endif %}
{% for test in marks.tests %}
<h2>{{ test.grade_id }} <span class="points">{{ "%g" % result.points_of(test) }} of
{{ "%g" % test.out_of }}</span></h2>
{% if test.grade_id in result.overruled %}
<p>These points were given by a person.</p>
{% endif %}
{% if test.parts %}
<p>Points in parts:
{% for part in test.parts %}
{{ "%g" % (part.worth if part.is_met else 0) }} of {{ "%g" % part.worth }}
{%- if part.is_hidden %} (hidden){% endif %}{{ "." if loop.last else "," }}
{% endfor %}
</p>
{% endif %}
{% for finding in test.visible %}
<pre class="{{ finding.verdict }}">{{ finding }}</pre>
{% endfor %}
{% for verdict, line in hidden(test) %}
<pre class="{{ verdict }}">{{ line }}</pre>
{% endfor %}
{% endfor %}
{% for each in result.by_person %}
<h2>{{ each.name }} <span class="points">
{%- if each.points is none %}not graded yet,{% else %}{{ "%g" % each.points }}{% endif %} of
{{ "%g" % each.out_of }}</span></h2>
{% if each.comment %}
<pre>{{ each.comment }}</pre>
{% endif %}
{% endfor %}
{% if marks.remarks %}
<h2>While your cells ran</h2>
{% for remark in marks.remarks %}
<pre>{{ remark }}</pre>
{% endfor %}
{% endif %}
{% if marks.counters_only %}
<p>○ means: the machine was too noisy to tell a time. Such a check takes no point away; the exercise
was graded on counters only.</p>
{% endif %}
</main>
</html>
""")


def page(graded: Result | Marks) -> str:
    """Feedback as HTML. What hidden checks asked, expected and got is not in it."""
    result = graded if isinstance(graded, Result) else Result(graded)
    return PAGE.render(marks=result.marks, result=result, hidden=_hidden)


def _hidden(test: TestMarks) -> list[tuple[str, str]]:
    kinds = Counter((str(each.verdict), each.kind) for each in test.hidden)
    word = {Verdict.MET: "✔ met", Verdict.UNMET: "✘ not met", Verdict.UNJUDGED: "○ not to be told"}
    return [
        (verdict, f"{word[Verdict(verdict)]}: {count} hidden, {kind}")
        for (verdict, kind), count in kinds.items()
    ]


def write(folder: Path, result: Result) -> Path:
    """Write a student's page as ``folder/STUDENT/ASSIGNMENT.html``.

    Raises ``UsageError`` where that cannot be written.
    """
    marks = result.marks
    path = folder / _folder_name(marks.student) / f"{marks.assignment}.html"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(result), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written", got=error.strerror) from None
    return path


def _folder_name(student: str) -> str:
    """A student's name, cut where it is too long for a folder's."""
    raw = student.encode()
    if len(raw) <= LONGEST_NAME:
        return student
    told = hashlib.sha256(raw).hexdigest()[:8]  # so that different names stay different
    return f"{raw[:LONGEST_NAME].decode(errors='ignore')}~{told}"
