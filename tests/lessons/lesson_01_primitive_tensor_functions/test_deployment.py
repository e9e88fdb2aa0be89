"""A deployed folder runs alone, and says so itself."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from mlc_course.errors import MachineError, SizeError, UsageError
from mlc_course.lessons.lesson_01_primitive_tensor_functions import deployment
from mlc_course.lessons.lesson_01_primitive_tensor_functions.tensor_functions import chains
from mlc_course.tensor_program.networks import digits, train
from mlc_course.tensor_program.tir import tvm

IMAGE = digits().test_images[:1]
needs_linker = pytest.mark.skipif(tvm.linker() is None, reason="no C compiler here")


@pytest.fixture(scope="module")
def alone() -> deployment.Answer:
    return deployment.deployment_form(train(), IMAGE)


@pytest.fixture(scope="module")
def framework() -> deployment.Answer:
    return deployment.development_form(IMAGE)


@needs_linker
def test_the_deployed_network_gives_the_scores_of_numpy(alone: deployment.Answer) -> None:
    assert alone.origin == "measured here"
    np.testing.assert_allclose(alone.scores, train().numpy(IMAGE)[0], rtol=1e-4, atol=1e-4)
    assert alone.label == digits().test_labels[0]


@needs_linker
def test_it_has_loaded_nothing_but_tvms_runtime(alone: deployment.Answer) -> None:
    assert alone.modules == ("tvm_ffi", "typing_extensions")
    if sys.platform == "linux":
        assert "network.so" in alone.libraries
        assert "libtvm_runtime.so" in alone.libraries
        assert not [name for name in alone.libraries if "compiler" in name or "blas" in name]


def test_the_framework_gives_the_same_answer_and_needs_more(
    alone: deployment.Answer, framework: deployment.Answer
) -> None:
    assert framework.label == alone.label
    assert {"numpy", "scipy", "sklearn"} <= set(framework.modules)
    assert framework.disk_bytes > 10 * alone.disk_bytes
    assert framework.peak_bytes >= alone.peak_bytes


@needs_linker
def test_other_programs_can_be_deployed() -> None:
    library = {each.name: each.program for each in chains()[-1].functions}
    answer = deployment.deployment_form(train(), IMAGE, library)
    np.testing.assert_allclose(answer.scores, train().numpy(IMAGE)[0], rtol=1e-4, atol=1e-4)


@needs_linker
def test_a_deployed_folder_runs_where_it_is_moved_to(tmp_path: Path) -> None:
    parts = deployment.deploy(train(), tmp_path / "before")
    moved = (tmp_path / "before").rename(tmp_path / "after")
    assert sum(parts.values()) == deployment._size(moved)
    (tmp_path / "image").write_bytes(IMAGE.tobytes())
    words = [sys.executable, "-E", "-s", "-S", str(moved / "deployed.py"), str(tmp_path / "image")]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.split()[0] == str(digits().test_labels[0])
    assert done.stderr == ""


def test_without_a_c_compiler_the_answer_is_a_recorded_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tvm, "linker", lambda: None)
    answer = deployment.deployment_form(train(), IMAGE)
    assert answer == deployment.recorded_answer()
    assert answer.origin.startswith("recorded on ")
    assert answer.origin[-10:].startswith("20")
    assert answer.modules == ("tvm_ffi", "typing_extensions")


def test_a_compiler_that_fails_counts_as_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CXX", "false")  # such as the one of macOS without its command-line tools
    with pytest.raises(MachineError, match="a C compiler is installed"):
        deployment.deploy(train(), tmp_path)
    assert deployment.deployment_form(train(), IMAGE).origin.startswith("recorded on ")


def test_a_record_can_be_read_back(alone: deployment.Answer) -> None:
    record = json.loads(json.dumps(deployment.answer_record(alone)))
    assert record["answer"] == json.loads(json.dumps(asdict(alone)))
    assert record["machine"]["cores"] >= 1


def test_programs_of_another_network_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not the functions of this network"):
        deployment.deploy(train(), tmp_path, {"linear": chains()[2].functions[1].program})


def test_one_image_at_a_time() -> None:
    with pytest.raises(SizeError, match="one image at a time"):
        deployment.development_form(digits().test_images[:2])


def test_the_plan_calls_what_is_compiled_with_tensors_that_it_has() -> None:
    plan = deployment.plan(3)
    assert {name for name, _ in plan.calls} == set(deployment.functions(3))
    assert {name for _, operands in plan.calls for name in operands} == set(plan.tensors)
    assert plan.tensors["H"] == (3, 200)


def test_installed_packages_are_counted_with_what_they_require() -> None:
    sizes = deployment.installed("scikit-learn")
    assert {"scikit-learn", "scipy", "numpy"} <= set(sizes)
    assert list(sizes.values()) == sorted(sizes.values(), reverse=True)
    assert sizes["numpy"] > 10e6
    with pytest.raises(UsageError, match="no package"):
        deployment.installed("no-such-package-here")
