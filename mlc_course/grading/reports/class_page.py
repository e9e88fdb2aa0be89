"""One page on a class, for the instructor: what was hard, what went wrong, and what is the same."""

from __future__ import annotations

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlc_course.grading.course import GRADED, ByPerson, Result, TestMarks
from mlc_course.grading.process import Verdict
from mlc_course.grading.reports.question_page import PAGES, STYLE
from mlc_course.grading.reports.similarity import LARGEST_GROUP, SHORTEST, Same, pairs

BINS = 10
MOST_DIAGNOSES = 5  # of one exercise
MOST_LINES = 100  # of the lists of what is the same
LONGEST_LINE = 200  # characters of an example
IN_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
NUMBER = re.compile(r"-?\d[\d.,e+-]*\d|-?\d")

PAGE = PAGES.from_string(
    STYLE
    + """\
<title>The class</title>
<style>
  .bars { display: flex; align-items: flex-end; gap: 2px; height: 8rem; margin: .5rem 0 0; }
  .bars div { flex: 1; background: var(--bar); position: relative; min-height: 1px; }
  .bars span { position: absolute; bottom: 100%; width: 100%; text-align: center;
               font-size: .8rem; }
  .scale { display: flex; justify-content: space-between; margin-bottom: 1rem;
           font-size: .8rem; opacity: .75; }
  .track { display: flex; height: .8rem; background: var(--soft); min-width: 6rem; }
  .track .all { background: var(--bar); } .track .part { background: var(--bar); opacity: .5; }
  .track .waits { background: repeating-linear-gradient(45deg, var(--line) 0 4px,
                  transparent 4px 8px); }
  ul { margin: .2rem 0 .6rem; padding-left: 1.2rem; } li { overflow-wrap: anywhere; }
</style>
<main>
<h1>The class</h1>
<p class="quiet">For you, not for the class: this page names students and shows what hidden checks
found.</p>
{% for each in assignments %}
<h2>{{ each.name }}</h2>
<p>{{ each.count }} submissions{% if each.refused %}, {{ each.refused }} of them refused{% endif %}
{%- if each.late %}, {{ each.late }} late{% endif %}; the median is
{{ "%.0f" % each.median }} %.
{% if each.waiting %}
{{ each.waiting }} answer{{ " waits" if each.waiting == 1 else "s wait" }} for points, and
count{{ "s" if each.waiting == 1 }} 0 until then.
{% endif %}
</p>
<div class="bars" role="img"
 aria-label="submissions by percent, in tens: {{ each.bins|join(', ') }}">
{% for count in each.bins %}
<div style="height: {{ '%.1f' % (80 * count / each.most) }}%"><span>{{ count or '' }}</span></div>
{% endfor %}
</div>
<div class="scale"><span>0 %</span><span>50 %</span><span>100 %</span></div>
<table>
<tr><th>exercise</th><th class="n">points</th><th class="n">mean</th><th>all
<span class="quiet">(full)</span>, some (pale), waiting (striped)</th></tr>
{% for row in each.exercises %}
<tr><td>{{ row.name }}</td><td class="n">{{ "%g" % row.out_of }}</td>
<td class="n">{{ "%.2f" % row.mean }}</td>
<td><div class="track" role="img"
 aria-label="{{ row.full }} all, {{ row.some }} some, {{ row.waits }} waiting, {{ row.none }} none">
<div class="all" style="width: {{ '%.1f' % (100 * row.full / row.points|length) }}%"></div>
<div class="part" style="width: {{ '%.1f' % (100 * row.some / row.points|length) }}%"></div>
<div class="waits" style="width: {{ '%.1f' % (100 * row.waits / row.points|length) }}%"></div>
</div></td></tr>
{% endfor %}
</table>
<h3>What went wrong most often</h3>
{% for row in each.exercises if row.diagnoses %}
<p>{{ row.name }}</p>
<ul>
{% for diagnosis in row.diagnoses %}
<li><b>{{ diagnosis.count }}</b> &times; {{ diagnosis.what }}
{%- if diagnosis.is_hidden %} <span class="quiet">(hidden)</span>{% endif %}
{%- if diagnosis.got %}<br><span class="quiet">one of them got: {{ diagnosis.got }}</span>
{%- endif %}</li>
{% endfor %}
</ul>
{% else %}
<p>Nothing: every check was met.</p>
{% endfor %}
<p class="quiet">Grading one submission took {{ "%.0f" % each.seconds }} s (median), at most
{{ "%.0f" % each.slowest }} s ({{ each.slowest_student }}).</p>
{% endfor %}
<h2>The same answers</h2>
<p class="quiet">Compared without comments, docstrings, formatting and the names of variables. Left
out are the text that was given, your solution, and answers of fewer than {{ shortest }} characters.
That two answers are the same is no proof that one was copied: a question can have few good answers,
and classes learn together.</p>
{% if same %}
<table>
<tr><th class="n">same</th><th>two students</th><th>in</th></tr>
{% for pair in pairs[:most] %}
<tr><td class="n">{{ pair.cells|length }}</td><td>{{ pair.students[0] }}<br>{{ pair.students[1] }}
</td><td>{{ pair.cells|join(", ") }}</td></tr>
{% endfor %}
</table>
{% if pairs|length > most %}<p>... and {{ pairs|length - most }} more pairs.</p>{% endif %}
{% for each in large[:most] %}
<p>{{ each.students|length }} students have the same answer to {{ each.assignment }}:
{{ each.cell }}: {{ each.students|join(", ") }}.</p>
{% endfor %}
{% else %}
<p>None.</p>
{% endif %}
</main>
</html>
"""
)


@dataclass(frozen=True)
class Diagnosis:
    """What a check said, to how many students, and what one of them had."""

    count: int
    what: str
    got: str
    is_hidden: bool


@dataclass(frozen=True)
class Exercise:
    """How the class did in one cell."""

    name: str
    out_of: float
    points: tuple[float | None, ...]  # None waits
    diagnoses: tuple[Diagnosis, ...] = ()

    @property
    def mean(self) -> float:
        given = [each for each in self.points if each is not None]
        return statistics.fmean(given) if given else 0.0

    @property
    def full(self) -> int:
        return sum(each is not None and each >= self.out_of for each in self.points)

    @property
    def waits(self) -> int:
        return sum(each is None for each in self.points)

    @property
    def some(self) -> int:
        return sum(each is not None and 0 < each < self.out_of for each in self.points)

    @property
    def none(self) -> int:
        return len(self.points) - self.full - self.some - self.waits


def page_of_class(results: Sequence[Result], same: Sequence[Same]) -> str:
    """HTML, in one file that loads nothing."""
    groups: defaultdict[str, list[Result]] = defaultdict(list)
    for each in results:
        groups[each.marks.assignment].append(each)
    return PAGE.render(
        assignments=[_assignment(name, groups[name]) for name in sorted(groups)],
        same=same,
        pairs=pairs(same),
        large=[each for each in same if len(each.students) > LARGEST_GROUP],
        most=MOST_LINES,
        shortest=SHORTEST,
    )


def _assignment(name: str, results: Sequence[Result]) -> dict[str, object]:
    bins = [0] * BINS
    for each in results:
        tens = int(round(each.percent, 6) * BINS / 100)  # 3 of 10 are 29.999999999999996 % of some
        bins[min(max(0, tens), BINS - 1)] += 1  # a person may give more or less than there is
    slowest = max(results, key=lambda each: each.marks.seconds)
    return {
        "name": name,
        "count": len(results),
        "refused": sum(each.marks.status != GRADED for each in results),
        "late": sum(each.late.days > 0 for each in results),
        "waiting": sum(each.waiting for each in results),
        "median": statistics.median(each.percent for each in results),
        "bins": bins,
        "most": max(bins),
        "exercises": list(_exercises(results)),
        "seconds": statistics.median(each.marks.seconds for each in results),
        "slowest": slowest.marks.seconds,
        "slowest_student": slowest.marks.student,
    }


def _exercises(results: Sequence[Result]) -> Iterator[Exercise]:
    """Tests, in the order of the exam, then what a person grades."""
    tests: defaultdict[str, list[tuple[TestMarks, float]]] = defaultdict(list)
    by_person: defaultdict[str, list[ByPerson]] = defaultdict(list)
    for each in results:
        for test in each.marks.tests:
            tests[test.grade_id].append((test, each.points_of(test)))
        for question in each.by_person:
            by_person[question.name].append(question)
    for name, found in tests.items():
        points = tuple(points for _, points in found)
        yield Exercise(name, found[0][0].out_of, points, _diagnoses([test for test, _ in found]))
    for name, asked in by_person.items():
        yield Exercise(name, asked[0].out_of, tuple(each.points for each in asked))


def _diagnoses(tests: Sequence[TestMarks]) -> tuple[Diagnosis, ...]:
    counts: Counter[tuple[str, bool]] = Counter()
    examples: defaultdict[tuple[str, bool], dict[str, str]] = defaultdict(dict)
    for test in tests:
        own: set[tuple[str, bool]] = set()
        for findings, is_hidden in ((test.visible, False), (test.hidden, True)):
            for each in findings:
                if each.verdict is Verdict.UNMET:
                    key = _kind(each.what), is_hidden
                    own.add(key)
                    examples[key].setdefault(each.what, each.got)
        counts.update(own)
    found = []
    for (kind, is_hidden), count in counts.most_common(MOST_DIAGNOSES):
        texts = examples[kind, is_hidden]
        what, got = next(iter(texts.items()))
        found.append(
            Diagnosis(count, _cut(what if len(texts) == 1 else kind), _cut(got), is_hidden)
        )
    return tuple(found)


def _kind(what: str) -> str:
    """A finding's text without numbers and what stands in brackets: inputs differ by student."""
    before = ""
    while what != before:
        before, what = what, IN_BRACKETS.sub("\u2026", what)
    return NUMBER.sub("\u2026", what)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]} ..."
