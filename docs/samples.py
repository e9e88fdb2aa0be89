"""Write the sample output in README.md and docs/ from real runs and recorded results (`make docs`).

    python docs/samples.py           fill every sample, and draw the ladder's picture
    python docs/samples.py --check   status 1 when a page or the picture shows something else

A sample is what stands between the marks ``<!-- sample: NAME -->`` and ``<!-- end -->``. It may be
a block of its own or a few words in the middle of a sentence.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shlex
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from house import rooms
from PIL import Image
from subcommands import every_subcommand, statuses

from mlc_course.commands import main as mlc_course
from mlc_course.dynamic_shape.codegen import planned_kernels
from mlc_course.dynamic_shape.fusion import plan
from mlc_course.dynamic_shape.ir import text
from mlc_course.dynamic_shape.programs import program
from mlc_course.errors import CourseError
from mlc_course.exercise import UnmetCheck, check, computes, inner_stride, scheduled
from mlc_course.instruction_selection.search import RULES_FILE
from mlc_course.instruction_selection.spec import specification
from mlc_course.mugraph.codegen import retiled
from mlc_course.mugraph.cost import cost, target, why
from mlc_course.mugraph.cpu_kernels import Cpu, lower
from mlc_course.mugraph.gpu_text import CUDA, source_of
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.programs import published, workload
from mlc_course.mugraph.thread_kernels import Gpu, thread_program
from mlc_course.start import read_course
from mlc_course.tensor_program.ladders import Record, load, made_on, record
from mlc_course.tensor_program.ladders import ladder as find_ladder
from mlc_course.tensor_program.plots import machines_drawing, save_machines
from mlc_course.tensor_program.problems import matmul
from mlc_course.tensor_program.schedule import reorder
from mlc_course.tensor_program.tir import Schedule
from mlc_course.units import milliseconds, size_text

ROOT = Path(__file__).parent.parent
RESULTS, EXAMPLES = ROOT / "benchmarks" / "results", ROOT / "docs" / "examples"
PICTURE = RESULTS / "ladder.png"
SAMPLE = re.compile(r"(<!-- sample: ([\w-]+) -->)(.*?)(<!-- end -->)", re.S)
# Sides of benchmarks/codegen_gpu.py that are not our fused graphs.
RIVALS = ("unfused", "CuPy", "torch", "torch.compile", "torch fused attention")
REFUSED_LINES = (
    "u8 A, u8 B -> u8 O: A / B",
    "f32 A -> f32 O: A + 1",
    "u8 A in 0..300 -> u8 O: A",
    "s32 A, s32 B -> s32 O: A * B",
)


def recorded(name: str) -> Record:
    """The results of ``benchmarks/NAME.py``."""
    return load(RESULTS / f"{name}.json")


def made_by(name: str) -> str:
    """The machine, the date and the script of recorded results."""
    return f"{made_on(recorded(name))}; `benchmarks/{name}.py`"


def fenced(text: str, language: str = "") -> str:
    """A block of code, as Markdown."""
    return f"```{language}\n{text.rstrip()}\n```"


def rows(head: str, *lines: str) -> str:
    """A Markdown table; ``head`` and ``lines`` have their columns between bars."""
    return "\n".join((head, re.sub(r"[^|]+", "---", head), *lines))


def percent(share: float) -> str:
    """A share as a sentence writes it, such as ``94 %``."""
    return f"{100 * share:.0f} %"


def output(act: Callable[[], object]) -> str:
    """Return the text that ``act`` prints."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        act()
    return printed.getvalue()


def command(line: str) -> str:
    """A command and what it prints, when it is run in the root of the course."""
    words = shlex.split(line)[1:]
    with contextlib.chdir(ROOT):
        return f"$ {line}\n{output(lambda: mlc_course(words)).rstrip()}"


def selection(line: str) -> str:
    """A ``select`` command and what it prints; only programs that the course ships are recorded."""
    with tempfile.TemporaryDirectory() as folder:
        own = os.environ.get(RULES_FILE)
        os.environ[RULES_FILE] = str(Path(folder, "rules.json"))
        try:
            printed = command(line)
        finally:
            os.environ.pop(RULES_FILE)
            if own is not None:
                os.environ[RULES_FILE] = own
    return printed.replace("; not run here: this processor lacks the level", "")


def selection_refusals() -> str:
    """Lines that are no specifications, with what is said of each."""
    told = []
    for line in REFUSED_LINES:
        try:
            specification(line)
        except CourseError as error:
            notes = getattr(error, "__notes__", ())
            told.append("\n".join((f"{type(error).__name__}: {error}", *notes)))
    return fenced("\n\n".join(told))


def example(name: str) -> str:
    """A program of docs/examples, and what it prints."""
    path = EXAMPLES / name
    printed = output(lambda: runpy.run_path(str(path)))
    return f"{fenced(path.read_text(), 'python')}\n\nprints\n\n{fenced(printed)}"


def pins() -> str:
    """Return the table of pins that moved, of the run of ``make pins`` that was kept."""
    kept = recorded("pins")
    lines = [
        f"| `{each['package']}` | {each['pinned']} | {each['newest']} | "
        f"{'fails: ' + ', '.join(each['breaks']) if each['breaks'] else each['verdict']} |"
        for each in kept["moves"]
    ]
    said = f"{kept['downloaded'] / 1e6:.0f} MB were downloaded ({made_by('pins')})."
    return f"{rows('| package | pinned | newest | |', *lines)}\n\n{said}"


def wrong_name() -> str:
    """Return the answer of a command to a name that is nearly one of the course."""
    try:
        find_ladder("matmull")
    except CourseError as error:
        return fenced(f"$ mlc-course ladder matmull\n{type(error).__name__}: {error}")
    raise AssertionError("there is such a ladder")


def lessons() -> str:
    """The lessons that the map of the course has, without those that are still to come."""
    ready = (each for each in read_course().lessons if not each.is_coming)
    found = [f"| {each.number:02} | [{each.title}]({each.notebook}) |" for each in ready]
    return rows("| | lesson |", *found)


def house() -> str:
    """The rooms in reading order, with the question that each answers."""
    lines = (f"| `{name}` | {said} |" for _, name, said in rooms())
    return rows("| room of `mlc_course` | |", *lines)


def a_check() -> str:
    """The feedback for a student whose inner loop walks down a column."""

    def answer(sch: Schedule) -> None:
        reorder(sch, "C", "n", "k", "m")

    def look() -> None:
        try:
            check(scheduled(answer, matmul(40, 56, 72)), computes(), inner_stride("C"))
        except UnmetCheck as found:
            print(found)

    return fenced(output(look))


def climbs() -> list[Record]:
    """The article's ladder on one thread, with vectors of 16 numbers and of 8."""
    return [recorded(name)["climbs"]["1 thread"] for name in ("ladder", "ladder_avx2")]


def picture_is_stale(path: Path = PICTURE) -> bool:
    """Tell whether the picture of the ladder was drawn of other records, or by other code."""
    with Image.open(path) as image:
        return image.info.get("Source") != machines_drawing(climbs())


def ladder() -> str:
    """Every rung, as ``mlc-course ladder`` prints it."""
    taken = climbs()[0]
    numpy = f"{'NumPy':<16} {milliseconds(taken['baseline']['median_s']):>11}"
    table = (record.HEAD, *map(record.row, taken["rungs"]), numpy)
    printed = (record.title(taken), "", *table, *record.setback_lines(taken))
    return f"{fenced(chr(10).join(printed))}\n\n({made_by('ladder')})"


def last_rungs() -> str:
    """The last rung of each ladder on both machines, beside the ratio that it was built for."""
    wide, narrow = (recorded(name) for name in ("ladder", "ladder_avx2"))
    lines = [
        f"| {each['what']} | {each['measured']:.2f} | {other['measured']:.2f} "
        f"| {each['wanted']:.2f} |"
        for each, other in zip(wide["targets"], narrow["targets"], strict=True)
    ]
    head = "| | AVX-512 | AVX2 | built for |"
    made = f"{made_on(wide)}; {made_on(narrow)}; `benchmarks/ladder.py`"
    return f"{rows(head, *lines)}\n\n({made})"


def two_machines() -> str:
    """Every rung of the article's workload with vectors of 16 and of 8 numbers."""
    lines = []
    for pair in zip(*(each["rungs"] for each in climbs()), strict=True):
        cells = [
            f"{milliseconds(rung['median_s'])} | {rung['ratio_to_numpy']:.2f}" for rung in pair
        ]
        lines.append(f"| {pair[0]['name']} | {' | '.join(cells)} |")
    head = "| rung | AVX-512 | NumPy / ours | AVX2 | NumPy / ours |"
    return rows(head, *lines)


def avx2_last_rung() -> str:
    """A phrase on the last rung and NumPy's kernel with AVX2, as shares of the peak."""
    taken = recorded("ladder_avx2")["climbs"]["1 thread"]
    rung, wanted = taken["rungs"][-1], _target("ladder_avx2", "1 thread")["wanted"]
    numpy = rung["fraction_of_peak"] / rung["ratio_to_numpy"]
    return (
        f"NumPy's kernel reaches {percent(numpy)} of the peak, so {wanted:.2f} would need "
        f"{percent(wanted * numpy)}. Ours reaches {percent(rung['fraction_of_peak'])} on the "
        f"article's sizes, which is {rung['ratio_to_numpy']:.2f} of NumPy, and `linear_relu` "
        f"{_target('ladder_avx2', 'linear_relu, 1 thread')['measured']:.2f}"
    )


def all_threads() -> str:
    """A phrase on the last rung on all threads of both machines, and its share of the peak."""
    last = {
        name: recorded(name)["climbs"]["all threads"]["rungs"][-1]
        for name in ("ladder_avx2", "ladder")
    }
    narrow, wide = ("[{:.2f} {:.2f}]".format(*each["ratio_interval"]) for each in last.values())
    shares = " and ".join(percent(each["fraction_of_peak"]) for each in last.values())
    return (
        f"the interval of the last rung is {narrow} with AVX2 and {wide} with AVX-512. Ours is "
        f"steady, and reaches {shares} of the peak"
    )


def batches() -> str:
    """The ratios to NumPy of the shapes with a few dozen rows, with AVX2."""
    shapes = recorded("ladder_avx2")["shapes"]
    ratios = [shapes[name]["rungs"][-1]["ratio_to_numpy"] for name in ("a batch", "64 rows")]
    return f"{min(ratios):.2f} and {max(ratios):.2f}"


def indivisible() -> str:
    """The ratio to NumPy of sizes that nothing divides, with AVX2."""
    return f"{_target('ladder_avx2', 'indivisible sizes, 1 thread')['measured']:.2f}"


def neighbours() -> str:
    """Return the numbers of tiles and panels that are raced beside the chosen ones."""
    wide, narrow = (len(recorded(name)["neighbours"]) - 1 for name in ("ladder", "ladder_avx2"))
    return f"{wide} others near it with AVX-512, and {narrow} with AVX2"


def _target(name: str, what: str) -> Record:
    """Return what a benchmark was built for, with what it measured."""
    found: Record = next(each for each in recorded(name)["targets"] if each["what"] == what)
    return found


def strategies() -> str:
    """A table of search strategies: the best schedule of each, and the time that it took."""
    taken = recorded("tune")
    lines = []
    for name, found in taken["strategies"].items():
        low, high = found["ratio_iqr"]
        lines.append(
            f"| {name} | {milliseconds(found['best_s'])} | {found['ratio_to_numpy']:.2f} "
            f"[{low:.2f} {high:.2f}] | {found['search_seconds'] / 60:.1f} min |"
        )
    head = "| strategy | best | NumPy / ours, middle half | search took |"
    return f"{rows(head, *lines)}\n\n({taken['trials']} trials each; {made_by('tune')})"


def verifications() -> str:
    """Each published graph against its program."""
    lines = [
        f"| `{each['name']}` | {milliseconds(each['median_s'])} | {each['tests']:,} "
        f"| {each['error_bound']:.1e} |"
        for each in recorded("verify")["graphs"]
    ]
    head = "| graph | time | tests | bound |"
    return f"{rows(head, *lines)}\n\n(One core; {made_by('verify')})"


def claims() -> str:
    """The times that claims on sizes took."""
    lines = [
        f"| {each['dims']:,} | {each['constraints']:,} | {each['build_ms']:,.0f} ms "
        f"| {each['median_ms']:.2f} ms | {each['p95_ms']:.2f} ms |"
        for each in recorded("dynamic_shape")["claims"]
    ]
    head = "| dimensions | constraints | all facts | median claim | 95 of 100 below |"
    return f"{rows(head, *lines)}\n\n(One core; {made_by('dynamic_shape')})"


STRUCTURES = {
    "layers": "in layers of a transformer",
    "aliases": "if each value has sizes of its own names",
    "rows": "if each reads a sum of the one before",
}


def kernels_by_facts() -> str:
    """The kernels of ``benchmarks/dynamic_shape.py``, a line for each program."""
    record = recorded("dynamic_shape")
    programs = record["kernels"]
    levels = list(programs[0]["base"])
    lines = [
        f"| {each['program']} | {each['op_by_op']} | "
        + " | ".join(f"{each['base'][level]} / {each['stitch'][level]}" for level in levels)
        + " |"
        for each in programs
    ]
    together = [
        " / ".join(str(sum(each[side][level] for each in programs)) for side in ("base", "stitch"))
        for level in levels
    ]
    op_by_op = sum(each["op_by_op"] for each in programs)
    lines.append(f"| together | {op_by_op} | {' | '.join(together)} |")
    head = f"| program | op by op | {' | '.join(levels)} |"
    operators = max(each["operators"] for each in record["planning"])
    seconds = ", ".join(
        f"{each['seconds']:.1f} s {STRUCTURES[each['structure']]}"
        for each in record["planning"]
        if each["operators"] == operators
    )
    said = f"{operators:,} operators are planned in {seconds}."
    return f"{rows(head, *lines)}\n\n{said} ({made_by('dynamic_shape')})"


RACERS = ("no facts", "op by op", "NumPy", "static")


def code_for_all_sizes() -> str:
    """Times of others over one compilation for all sizes, a line for each program."""
    record = recorded("dynamic_shape_code")
    lines = []
    for each in record["programs"]:
        cells = []
        for racer in RACERS:
            over = [shape["ms"][racer] / shape["ms"]["all facts"] for shape in each["shapes"][:2]]
            cells.append(" / ".join(f"{ratio:.2f}" for ratio in over))
        folded, written = (each["divisions"][key] for key in ("folded", "as written"))
        cells.append(f"{written:,.0f} to {folded:,.0f}")
        likely, prime = (shape["ms"]["all facts"] for shape in each["shapes"][:2])
        lines.append(f"| {each['program']} | {likely:.2f} / {prime:.2f} | {' | '.join(cells)} |")
    head = f"| program | ours, ms | {' | '.join(RACERS)} | divisions |"
    return f"{rows(head, *lines)}\n\n(One thread; {made_by('dynamic_shape_code')})"


def kernel_for_all_sizes() -> str:
    """A kernel with its guard, in the text form of kernel programs."""
    (made,) = planned_kernels(plan(program("residual_rms_norm")), width=16)
    (aligned, _) = made.variants
    return f"# for {aligned}\n{aligned.kernel}"


def mutants() -> str:
    """A phrase that counts the verifier's verdicts on mutants."""
    counted = recorded("verify")["mutants"]
    kinds = counted["kinds"].values()
    refused, accepted, undecided = (
        sum(kind[what] for kind in kinds) for what in ("refused", "accepted", "undecided")
    )
    return (
        f"of {refused + accepted + undecided:,} mutants of these graphs it refused {refused:,}, "
        f"accepted {accepted:,} and left {undecided:,} undecided, and of those that it accepted "
        f"{len(counted['wrongly accepted'])} differ"
    )


KNOWN_BEFORE = {
    "rms_norm_matmul": "28 s on many cores, 183 s on one thread (Mirage's paper)",
    "gated_mlp": "40.2 s on one thread (Mirage's code)",
    "gqa": "nothing in 598 s (a user of Mirage)",
    "stable_attention": "no search that we know of",
}


def searches() -> str:
    """A table of the seven programs: the time of each search, and the graphs that are kept."""
    taken = recorded("superoptimize")
    one, two = taken["one_core"], taken["two_cores_seconds"]
    lines = [
        f"| `{each['program']}` | {each['seconds']:.1f} s | {two[each['program']]:.1f} s "
        f"| {each['values']:,} of {each['candidates']:,} "
        f"| {KNOWN_BEFORE.get(each['program'], '')} |"
        for each in one
    ]
    both = sum(each["seconds"] for each in one), taken["two_cores_seconds_together"]
    lines.append(f"| all seven | {both[0]:.1f} s | {both[1]:.1f} s | | |")
    head = "| program | one core | two cores | values kept, of candidates | before |"
    return (
        f"{rows(head, *lines)}\n\n(Workers started beforehand; at most {taken['peak_gb']:.2f} GB "
        f"in a process; {made_by('superoptimize')})"
    )


def models() -> str:
    """A table of parts of today's models: the first graph, the best, and when."""
    lines = [
        f"| `{each['program']}` | {each['operators']} | {each['program_us']:.0f} us "
        f"| {each['first_us']:.0f} us after {each['first_s']:.1f} s "
        f"| {each['best_us']:.0f} us, {each['kernels']} kernels, after {each['best_s']:.1f} s "
        f"| {each['seconds']:.1f} s |"
        for each in recorded("superoptimize")["models"]
    ]
    head = "| program | operators | as it is | first graph | best graph | search |"
    return f"{rows(head, *lines)}\n\n(Two cores; {made_by('superoptimize')})"


def ranking() -> str:
    """The graph that was found for attention with a stable softmax."""
    name = "stable_attention"
    one = next(e for e in recorded("superoptimize")["one_core"] if e["program"] == name)
    program = workload(name)
    before = 1e6 * float(cost(program, target("a100")).total)
    lines = [
        f"{'':>3} {'us':>8} {'operators':>9}  how",
        f"{'':>3} {before:>8.2f} {len(program.equations):>9}  as it is, each operator a kernel",
    ]
    for place, each in enumerate(one["found"], 1):
        lines.append(f"{place:>3} {each['cost_us']:>8.2f} {each['operators']:>9}  {each['how']}")
    return fenced("\n".join(lines))


def why_first() -> str:
    """The difference in cost between the first graph of ``ranking`` and its program."""
    name = "stable_attention"
    one = next(e for e in recorded("superoptimize")["one_core"] if e["program"] == name)
    return why(parse(one["found"][0]["text"]), workload(name), target("a100"))


def grading() -> str:
    """A sentence on the time that grading a class takes."""
    taken = recorded("grading")
    minutes = taken["minutes_of"]
    return (
        f"{taken['submissions']} submissions of {taken['exercises']} exercises took "
        f"{taken['minutes']:.0f} minutes on {taken['cores']} cores ({minutes['grade']:.0f} of "
        f"grading, {minutes['race']:.0f} of races; {made_by('grading')})"
    )


def planned_for_threads() -> str:
    """A phrase on the kernels that ``benchmarks/thread_kernels.py`` planned."""
    taken = recorded("thread_kernels")
    barriers = [row["barriers"] for row in taken["rows"]]
    faults = sum(bool(row["fault"]) for row in taken["rows"])
    (more,) = set(taken["more_than_exact"].values())
    spans = [(*row["bytes"].values(),) for row in taken["rows"]]
    excess = max(max(each) - min(each) for each in spans)
    return (
        f"{len(barriers)} kernels, of the published graphs and of some that Mirage saved: "
        f"{min(barriers)} to {max(barriers)} barriers each, and {faults or 'no'} "
        f"fault{'s' * (faults > 1)} in a run without values. Mirage's three heuristics need more "
        f"memory than the exact plan for {more} of them, by at most {size_text(excess)}"
    )


def tried(*names: str) -> str:
    """Return the numbers of cases of some families that ``make test-all`` has tried."""
    counted = recorded("test_all")["tried"]
    return f"{sum(counted[name] for name in names):,}"


def never_seen_to_differ() -> str:
    """The shares of changes that are called illegal and that no run has shown to be so."""
    counted = recorded("test_all")["tried"]
    shares = []
    for kind in ("workloads", "statements"):
        illegal = f"pairs of {kind} illegal"
        unseen = sum(n for name, n in counted.items() if name.startswith(f"{illegal}, never"))
        shares.append(unseen / counted[illegal])
    return (
        f"Of the illegal changes to workloads, {percent(shares[0])} were never seen to differ: "
        f"races whose iterations store the same value. Of those to random statements, "
        f"{percent(shares[1])} were not"
    )


PAIRS = tuple(
    f"pairs of {kind} {verdict}"
    for kind in ("statements", "workloads")
    for verdict in ("legal", "illegal", "unknown")
)


def a_kernel() -> str:
    """The kernel program of a fused graph on small sizes, for a machine with AVX-512."""
    graph = published("rms_norm_matmul_fused").resized({"d": 2048, "n": 6144})
    tiling = replace(retiled(graph, 0, {"x": 3072, "k": 64}), panels=("W",))
    kernel = lower(graph, 0, tiling, Cpu(16, 32))
    return fenced(str(kernel))


def cuda_text() -> str:
    """The loop of the fused gated MLP in CUDA C++."""
    lowered = thread_program(published("gated_mlp_fused"), Gpu(matrix_unit=True))
    text = source_of(lowered.program.kernels, CUDA, "float16").text
    start = text.index("  for (int k")
    return fenced(text[start : text.index("\n  // Y = store", start)], "cuda")


def gpu_text() -> str:
    """A table of what kernels need (``benchmarks/gpu_text.py``), a line for each kind of graph."""
    record = recorded("gpu_text")
    lines = []
    for kind in dict.fromkeys(row["kind"] for row in record["rows"]):
        own = [row for row in record["rows"] if row["kind"] == kind]
        spilling, pieces = (sum(row[key] for row in own) for key in ("spilling", "pieces"))
        lines.append(
            f"| {kind} | {len({row['graph'] for row in own})} | {len(own)} | "
            f"{_range(own, 'registers')} | {_range(own, 'shared', 1024)} | "
            f"{_range(own, 'barriers')} | {spilling} of {pieces} |"
        )
    head = (
        "| graphs | number | kernels, by storage | registers a thread | shared KiB a block | "
        "barriers | spill |"
    )
    compilers = " and ".join(str(each) for each in sorted(record["generations"]))
    return (
        f"{rows(head, *lines)}\n\nFor sm_80, sm_90 and sm_90a, with NVRTC {compilers}; "
        f"{made_on(record)}; `benchmarks/gpu_text.py`."
    )


def _range(some: list[dict[str, float]], key: str, unit: int = 1) -> str:
    low, high = (round(each(row[key] for row in some) / unit) for each in (min, max))
    return f"{low} to {high}"


def kernels_on_a_gpu() -> str:
    """The figures of ``benchmarks/codegen_gpu.py`` on each GPU, a line for each program."""
    parts = []
    for path in sorted(RESULTS.glob("gpu_*.json")):
        if path.stem == "gpu_text":  # compiled, and not run
            continue
        record = load(path)
        sides = list(
            dict.fromkeys(side for row in record["rows"] for side in row["us"] if side in RIVALS)
        )
        lines = []
        for row in record["rows"]:
            fused = {side: us for side, us in row["us"].items() if side not in RIVALS}
            name = min(fused, key=lambda side: float(fused[side]))
            cells = [f"{row['us'][s] / fused[name]:.2f}" if s in row["us"] else "" for s in sides]
            lines.append(
                f"| {row['program']} | {name} | {fused[name]:.1f} us | {' | '.join(cells)} |"
            )
        head = f"| {record['gpu']} | graph | ours | {' | '.join(sides)} |"
        versions = ", ".join(f"{name} {version}" for name, version in record["packages"].items())
        made = f"float16; {versions or 'nothing to compare with'}; {made_on(record)}"
        parts.append(f"{rows(head, *lines)}\n\n{made}; `benchmarks/codegen_gpu.py`.")
    return "\n\n".join(parts) or rows(
        "| GPU | program | ours | CuPy | PyTorch |", "| not yet measured | | | | |"
    )


def kernels_beside_numpy() -> str:
    """The figures of ``benchmarks/codegen_cpu.py`` on both machines, a line for each program."""
    parts = []
    for name in ("codegen_cpu", "codegen_cpu_avx2"):
        if not (RESULTS / f"{name}.json").exists():
            continue
        record = recorded(name)
        threads = sorted({int(key.removeprefix("mean_on_")) for key in record if "mean_on" in key})
        head = "| program | " + " | ".join(
            f"{n} thread{'s' * (n > 1)}: NumPy | ours | ratio | of the roof | fusion alone"
            for n in threads
        )
        lines = []
        for row in record["rows"]:
            cells = [row["program"]]
            for n in threads:
                it = row[f"on_{n}"]
                low, high = it["interval"]
                cells += [
                    f"{it['numpy_ms']:.3g} ms",
                    f"{it['ms']:.3g} ms",
                    f"{it['ratio']:.2f} [{low:.2f}, {high:.2f}]",
                    f"{it['of_the_roof']:.0%}",
                    f"{it['of_unfused']:.2f}",
                ]
            lines.append(f"| {' | '.join(cells)} |")
        means = ", ".join(
            f"{record[f'mean_on_{n}']:.2f} on {n} thread{'s' * (n > 1)}" for n in threads
        )
        made = (
            f"Geometric mean: {means}. NumPy's products: {record['numpy']}. {made_on(record)}; "
            f"`benchmarks/codegen_cpu.py`."
        )
        parts.append(f"{rows(f'{head} |', *lines)}\n\n{made}")
    return "\n\n".join(parts)


def other_compilers() -> str:
    """The figures of ``benchmarks/other_compilers.py``, a line for each program."""
    record = recorded("other_compilers")
    parts = []
    for threads in sorted({row["threads"] for row in record["rows"]}):
        some = [row for row in record["rows"] if row["threads"] == threads]
        sides = max((list(row["ratio"]) for row in some), key=len)[1:]  # without ours
        head = f"| {threads} thread{'s' * (threads > 1)} | ours | {' | '.join(sides)} |"
        lines = []
        for row in some:
            ratios = [f"{row['ratio'][s]:.2f}" if s in row["ratio"] else "" for s in sides]
            lines.append(
                f"| {row['program']} | {row['ms']['ours']:.3g} ms | {' | '.join(ratios)} |"
            )
        means = []
        for side in sides:
            ratios = [row["ratio"][side] for row in some if side in row["ratio"]]
            means.append(f"{statistics.geometric_mean(ratios):.2f}")
        lines.append(f"| geometric mean | | {' | '.join(means)} |")
        parts.append(rows(head, *lines))
    versions = sorted({v for row in record["rows"] for v in row["versions"].values()})
    made = f"{', '.join(versions)}; {made_on(record)}; `benchmarks/other_compilers.py`."
    return "\n\n".join([*parts, made])


def instruction_rows() -> str:
    """Which row was held against what (``benchmarks/instruction_rows.py``), a line a family."""
    record = recorded("instruction_rows")
    cycles: dict[tuple[str, int], float] = {
        (each["row"], each["width"]): each["cycles"] for each in record["throughput"]
    }
    families: dict[tuple[str, str], list[Record]] = {}
    for row in record["rows"]:
        families.setdefault((row["feature"], row["family"]), []).append(row)
    lines = []
    for own in families.values():
        cells = [", ".join(dict.fromkeys(f"`{row['row']}`" for row in own))]
        for source in ("processor", "compiled, emulated", "emulator", "symbols"):
            cells.append(_agreement([f for row in own for f in row["findings"]], source))
        timed = {
            width: statistics.median(cycles[row["row"], width] for row in own)
            for width in (256, 512)
            if all((row["row"], width) in cycles for row in own)
        }
        figures = dict.fromkeys(f"{each:.2f}" for each in timed.values())
        if len(figures) > 1:
            figures = dict.fromkeys(f"{width}: {each:.2f}" for width, each in timed.items())
        lines.append(f"| {' | '.join([*cells, ', '.join(figures)])} |")
    head = "| rows | processor | TVM's code, emulated | emulator | symbols | cycles |"
    counts = record["broken"]
    said = (
        f"Of {counts['made']:,} wrong meanings made of these rows the checks refuse "
        f"{counts['refused']:,}; {counts['same']:,} change nothing, and {counts['accepted']} "
        f"that differ are accepted."
    )
    return f"{rows(head, *lines)}\n\n{said} ({made_by('instruction_rows')})"


def _agreement(findings: list[Record], source: str) -> str:
    """Say at which widths a source agrees with some rows, and on how many inputs."""
    own = [each for each in findings if each["source"] == source and each["verdict"] == "agrees"]
    if not own:
        return ""
    if source == "symbols":
        return "proved"
    widths = " ".join(str(width) for width in sorted({each["width"] for each in own}))
    if all(each["complete"] for each in own):
        return f"{widths}: all inputs"
    least = min(each["inputs"] for each in own if not each["complete"])
    some = "all inputs, or " if any(each["complete"] for each in own) else ""
    return f"{widths}: {some}{least:,}"


def other_instructions() -> str:
    """Where LLVM made something else of a row than its own instruction, a line for each."""
    lines = [
        f"| `{row['row']}` | {each['width']} | {each['note']} |"
        for row in recorded("instruction_rows")["rows"]
        for each in row["findings"]
        if each["verdict"] == "agrees" and each["note"]
    ]
    return rows("| row | bits | what LLVM made of it |", *lines)


def one_kernel_for_all_sizes() -> str:
    """The figures of ``benchmarks/symbolic_mugraphs.py``, a line for each graph and size."""
    record = recorded("symbolic_mugraphs")
    lines = []
    for row in record["sizes"]:
        sizes = ", ".join(f"{name}={size}" for name, size in row["sizes"].items())
        one, every = row["ms"]["one_size"], row["ms"]["all_sizes"]
        lines.append(
            f"| {row['graph']} | {sizes} | {', '.join(row['took'])} | {every:.3g} ms | "
            f"{one:.3g} ms | {one / every:.2f} |"
        )
    head = "| graph | sizes | variant | for all sizes | for this one | its speed |"
    compiled = "; ".join(
        f"{each['graph']} in {each['seconds']:.1f} s" for each in record["compilations"]
    )
    return (
        f"{rows(head, *lines)}\n\nOne thread. Compiled once: {compiled}. "
        f"({made_by('symbolic_mugraphs')})"
    )


def not_at_neon() -> str:
    """The loops for which no program of NEON has been found."""
    found = recorded("instruction_selection")["neon"]
    *most, last = (f"`{each['spec']}`" for each in found if not each["found"])
    return f"{', '.join(most)} and {last}" if most else last


def selected_instructions() -> str:
    """The figures of ``benchmarks/instruction_selection.py``, a line for each loop."""
    record = recorded("instruction_selection")
    levels = [level for level in ("avx2", "avx512") if level in record["loops"]]
    by_loop: dict[str, dict[str, Record]] = {}
    for level in levels:
        for each in record["loops"][level]:
            by_loop.setdefault(each["spec"], {})[level] = each
    lines = []
    for name, at in by_loop.items():
        cells = [f"`{name}`"]
        for level in levels:
            each = at[level]
            low, middle, high = each["over_best_llvm"]
            counts = each["instructions_per_32_bytes"]
            llvm = counts[each["best_llvm"]]
            cells.append(f"{middle:.2f} ({low:.2f} to {high:.2f}), at most {each['limit']:.2f}")
            cells.append(f"{counts['found']:g}, {llvm:g}")
        cells.append(f"{min(each['over_numpy'][1] for each in at.values()):.0f}")
        lines.append(f"| {' | '.join(cells)} |")
    heads = [f"{level}: over LLVM's best | instructions" for level in levels]
    head = f"| loop | {' | '.join(heads)} | over NumPy |"
    met = [
        f"{each['what']}: {each['measured']:.3g}, wanted {each['wanted']:g}"
        + ("" if each["reached"] else ": **falls short**")
        for each in record["targets"]
    ]
    return "\n\n".join(
        (
            rows(head, *lines),
            "\n".join(f"- {each}" for each in met),
            f"({made_by('instruction_selection')})",
        )
    )


SAMPLES: Mapping[str, Callable[[], str]] = {
    "lessons": lessons,
    "check": a_check,
    "house": house,
    "statuses": statuses,
    "wrong-name": wrong_name,
    "pins": pins,
    "subcommands": every_subcommand,
    "ladder": ladder,
    "two-machines": two_machines,
    "last-rungs": last_rungs,
    "avx2-last-rung": avx2_last_rung,
    "all-threads": all_threads,
    "batches": batches,
    "indivisible": indivisible,
    "neighbours": neighbours,
    "count-misses": lambda: example("count_misses.py"),
    "is-it-legal": lambda: example("is_it_legal.py"),
    "strategies": strategies,
    "fused-graph": lambda: fenced(str(published("rms_norm_matmul_fused"))),
    "verify": lambda: fenced(
        "\n".join(
            (
                command("mlc-course verify rms_norm_matmul rms_norm_matmul_fused"),
                command("mlc-course verify rms_norm_matmul docs/examples/wrong_mean.txt"),
            )
        )
    ),
    "cache-program": lambda: fenced(text(program("append_to_cache")).rstrip()),
    "shapes": lambda: fenced(
        "\n".join(
            (
                command("mlc-course shapes residual_layer_norm --query 'B*S == T'"),
                command("mlc-course shapes append_to_cache --query 'K == V' --query 'S > 1'"),
            )
        )
    ),
    "shape-queries": lambda: fenced(
        command(
            "mlc-course shapes residual_layer_norm"
            " --query 'reshape_kind %0' --query 'same_count %4 %1' --query 'fits %5 4 48K'"
        )
    ),
    "claims": claims,
    "fuse": lambda: fenced(
        "\n".join(
            (
                command("mlc-course fuse residual_rms_norm --facts eq --explain"),
                command("mlc-course fuse residual_rms_norm --explain"),
            )
        )
    ),
    "kernels-by-facts": kernels_by_facts,
    "kernel-for-all-sizes": lambda: fenced(kernel_for_all_sizes()),
    "code-for-all-sizes": code_for_all_sizes,
    "verify-in-python": lambda: example("verify.py"),
    "epsilon": lambda: fenced(
        command("mlc-course verify docs/examples/rms_norm.txt docs/examples/epsilon_in_a_loop.txt")
    ),
    "verifications": verifications,
    "mutants": mutants,
    "searches": searches,
    "ranking": ranking,
    "why-first": why_first,
    "models": models,
    "grading": grading,
    "planned-for-threads": planned_for_threads,
    "tried-programs": lambda: tried("programs"),
    "tried-pairs": lambda: tried(*PAIRS),
    "tried-nests": lambda: tried("tensor_program/legality"),
    "tried-expressions": lambda: tried("index expressions admitted and run"),
    "tried-indices": lambda: tried("indices before and after flattening"),
    "tried-loops": lambda: tried("loops"),
    "never-seen-to-differ": never_seen_to_differ,
    "a-kernel": a_kernel,
    "from-text-to-kernel": lambda: example("from_text_to_kernel.py"),
    "cuda-text": cuda_text,
    "gpu-text": gpu_text,
    "kernels-on-a-gpu": kernels_on_a_gpu,
    "all-sizes": lambda: example("all_sizes.py"),
    "one-kernel-for-all-sizes": one_kernel_for_all_sizes,
    "kernels-beside-numpy": kernels_beside_numpy,
    "other-compilers": other_compilers,
    "select": lambda: fenced(selection("mlc-course select gauss_121_u8 --level avx2")),
    "select-refuted": lambda: fenced(
        selection("mlc-course select median3_u16 --level avx2 --fresh --seconds 120")
    ),
    "select-refusals": selection_refusals,
    "select-in-a-schedule": lambda: example("select_in_a_schedule.py"),
    "not-at-neon": not_at_neon,
    "selected-instructions": selected_instructions,
    "instruction-rows": instruction_rows,
    "other-instructions": other_instructions,
}
DRAWN_AT_RANDOM = {
    "verify",
    "epsilon",
    "check",
    "all-sizes",
    "select-refuted",
}  # their figures differ from run to run, or by machine


def pages() -> list[Path]:
    """The pages that may have samples."""
    root = (ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG"))
    return [*root, *sorted((ROOT / "docs").glob("*.md"))]


def shown(page: str) -> dict[str, str]:
    """The samples of a page as they stand; raises ``ValueError`` for a mark without its end."""
    found = {name: inner.strip() for _, name, inner, _ in SAMPLE.findall(page)}
    opened, closed = page.count("<!-- sample:"), page.count("<!-- end -->")
    if not len(found) == opened == closed:
        raise ValueError(f"{len(found)} samples, {opened} marks that open and {closed} that close")
    return found


def filled(page: str, samples: Mapping[str, Callable[[], str]] = SAMPLES) -> str:
    """The page with new samples. Raises ``KeyError`` for a name that nothing makes."""
    shown(page)

    def fill(found: re.Match[str]) -> str:
        text = samples[found[2]]()
        edge = "\n\n" if "\n" in text else ""
        return f"{found[1]}{edge}{text}{edge}{found[4]}"

    return SAMPLE.sub(fill, page)


def same(name: str, left: str, right: str) -> bool:
    """Two texts of a sample are alike; where figures are drawn at random, but for the figures."""
    if name in DRAWN_AT_RANDOM:
        left, right = (re.sub(r"-?\d[\d.e+-]*", "0", text) for text in (left, right))
    return left.strip() == right.strip()


def stale(page: str, samples: Mapping[str, Callable[[], str]] = SAMPLES) -> list[str]:
    """The names of samples that a page shows otherwise than they are now."""
    return [name for name, text in shown(page).items() if not same(name, text, samples[name]())]


def main() -> int:
    """Fill the pages, or with ``--check`` say which are out of date."""
    status = 0
    for path in pages():
        text = path.read_text(encoding="utf-8")
        names = stale(text)
        if not names:
            continue
        where = path.relative_to(ROOT)
        if "--check" in sys.argv:
            print(f"{where}: out of date: {', '.join(names)}; make docs")
            status = 1
        else:
            path.write_text(filled(text), encoding="utf-8")
            print(f"{where}: {', '.join(names)}")
    if picture_is_stale():
        where = PICTURE.relative_to(ROOT)
        if "--check" in sys.argv:
            print(f"{where}: out of date; make docs")
            status = 1
        else:
            save_machines(climbs(), PICTURE)
            print(where)
    return status


if __name__ == "__main__":
    sys.exit(main())
