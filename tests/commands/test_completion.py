"""Shells complete what the command takes; bash is run for it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mlc_course.commands import cli, names
from mlc_course.dynamic_shape import programs as shapes
from mlc_course.instruction_selection.isa import LEVELS
from mlc_course.instruction_selection.spec import CATALOGUE
from mlc_course.mugraph import cost, programs, runtime
from mlc_course.tensor_program.ladders import LADDERS
from mlc_course.tensor_program.problems import WORKLOADS
from mlc_course.tensor_program.search import STRATEGIES

# What bash does when the key is pressed, with the words so far and the cursor behind the last one.
PRESS = """\
eval "$(mlc-course completion bash)"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
COMP_TYPE=9 COMP_KEY=9
complete -p mlc-course > /dev/null || exit 3
function=$(complete -p mlc-course | sed -E 's/.*-F ([^ ]+).*/\\1/')
"$function" mlc-course "${COMP_WORDS[$COMP_CWORD]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def press(tmp_path_factory: pytest.TempPathFactory) -> object:
    """Press the tabulator key behind some words in a real bash; return what it offers."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    folder = tmp_path_factory.mktemp("bin")
    program = folder / "mlc-course"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfrom mlc_course.commands import main\nsys.exit(main())\n"
    )
    program.chmod(0o755)
    root = Path(cli.__file__).parents[2]

    def pressed(*words: str) -> set[str]:
        done = subprocess.run(
            [bash, "--norc", "-c", PRESS, "bash", "mlc-course", *words],
            capture_output=True,
            text=True,
            env={"PATH": f"{folder}:/usr/bin:/bin", "PYTHONPATH": str(root), "HOME": str(folder)},
        )
        assert done.returncode == 0, done.stderr
        return {word.strip() for word in done.stdout.splitlines() if word.strip()}

    return pressed


@pytest.mark.slow
def test_bash_completes_subcommands_options_and_names(press: object) -> None:
    assert callable(press)
    assert press("s") == {"select", "shapes", "superoptimize"}
    assert press("verify", "rms") == {"rms_norm_matmul", "rms_norm_matmul_fused"}
    assert {"--json", "--quick", "--rungs"} <= press("ladder", "matmul", "--")
    assert press("select", "--level", "av") == {"avx2", "avx512"}
    assert press("lecture", "1") == {f"1{digit}" for digit in range(10)}
    here = Path(__file__)
    assert press("verify", str(here.with_suffix(""))) == {str(here)}
    assert press("run", "lora", "--target", "no_name_of_the_course") == set()


@pytest.mark.parametrize("shell", names.SHELLS)
def test_each_shell_gets_a_program_that_names_the_command(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert "mlc-course" in text and "_ARGCOMPLETE" in text
    program = shutil.which(shell)
    if program:
        checked = subprocess.run([program, "-n"], input=text, text=True, capture_output=True)
        assert checked.returncode == 0, checked.stderr


def test_an_unknown_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["completion", "zhs"])
    assert "did you mean zsh?" in capsys.readouterr().err


def test_the_names_are_those_of_the_engines() -> None:
    assert tuple(LADDERS) == names.LADDERS
    assert tuple(WORKLOADS) == names.WORKLOADS
    assert tuple(STRATEGIES) == names.STRATEGIES
    assert names.PROGRAMS == programs.NAMES
    assert tuple(programs.MODELS) == names.MODELS
    assert tuple(programs.PROGRAM_OF) == names.FUSED
    assert names.SHAPES == shapes.NAMES
    assert tuple(CATALOGUE) == names.SPECIFICATIONS
    assert tuple(LEVELS) == names.LEVELS
    assert tuple(runtime.TARGETS) == names.TARGETS
    assert set(names.SEARCH_TARGETS) == {*cost.TARGETS, "cpu"}
    storages = {each for target in runtime.TARGETS.values() for each in target.storages}
    assert set(names.STORAGES) == storages
