"""What README.md and docs/ say is so: links, paths, commands, and the output that they show."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from mlc_course.commands import cli
from mlc_course.tensor_program.ladders.record import provenance
from mlc_course.tensor_program.plots import save_machines

ROOT = Path(__file__).parent.parent


def loaded(path: Path) -> ModuleType:
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


samples = loaded(ROOT / "docs" / "samples.py")
README = ROOT / "README.md"
PAGES = {str(path.relative_to(ROOT)): path for path in samples.pages()}
MOST_WORDS = 900

FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
INLINE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)|\bsrc=\"([^\"]+)\"")
ELSEWHERE = re.compile(r"[a-z]+:")
COMMAND = re.compile(r"(?:\$ )?(?:\.venv/bin/)?(mlc-course(?: |$)|make \w)")
PATH = re.compile(r"[\w.-]+(/[\w.-]+)*/?")
SUFFIX = re.compile(r"\.(py|md|ipynb|txt|json|toml|yml|csv|sqlite|svg|png|html|js|css)$")
# Paths are written from one of these folders.
FOLDERS = ("", "mlc_course")
WRITTEN_BY_COMMANDS = {
    "marks.csv", "marks.sqlite", "marks_feedback", "marks_not_graded.csv",
    "marks_by_hand", "marks_class.html", "marks_totals.csv",
    "rules.toml", "days_late.csv", "timestamp.txt", "Grades.csv", "class.csv", "marks_filled",
    ".grading", ".venv", "out",
}  # fmt: skip


def words(page: str) -> int:
    """As ``wc -w`` counts them."""
    return len(page.split())


def anchors(page: str) -> set[str]:
    """The names by which the headings of a page are linked."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page), re.M)
    return {re.sub(r"[^\w\s-]", "", each).strip().lower().replace(" ", "-") for each in headings}


def is_broken(link: str, page: str, folder: Path) -> bool:
    """Tell whether a relative link leads to no file, or to no heading of its page."""
    name, mark, anchor = link.partition("#")
    target = folder / name
    if name and not target.exists():
        return True
    text = target.read_text(encoding="utf-8") if target.suffix == ".md" else page
    return bool(mark) and (target.suffix == ".md" or not name) and anchor not in anchors(text)


def broken_links(page: str, folder: Path) -> list[str]:
    """Relative links to what does not exist."""
    found = (link or source for link, source in LINK.findall(FENCED.sub("", page)))
    relative = (each for each in found if not ELSEWHERE.match(each))
    return [each for each in relative if is_broken(each, page, folder)]


def is_path(code: str) -> bool:
    """``tests/cheats`` and ``errors.py`` are; ``NAME/x.txt`` and ``1/d`` are none."""
    looks = PATH.fullmatch(code) and ("/" in code or SUFFIX.search(code))
    return bool(looks) and not re.search(r"[A-Z]{2,}|NN_", code) and not re.match(r"\d|.\b/", code)


def missing_paths(page: str) -> list[str]:
    """Files and folders in backticks that are not there."""
    named = {code for code in INLINE.findall(FENCED.sub("", page)) if is_path(code)}
    return [
        code
        for code in sorted(named)
        if code.split("/")[0] not in WRITTEN_BY_COMMANDS
        and not any((ROOT / folder / code).exists() for folder in FOLDERS)
    ]


def commands(page: str) -> list[str]:
    """Every ``mlc-course`` and ``make`` command of a page, in a block or in backticks, once."""
    blocks = "\n".join(block for language, block in FENCED.findall(page) if not language)
    lines = [*blocks.splitlines(), *INLINE.findall(FENCED.sub("", page))]
    plain = (re.sub(r"\s+#.*", "", line.strip()) for line in lines)
    found = (re.sub(r"^(\$ )?(\.venv/bin/)?", "", line) for line in plain if COMMAND.match(line))
    return list(dict.fromkeys(found))


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))


def fault(command: str) -> str | None:
    """Why a command cannot be given; ``mlc-course tune`` alone is a mention of it."""
    program, *arguments = shlex.split(command)
    if program == "make":
        targets = [each for each in arguments if "=" not in each]
        unknown = [each for each in targets if each not in make_targets()]
        return f"no target {', '.join(unknown)}" if unknown else None
    if not arguments:
        return None
    mention = len(arguments) == 1 and not arguments[0].startswith("-")
    try:
        cli.build_parser().parse_args([*arguments, "--help"] if mention else arguments)
    except SystemExit as end:
        return f"ends with status {end.code}" if end.code else None
    return None


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_exists(page: str) -> None:
    path = PAGES[page]
    text = path.read_text(encoding="utf-8")
    assert not broken_links(text, path.parent)
    assert not missing_paths(text)
    assert not {line: why for line in commands(text) if (why := fault(line))}


def test_the_readme_fits_on_a_page() -> None:
    assert words(README.read_text(encoding="utf-8")) <= MOST_WORDS
    assert words("one word " * MOST_WORDS) > MOST_WORDS


def test_a_link_to_nothing_is_found() -> None:
    page = (
        "# One, two\n[this](docs/nowhere.md), [that](README.md#start), [it](README.md#end), "
        '[here](#one-two), [there](#three), <img src="no.png">, [x](http://a)'
    )
    assert broken_links(page, ROOT) == ["docs/nowhere.md", "README.md#end", "#three", "no.png"]


def test_a_path_to_nothing_is_found() -> None:
    page = "`tests/nowhere`, `mlc_course/nowhere.py`, `1/d`, `NAME/x.txt`, `tests`, `errors.py`"
    assert missing_paths(page) == ["mlc_course/nowhere.py", "tests/nowhere"]


@pytest.mark.parametrize(
    "command",
    [
        "make tea",
        "mlc-course brew",
        "mlc-course brew tea",
        "mlc-course ladder --fast",
        "make lab x",
    ],
)
def test_a_command_that_cannot_be_given_is_found(command: str) -> None:
    (found,) = commands(f"Give `{command}`.")
    assert fault(found)


def test_commands_are_found_in_blocks_and_in_sentences() -> None:
    page = (
        "Use `make lab`:\n```\n$ mlc-course doctor   # ready?\nfine\n.venv/bin/mlc-course lab\n```"
    )
    assert commands(page) == ["mlc-course doctor", "mlc-course lab", "make lab"]


# What README says one can do. What is not run here is run by the file beside it, which says so.
RUN_HERE = {
    "mlc-course verify rms_norm_matmul rms_norm_matmul_fused": (),
    "mlc-course superoptimize rms_norm_matmul": ("--jobs", "1", "--fresh"),
    "mlc-course superoptimize gqa --target cpu --run": ("--jobs", "1", "--fresh"),
    "mlc-course compile gqa_split_kv --target cuda --out out/gqa.cu": (),
    "mlc-course fuse residual_layer_norm --explain": (),
    "mlc-course select gauss_121_u8 --level avx2": (),
    "mlc-course ladder matmul_exp_matmul --quick": (),
    "mlc-course tune matmul_exp_matmul --recorded": (),
}
RUN_ELSEWHERE = {
    "mlc-course": ("tests/test_docs.py", "cli.main([])"),
    "make lab": ("tests/commands/test_cli.py", "def test_the_lab_opens"),
    "make setup": ("Makefile", "lint: setup"),  # so that `make test` does it
    "make test": (".ci/run", "make test"),
    "make doctor": ("tests/commands/test_doctor.py", '["doctor"'),
    "mlc-course lecture 05": ("tests/browser/test_lecture.py", '"lecture", "05"'),
    "make book": ("tests/browser/test_book.py", '"book" / "build.py"'),
    "make gpu": ("tests/test_benchmarks.py", '"codegen_gpu.py"'),
    "make grade-demo": ("tests/grading/course/test_corpus.py", "corpus.build"),
}


def test_every_command_of_the_readme_is_run_by_a_test() -> None:
    assert set(commands(README.read_text(encoding="utf-8"))) == {*RUN_HERE, *RUN_ELSEWHERE}
    for path, words_of_it in RUN_ELSEWHERE.values():
        assert words_of_it in (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("command", RUN_HERE)
def test_a_command_of_the_readme_succeeds(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*shlex.split(command)[1:], *RUN_HERE[command]]) == 0
    assert capsys.readouterr().out.strip()


def recipe_faults(recipe: str) -> list[str]:
    """Commands of ours in a recipe that cannot be given, and scripts that are not there."""
    joined = recipe.replace("\\\n", " ")
    ours = re.findall(r"bin/(mlc-course [^;|&\n]+)", joined)
    scripts = re.findall(r"bin/python (\S+\.py)", joined)
    missing = [each for each in scripts if not (ROOT / each).exists()]
    return [*(line for line in ours if fault(line)), *missing]


@pytest.mark.parametrize("target", sorted(make_targets()))
def test_a_target_of_make_gives_commands_that_exist(target: str) -> None:
    told = ["make", "--dry-run", "--always-make", "PYTHON=python3", target]
    done = subprocess.run(told, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout
    assert not recipe_faults(done.stdout)


def test_a_recipe_that_cannot_be_given_is_found() -> None:
    assert recipe_faults(".venv/bin/mlc-course brew tea --hot\n.venv/bin/python docs/tea.py")


def test_the_command_alone_says_what_to_begin_with(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main([])
    printed = capsys.readouterr().err
    for command, what in cli.FIRST_COMMANDS:
        assert f"  {command}  " in printed and what in printed
        assert fault(command) is None
    readme = commands(README.read_text(encoding="utf-8"))
    assert {command for command, _ in cli.FIRST_COMMANDS} <= {"mlc-course lab", *readme}


def every_sample() -> Iterator[tuple[str, str]]:
    for page, path in PAGES.items():
        for name in samples.shown(path.read_text(encoding="utf-8")):
            yield page, name


def test_every_sample_is_shown_somewhere_and_each_mark_has_one() -> None:
    assert {name for _, name in every_sample()} == samples.SAMPLES.keys()


@pytest.mark.parametrize(("page", "name"), list(every_sample()))
def test_a_sample_is_what_is_printed_today(page: str, name: str) -> None:
    text = samples.shown(PAGES[page].read_text(encoding="utf-8"))[name]
    assert samples.same(name, text, samples.SAMPLES[name]()), "out of date; make docs"


def test_the_picture_of_the_ladder_is_drawn_from_the_results(tmp_path: Path) -> None:
    assert not samples.picture_is_stale(), "out of date; make docs"
    other = tmp_path / "ladder.png"
    save_machines(samples.climbs()[::-1], other)
    assert samples.picture_is_stale(other)


def test_kernels_on_a_gpu_are_not_yet_measured_until_there_is_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples, "RESULTS", tmp_path)
    (tmp_path / "gpu_text.json").write_text("{}")
    assert "not yet measured" in samples.kernels_on_a_gpu()
    row = {"program": "gqa", "us": {"gqa_split_kv": 10.0, "unfused": 40.0, "CuPy": 30.0}}
    record = {**provenance(), "gpu": "a GPU", "packages": {"cupy": "14.2.0"}, "rows": [row]}
    (tmp_path / "gpu_a_gpu.json").write_text(json.dumps(record))
    shown = samples.kernels_on_a_gpu()
    assert "| a GPU | graph | ours | unfused | CuPy |" in shown
    assert "| gqa | gqa_split_kv | 10.0 us | 4.00 | 3.00 |" in shown
    assert "cupy 14.2.0" in shown


# --- measured figures are taken from a record -----------------------------------------------------

UNIT = r"(?:%|[num]?s|min|seconds?|minutes?|hours?|times|cycles|[kKMGT]i?B(?:/s)?|[GT]FLOP/s)"
FIGURE = re.compile(rf"(?<![\w.,=\"-])\d[\d.,]*(?: (?:to|and) \d[\d.,]*)? ?{UNIT}(?![\w/\"])")
WAIT = re.compile(r"\| [\d a-z]+ (?=\| [\[`])")  # README: how long a command takes, roughly
# Figures with a unit that nobody measured, by what they are.
SET_BY_HAND = {
    "the confidence of an interval": {"95 %"},
    "a limit that a program or a test sets": {
        "60 s", "2 GiB", "70 %", "10 s", "64 MiB", "16 MiB", "4 GiB", "8 MiB", "32 MiB", "8 s",
        "90 seconds", "3 %", "0.97 times", "2 %",
    },
    "what a command of CONTRIBUTING downloads and takes of a disk, roughly": {"0.5 GB", "4 GB"},
    "what an installation fetches and takes of a disk, and a server needs, roughly": {
        "300 MB", "170 MB", "600 MB", "1.1 GB", "0.6 GB", "2.1 GB", "2 GB", "64 s", "47 s",
        "44 s", "46 s", "48 s", "194 MB",
    },
    "a size of the problem": {"4 KiB"},
    "how often something was found, in a list of mended faults": {"8 times"},
}  # fmt: skip


def figures(page: str) -> set[str]:
    """The figures with a unit that stand outside of samples and of blocks of code."""
    return set(FIGURE.findall(FENCED.sub("", samples.SAMPLE.sub("", WAIT.sub("", page)))))


def test_readme_and_make_say_the_same_of_how_long_the_tests_take() -> None:
    told = [
        re.findall(r"^(?:make )?test\b.*; (\d+) minutes$", (ROOT / name).read_text("utf-8"), re.M)
        for name in ("README.md", "Makefile")
    ]
    assert len(told[0]) == 1 and told[0] == told[1]


@pytest.mark.parametrize("page", PAGES)
def test_a_measured_figure_is_taken_from_a_record(page: str) -> None:
    known = set().union(*SET_BY_HAND.values())
    found = figures(PAGES[page].read_text(encoding="utf-8"))
    assert not found - known, "make it a sample of docs/samples.py, or name it in SET_BY_HAND"


def test_a_figure_with_a_unit_is_found_outside_of_samples_only() -> None:
    page = (
        "It takes 3.5 ms, or 2 to 10 times as long: 94%, 4 rows <!-- sample: x -->7 s<!-- end -->, "
        '`8 x 8`, AVX2, width="42%".\n```\n9 s\n```\n| `make it` | 6 s | [it](it.md) |\n'
    )
    assert figures(page) == {"3.5 ms", "2 to 10 times", "94%"}


STALE = "a <!-- sample: x -->old<!-- end --> z"


def test_a_sample_that_is_out_of_date_is_found_and_replaced() -> None:
    new = {"x": lambda: "new"}
    assert samples.stale(STALE, new) == ["x"]
    assert samples.filled(STALE, new) == "a <!-- sample: x -->new<!-- end --> z"
    assert samples.stale(samples.filled(STALE, new), new) == []
    assert samples.stale(samples.filled(STALE, {"x": lambda: "a\nb"}), {"x": lambda: "a\nb"}) == []


def test_figures_drawn_at_random_may_differ_and_words_may_not() -> None:
    assert samples.same("verify", "gives -3.45 at [1]", "gives 0.2 at [0]")
    assert not samples.same("verify", "equal: 0.2", "different: 0.2")
    assert not samples.same("ranking", "1.5 us", "1.6 us")


def test_a_mark_without_an_end_and_a_name_that_nothing_makes_are_refused() -> None:
    with pytest.raises(ValueError, match="marks that open"):
        samples.filled("<!-- sample: x -->", {})
    with pytest.raises(KeyError):
        samples.filled(STALE, {})
