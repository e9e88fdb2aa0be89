"""The ``mlc-course`` command: the options of every subcommand.

A subcommand is the function ``run`` of the module with its name, which takes the options as keyword
arguments. The module is imported only when the subcommand runs, so that ``mlc-course --help`` waits
for neither NumPy nor TVM.
"""

from __future__ import annotations

import argparse
import errno
import functools
import importlib
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import mlc_course
from mlc_course import __version__
from mlc_course.commands import names
from mlc_course.commands.output import NOWHERE, Results, check_apart
from mlc_course.errors import CourseError, did_you_mean
from mlc_course.parallel import INTERRUPTED
from mlc_course.words import marked, tr

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[Any]

FIRST_COMMANDS = (
    ("mlc-course lab", marked("read the lessons in JupyterLab")),
    (
        "mlc-course ladder matmul_exp_matmul --quick",
        marked("transform a program until it beats NumPy"),
    ),
    (
        "mlc-course superoptimize gqa --target cpu --run",
        marked("let the machine find a fused kernel, and time it beside NumPy"),
    ),
)
USAGE_STATUS = 2  # what argparse itself ends with
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
STATUSES: dict[int, str] = {
    0: "done",
    USAGE_STATUS: "an argument or a file is wrong",
    INTERRUPTED: "Ctrl-C",
}


class Parser(argparse.ArgumentParser):
    """A parser whose errors say what was meant, and which knows what its exit statuses mean."""

    statuses: dict[int, str] = STATUSES
    words: Sequence[str] = ("",)  # of the command line

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.written: dict[str, str] = {}  # option that names a file to write -> its place

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, and keep the words for ``error``."""
        self.words = list(sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Print the message, with the most similar choice or option, and end with status 2."""
        options, hints = list(self._option_string_actions), list[str | None]()
        choice = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if choice and self.words[0].startswith("-"):
            hints = ["options stand behind the subcommand that they belong to"]
        elif choice:
            known = [*re.findall(r"[\w-]+", choice[2]), *options]
            hints = [did_you_mean(choice[1], known)]
        elif message.startswith("argument --json"):
            hints = ["--json - prints it"]
        else:
            wrong = (word.partition("=")[0] for word in self.words if word.startswith("--"))
            unknown = (each for each in wrong if not any(o.startswith(each) for o in options))
            hints = [did_you_mean(each, options) for each in unknown]
        super().error("; ".join((message, *dict.fromkeys(filter(None, hints)))))


def _run(module: str, **options: Any) -> int:
    status: int = importlib.import_module(f"mlc_course.commands.{module}").run(**options)
    return status


def _subcommand(
    subparsers: Subparsers, name: str, purpose: str, statuses: dict[int, str] | None = None
) -> Parser:
    """Add a subcommand; ``statuses`` say what its exit statuses mean, where they differ."""
    parser: Parser = subparsers.add_parser(
        name, help=tr(purpose), description=f"{_sentence(purpose)}."
    )
    parser.set_defaults(run=functools.partial(_run, name), parser=parser)
    parser.statuses = STATUSES | (statuses or {})
    said = "; ".join(f"{status} {meaning}" for status, meaning in sorted(parser.statuses.items()))
    parser.epilog = f"exit status: {said}"
    return parser


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def add_doctor(subparsers: Subparsers) -> None:
    """``mlc-course doctor``: is this machine ready?"""
    statuses = {0: "ready, perhaps with warnings", 1: "something needed is broken"}
    parser = _subcommand(subparsers, "doctor", "check this machine, line by line", statuses)
    _add_json(parser, "the findings")


def add_init(subparsers: Subparsers) -> None:
    """``mlc-course init``: the lessons in a folder of one's own."""
    parser = _subcommand(
        subparsers, "init", "lay out lessons and exercises in a folder, or bring them up to date"
    )
    parser.add_argument(
        "folder",
        type=_folder,
        metavar="DIR",
        help="made if need be; what you changed there is kept",
    )


def add_lab(subparsers: Subparsers) -> None:
    """``mlc-course lab``: read the lessons."""
    parser = _subcommand(subparsers, "lab", "open the lessons in JupyterLab")
    parser.add_argument(
        "--no-browser", dest="browser", action="store_false", help="only print the address"
    )
    parser.add_argument("--port", type=int, help="default: the first free one from 8888 on")
    parser.add_argument(
        "--instructor", action="store_true", help="with nbgrader's menu, formgrader and all"
    )


def add_ladder(subparsers: Subparsers) -> None:
    """``mlc-course ladder``: transform a program rung by rung, beside NumPy."""
    parser = _subcommand(subparsers, "ladder", "climb a ladder of transformations past NumPy")
    _add_name(parser, "workload", names.LADDERS)
    _add_problem(parser)
    parser.add_argument("--rungs", type=_words, default=(), metavar="A,B", help="only these")
    parser.add_argument(
        "--article",
        action="store_true",
        help="the article's rungs with its tile of 16 x 8 x 8 (matmul_exp_matmul)",
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", action="store_true", help="small sizes, under 20 seconds")
    length.add_argument(
        "--thorough",
        action="store_true",
        help="time slow rungs on all their rows, and each for longer (minutes)",
    )
    _add_json(parser, "the record of the climb")
    _add_file(parser, "--plot", "draw it here (.png, .svg)")
    _add_file(
        parser,
        "--roofline",
        "count the bytes of each rung (minutes, on full sizes), draw them under the roofs",
    )


def add_tune(subparsers: Subparsers) -> None:
    """``mlc-course tune``: let the machine search for a schedule."""
    parser = _subcommand(subparsers, "tune", "search for a schedule, and keep what is found")
    _add_name(parser, "workload", names.WORKLOADS)
    _add_problem(parser)
    _add_name(parser, "--strategy", names.STRATEGIES, "packing")
    parser.add_argument("--trials", type=int, default=32, help="candidates to measure")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--limit", dest="limit_s", type=float, default=10.0, help="seconds for one candidate"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="database; resumed if it exists")
    _add_json(parser, "the comparison with NumPy")
    parser.add_argument("--rpc", metavar="HOST:PORT", help="measure through a TVM RPC tracker")
    parser.add_argument("--key", help="which of the tracker's machines")
    parser.add_argument("--recorded", action="store_true", help="replay the course's recordings")


def add_verify(subparsers: Subparsers) -> None:
    """``mlc-course verify``: do two mu-graphs compute the same?"""
    parser = _subcommand(
        subparsers,
        "verify",
        "tell whether two mu-graphs compute the same function",
        {0: "equal", 1: "different", 2: f"it cannot be told, or {STATUSES[USAGE_STATUS]}"},
    )
    for side in ("left", "right"):
        _add_source(parser, side, side.upper(), "a file, or a graph of the course", names.GRAPHS)
    parser.add_argument("--error", type=float, default=1e-9, help="accepted (default 1e-9)")
    parser.add_argument("--extent", type=int, default=2, help="steps of small grids and loops")
    _add_operators(parser)
    _add_json(parser, "the verdict")


def add_superoptimize(subparsers: Subparsers) -> None:
    """``mlc-course superoptimize``: let the machine find the fused graph."""
    parser = _subcommand(
        subparsers,
        "superoptimize",
        "search for fused mu-graphs equal to a program and cheaper",
        {0: "a graph is found", 1: "none is found"},
    )
    known = (*names.PROGRAMS, *names.MODELS)
    _add_source(parser, "program", "PROGRAM", "a file, or a program of the course", known)
    _add_name(parser, "--target", names.SEARCH_TARGETS, "a100", "cpu is this machine")
    parser.add_argument(
        "--run",
        dest="measured",
        action="store_true",
        help="compile the best graphs, check them, and time them beside NumPy (--target cpu)",
    )
    _add_threads(parser)
    _add_operators(parser)
    parser.add_argument("--max-ops", type=_count, metavar="N", help="operators of a graph, at most")
    parser.add_argument("--time-limit", type=_seconds, metavar="S", help="seconds")
    parser.add_argument(
        "--memory", type=_bytes, metavar="SIZE", help="such as 4GB (default: half of the machine)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (default: one a core)")
    parser.add_argument("--executor", metavar="dask://HOST:PORT", help="search on a Dask cluster")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write graphs and results here")
    _add_json(parser, "what was found")
    parser.add_argument("--fresh", action="store_true", help="do not use earlier results")
    parser.add_argument("--verbose", action="store_true", help="tell what is tried and pruned")


def add_select(subparsers: Subparsers) -> None:
    """``mlc-course select``: let the machine find the vector instructions of a loop."""
    parser = _subcommand(
        subparsers,
        "select",
        "search for vector instructions that compute an inner loop, and prove it",
        {0: "a program is found and proved", 1: "none is found; with a check, something is wrong"},
    )
    _add_source(
        parser,
        "source",
        "SPEC",
        "a name, a line such as 'u8 A, u8 B -> u8 O: min(A + B, 255)', or a file (.txt, .py)",
        names.SPECIFICATIONS,
        nargs="?",
    )
    _add_name(parser, "--level", names.LEVELS, note="default: the best of this processor")
    parser.add_argument(
        "--width", type=_count, metavar="BITS", help="of registers (default: the level's)"
    )
    parser.add_argument(
        "--seconds", type=_seconds, default=20.0, metavar="S", help="of the search (default 20)"
    )
    parser.add_argument("--seed", type=_seed, default=0, help="of the tests (default 0)")
    parser.add_argument(
        "--explain", action="store_true", help="print reasons, rows, constants and events"
    )
    parser.add_argument(
        "--run",
        dest="measured",
        action="store_true",
        help="time the program beside LLVM's loops and NumPy",
    )
    _add_json(parser, "what was found")
    _add_file(parser, "--rules", "record found programs here (default: in your data folder)")
    parser.add_argument(
        "--fresh", action="store_true", help="do not use recorded programs, and record none"
    )
    parser.add_argument(
        "--intel",
        dest="intel_path",
        type=Path,
        metavar="FILE",
        help="with --check-isa, ask Intel's Intrinsics Guide, too: its XML file",
    )
    about = parser.add_mutually_exclusive_group()
    for option, what, purpose in (
        ("--list", "list", "list the specifications of the course"),
        ("--check-isa", "isa", "check the table of instructions"),
        ("--check-tvm", "tvm", "check TVM's own tensor intrinsics"),
    ):
        about.add_argument(option, dest="about", action="store_const", const=what, help=purpose)


def add_compile(subparsers: Subparsers) -> None:
    """``mlc-course compile``: what do the kernels of a graph do?"""
    parser = _subcommand(subparsers, "compile", "lower a mu-graph to kernels, and print them")
    _add_compiled(parser)
    _add_name(parser, "--storage", names.STORAGES, "float32", "bfloat16 with --target cuda")
    _add_json(parser, "the kernel program, and what was written")
    _add_file(
        parser,
        "--out",
        "write .txt (the kernel program); cpu: .ll (LLVM) or .s (assembly); opencl: .cl; "
        "cuda: .cu or .ptx",
        dest="out",
    )
    _add_file(
        parser,
        "--cubin",
        "write machine code, and print registers, spills and shared memory (--target cuda)",
        dest="cubin",
        metavar="FILE.cubin",
    )


def add_run(subparsers: Subparsers) -> None:
    """``mlc-course run``: call a compiled graph on random inputs."""
    parser = _subcommand(
        subparsers,
        "run",
        "compile a mu-graph, and run it on random inputs",
        {1: "--check finds a difference"},
    )
    _add_compiled(parser)
    parser.add_argument("--seed", type=_seed, default=0, help="of the inputs (default 0)")
    parser.add_argument(
        "--check",
        dest="with_check",
        action="store_true",
        help="compare with the interpreter in float64",
    )
    parser.add_argument(
        "--time", dest="with_time", action="store_true", help="time it beside NumPy"
    )
    _add_json(parser, "errors and times")


def _add_compiled(parser: Parser) -> None:
    _add_source(parser, "source", "GRAPH", "a file, or a graph of the course", names.GRAPHS)
    _add_name(parser, "--target", names.TARGETS, "cpu", "box runs it thread by thread")
    parser.add_argument(
        "--arch", metavar="sm_XX", help="a GPU's architecture, such as sm_90 (--target cuda)"
    )
    _add_operators(parser)
    _add_threads(parser)


def _add_threads(parser: Parser) -> None:
    parser.add_argument("--threads", type=_count, metavar="N", help="threads (default: all cores)")


def add_grade(subparsers: Subparsers) -> None:
    """``mlc-course grade``: marks that can be trusted."""
    parser = _subcommand(
        subparsers,
        "grade",
        "grade a folder of submissions, unattended",
        {0: "everything is graded", 1: "something is not graded, or a mark has no place"},
    )
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="DIR/STUDENT/... or DIR/STUDENT.zip"
    )
    parser.add_argument(
        "--solutions",
        type=Path,
        default=Path("solutions"),
        metavar="DIR",
        help="notebooks with the answers and the checks (default: solutions)",
    )
    _add_file(
        parser,
        "--out",
        "the table of marks, beside which the other files lie (default: marks.csv)",
        dest="out",
        default=Path("marks.csv"),
        metavar="FILE.csv",
    )
    parser.add_argument("--jobs", type=int, help="processes at a time (default: one for each core)")
    parser.add_argument("--executor", metavar="dask://HOST:PORT", help="grade on a Dask cluster")
    parser.add_argument(
        "--sandbox",
        choices=("bubblewrap", "rlimits"),
        help="default: bubblewrap; rlimits keeps nothing secret and nothing safe",
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="STUDENT",
        help="grade this student again, with the same inputs, and nobody else; may be given several"
        " times",
    )
    parser.add_argument(
        "--rules",
        dest="rules_path",
        type=Path,
        metavar="FILE.toml",
        help="due times, what being late costs, how many are dropped (default: rules.toml beside"
        " the solutions, if it is there)",
    )
    parser.add_argument(
        "--fill",
        dest="exports",
        action="append",
        default=[],
        metavar="FILE.csv",
        help="fill the marks into a copy of this table, exported from Canvas or Moodle; for one"
        " assignment of several, ASSIGNMENT=FILE.csv; may be given several times",
    )
    parser.add_argument(
        "--no-gradebook",
        dest="gradebook",
        action="store_false",
        help="a trial: neither read nor fill nbgrader's gradebook",
    )
    _add_json(parser, "the marks, and what is not graded")


def add_shapes(subparsers: Subparsers) -> None:
    """``mlc-course shapes``: what follows from what is known of sizes."""
    parser = _subcommand(
        subparsers,
        "shapes",
        "ask what follows from a program's shape constraints",
        {
            0: "every claim is proved",
            1: "one is refuted",
            2: f"one stays unknown, or {STATUSES[USAGE_STATUS]}",
        },
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = f"{names.shape_forms_in_words()}\n\n{parser.epilog}"
    _add_module(parser)
    parser.add_argument(
        "--query",
        dest="queries",
        action="append",
        default=[],
        metavar="'B*S == T'",
        help="a claim on sizes, or a query of values, to be proved or refuted; may be given several"
        " times",
    )
    _add_file(
        parser,
        "--simplify",
        "write the program here with less to do, by what is known of its sizes",
    )
    _add_file(
        parser,
        "--buffers",
        "write the program here as one on buffers, which has the same constraints",
    )
    _add_json(parser, "facts and answers")


def add_fuse(subparsers: Subparsers) -> None:
    """``mlc-course fuse``: kernels for unknown sizes."""
    parser = _subcommand(
        subparsers, "fuse", "plan the kernels of a program from what is known of its sizes"
    )
    _add_module(parser)
    parser.add_argument(
        "--facts",
        choices=("none", "eq", "product", "frontend", "all"),
        default="all",
        help="what may be used: nothing; equal sizes; and what operators assert, or what the"
        " program states; default: all",
    )
    parser.add_argument(
        "--no-stitch", dest="stitch", action="store_false", help="loop and input kernels only"
    )
    parser.add_argument(
        "--explain", action="store_true", help="print merges, proofs, and what others would need"
    )
    _add_json(parser, "the plan")
    _add_file(parser, "--plot", "draw the kernels at every level of facts here (.png, .svg)")
    _add_file(
        parser,
        "--code",
        "write code for all sizes here: .txt (kernels with their guards), .ll or .s (this"
        " processor), .cu or .ptx (NVIDIA GPUs)",
    )


def add_lecture(subparsers: Subparsers) -> None:
    """``mlc-course lecture``: give a lesson in a hall."""
    parser = _subcommand(subparsers, "lecture", "give a lesson from slides, with a live kernel")
    lesson = parser.add_argument("lesson", metavar="NN", help="the lesson's number, such as 05")
    _complete(lesson, _lessons())
    parser.add_argument(
        "--no-browser", dest="browser", action="store_false", help="only print the address"
    )
    parser.add_argument("--port", type=int, help="default: the first free one from 8899 on")
    parser.add_argument(
        "--poll",
        dest="poll_port",
        type=int,
        metavar="PORT",
        help="let phones on the local network vote, on this port",
    )
    _add_file(parser, "--html", "write the slides to a file instead")
    parser.add_argument(
        "--record",
        dest="as_recording",
        action="store_true",
        help="run the lesson here, and keep what it shows for when there is no kernel",
    )
    _add_json(parser, "the lesson, its slides and its recording (with --html or --record)")


def add_table(subparsers: Subparsers) -> None:
    """``mlc-course table``: the superoptimizers of a class."""
    parser = _subcommand(subparsers, "table", "verify and rank what a class's superoptimizers make")
    parser.add_argument("file", type=Path, help="to which students append, by lesson.hand_in")
    _add_file(parser, "--html", "write the table as a web page")
    parser.add_argument("--watch", action="store_true", help="go on, until Ctrl-C")
    parser.add_argument(
        "--every", dest="seconds", type=int, default=3, metavar="S", help="seconds between looks"
    )
    parser.add_argument(
        "--time", dest="timed", action="store_true", help="time each graph beside its program"
    )
    _add_json(parser, "the rows, and what was skipped or refused")


def add_completion(subparsers: Subparsers) -> None:
    """``mlc-course completion``: complete names and options with the tabulator key."""
    parser = _subcommand(subparsers, "completion", "print what lets a shell complete this command")
    parser.add_argument("shell", choices=names.SHELLS, help="the shell that will run it")


def _lessons() -> tuple[str, ...]:
    """Return the numbers of the lessons, such as ``05``."""
    folders = (Path(mlc_course.__file__).parent / "lessons").glob("lesson_*")
    return tuple(sorted(folder.name.split("_")[1] for folder in folders))


def _add_module(parser: Parser) -> None:
    purpose = "a program's file, a model (.onnx), or a name of the course"
    _add_source(parser, "source", "FILE", purpose, names.SHAPES)


def _add_name(
    parser: Parser,
    name: str,
    known: Sequence[str],
    default: str | None = None,
    note: str = "",
) -> None:
    """Add an argument that takes one of these names; the engine says which ones it knows."""
    notes = "; ".join(filter(None, (note, f"default {default}" if default else "")))
    purpose = f"{', '.join(known)}{f' ({notes})' if notes else ''}"
    options: dict[str, Any] = {}
    if name.startswith("-"):
        options = {"default": default, "metavar": "NAME"}
    _complete(parser.add_argument(name, help=purpose, **options), known)


def _add_source(
    parser: Parser,
    name: str,
    metavar: str,
    purpose: str,
    known: Sequence[str],
    nargs: str | None = None,
) -> None:
    """Add an argument that takes a file, or one of these names of the course."""
    action = parser.add_argument(name, metavar=metavar, nargs=nargs, help=purpose)
    _complete(action, known, files=True)


def _complete(action: argparse.Action, known: Sequence[str], *, files: bool = False) -> None:
    """Let shells complete an argument with these names, and perhaps with files."""

    def completer(prefix: str, **_: Any) -> Sequence[str]:
        if not files:
            return known
        from argcomplete.completers import FilesCompleter  # it is what asks

        return [*known, *FilesCompleter()(prefix)]

    action.completer = completer  # type: ignore[attr-defined]


def _add_json(parser: Parser, what: str) -> None:
    parser.add_argument(
        "--json",
        dest="results",
        type=lambda path: Results(parser.prog.split()[-1], Path(path)),
        default=NOWHERE,
        metavar="FILE",
        help=f"write {what} as JSON; - is standard output",
    )


def _add_problem(parser: Parser) -> None:
    parser.add_argument("--sizes", type=_sizes, default=(), metavar="M,K,..", help="whole numbers")
    parser.add_argument("--threads", type=int, default=1, help="for NumPy and ours (default 1)")


def _add_file(parser: Parser, option: str, purpose: str, **more: Any) -> None:
    """Add an option that names a file to write."""
    known = {"dest": f"{option.removeprefix('--')}_path", "metavar": "FILE", **more}
    parser.add_argument(option, type=Path, help=purpose, **known)
    parser.written[option] = known["dest"]


def _add_operators(parser: Parser) -> None:
    parser.add_argument(
        "--operators", type=Path, metavar="FILE.py", help="Python with operators of your own"
    )


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(size) for size in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected whole numbers, such as 512,512, got {text!r}"
        ) from None


def _folder(text: str) -> Path:
    if not text.strip():  # of a variable that is not set; an empty path would be this folder
        raise argparse.ArgumentTypeError("expected the name of a folder, got an empty text")
    return Path(text)


def _count(text: str) -> int:
    if not (text.isdecimal() and len(text) < 10 and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"expected 1 or more, got {text!r}")
    return int(text)


def _seed(text: str) -> int:
    if not (text.isdecimal() and len(text) < 20):
        raise argparse.ArgumentTypeError(
            f"expected a whole number of up to 19 digits, got {text!r}"
        )
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected seconds, more than 0, got {text!r}")
    return seconds


UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}


def _bytes(text: str) -> int:
    found = re.fullmatch(r"([\d.]+)\s*([kmg]?b?)", text.strip().lower())
    try:
        size = int(float(found[1]) * UNITS[found[2]]) if found else 0
    except (KeyError, ValueError, OverflowError):
        size = 0
    if size < 2**20:
        raise argparse.ArgumentTypeError(f"expected 2MB or more, such as 4GB, got {text!r}")
    return size


AddCommand = Callable[["Subparsers"], None]
COMMANDS: tuple[AddCommand, ...] = (
    add_doctor,
    add_init,
    add_lab,
    add_ladder,
    add_tune,
    add_verify,
    add_superoptimize,
    add_select,
    add_compile,
    add_run,
    add_shapes,
    add_fuse,
    add_grade,
    add_lecture,
    add_table,
    add_completion,
)


def build_parser(commands: Sequence[AddCommand] = COMMANDS) -> Parser:
    """Return the parser of the whole command line; each subcommand sets ``run``."""
    parser = Parser(prog="mlc-course", description=tr("The course on one command."))
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in commands:
        add(subparsers)
    return parser


def subcommands(commands: Sequence[AddCommand] = COMMANDS) -> dict[str, Parser]:
    """Return the parser of each subcommand by its name."""
    (action,) = (
        each
        for each in build_parser(commands)._actions
        if isinstance(each, argparse._SubParsersAction)
    )
    return dict(action.choices)


def welcome() -> str:
    """Return what ``mlc-course`` alone prints: the first commands, and how to list the others."""
    lines = [f"  {command:<48} {tr(what)}" for command, what in FIRST_COMMANDS]
    rest = tr("mlc-course --help lists all commands; mlc-course COMMAND --help explains one.")
    return "\n".join((tr("Three commands to begin with:"), "", *lines, "", rest, ""))


def main(arguments: Sequence[str] | None = None, commands: Sequence[AddCommand] = COMMANDS) -> int:
    """Run one command line and return its exit status.

    A ``CourseError`` is the user's to solve, so it is printed as its text, without a traceback; so
    is a full disk. Without any argument, print the commands to begin with; like argparse, that ends
    with status 2.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # names may have what the terminal cannot show
        sys.stdout.reconfigure(errors="replace")
    parser = build_parser(commands)
    if "_ARGCOMPLETE" in os.environ:  # a shell asks what could come next
        import argcomplete

        argcomplete.autocomplete(parser)
    if not (sys.argv[1:] if arguments is None else arguments):
        parser.exit(USAGE_STATUS, welcome())
    known, unknown = parser.parse_known_args(arguments)
    options = vars(known)
    of_command = options.pop("parser", parser)
    if unknown:
        of_command.error(f"unrecognized arguments: {' '.join(unknown)}")
    run, results = options.pop("run"), options.get("results", NOWHERE)
    try:
        for option, place in of_command.written.items():
            others = [value for other, value in options.items() if other != place]
            check_apart(option, options[place], others)
        with results.ready(options.values()):
            status: int = run(**options)
        sys.stdout.flush()  # not at the end of Python, where it is too late to say what is wrong
    except CourseError as error:
        notes = getattr(error, "__notes__", ())
        print("\n".join((f"{type(error).__name__}: {error}", *notes)), file=sys.stderr)
        return USAGE_STATUS
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return INTERRUPTED
    except MemoryError as error:
        print(f"not enough memory: {error}", file=sys.stderr)
        return USAGE_STATUS
    except BrokenPipeError:  # whoever reads has seen enough
        _print_no_more()
        return 1
    except OSError as error:
        if error.errno not in FULL:
            raise
        _print_no_more()
        print(f"cannot write {error.filename or 'all of it'}: {error.strerror}", file=sys.stderr)
        return USAGE_STATUS
    return status


def _print_no_more() -> None:
    """Let what is printed go nowhere, so that the end of Python does not try again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
