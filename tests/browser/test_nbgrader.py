"""nbgrader in a real JupyterLab: an instructor's formgrader, a student's Validate and list."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Request, expect
from sample_course import EXERCISE, NAME, cell, edit, hand_in, make_course, nbgrader, solve

from mlc_course.grading.nbgrader import Entry, record_marks, release, settings

from .conftest import jupyterlab
from .driving import READY, SCREENSHOTS

SOLVED = f"solved/{NAME}.ipynb"
MATHJAX = "https://cdnjs.cloudflare.com/ajax/libs/mathjax/"  # written in formgrader's template
ATTACK = """# Ada's sums
<script>top.stolen = 1</script>
<img src="x" onerror="top.stolen = 1">"""
OPEN = "(command) => window.jupyterapp.commands.execute(command)"


@pytest.fixture(scope="module")
def course_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A JupyterLab on a course with one assignment, which one student has handed in."""
    home = tmp_path_factory.mktemp("grading")
    course = make_course(home / "course")
    db_url = settings(course).CourseDirectory.db_url
    release(course / "solutions", course / "exercises", db_url=db_url)
    (course / "solved").mkdir()
    (course / SOLVED).write_bytes((course / EXERCISE).read_bytes())
    edit(course / SOLVED, solve)
    path = hand_in(course, "ada")
    edit(path, lambda notebook: cell(notebook, "title").update(source=ATTACK))
    record_marks(
        [Entry("ada", NAME, {"test-total": 3, "test-twice": 1.5}, path.read_bytes())], root=course
    )
    assert nbgrader(course, "release_assignment", NAME).returncode == 0
    with jupyterlab(home) as address:
        yield address


def start(page: Page, lab: str, command: str) -> None:
    page.goto(f"{lab}/lab?reset")
    page.wait_for_function("() => window.jupyterapp")
    page.evaluate("() => window.jupyterapp.restored")
    page.evaluate(OPEN, command)


@pytest.mark.browser
@pytest.mark.slow
def test_formgrader_lists_the_submission_with_its_score_and_shows_it(
    page: Page, course_lab: str
) -> None:
    strangers: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith((course_lab, "data:", "blob:", MATHJAX)):
            strangers.append(request.url)

    page.on("request", note)
    start(page, course_lab, "nbgrader:open-formgrader")
    grader = page.frame_locator("iframe")
    grader.locator("tr", has_text=NAME).get_by_role("link", name="1", exact=True).click()
    row = grader.locator("tr", has_text="ada")
    expect(row).to_contain_text("4.5 / 5")
    expect(row).to_contain_text("graded")
    page.screenshot(path=SCREENSHOTS / "formgrader_submissions.png")

    grader.get_by_role("link", name="Manual Grading").click()
    for place in NAME, f"{NAME}/{NAME}":  # the assignment, and its notebook
        grader.locator(f"tbody a[href$='/gradebook/{place}']").click()
    grader.get_by_role("link", name="Submission #1").click()
    expect(grader.locator("body")).to_contain_text("Ada's sums")
    expect(grader.locator("body")).to_contain_text("return numbers.sum()")
    page.screenshot(path=SCREENSHOTS / "formgrader_submission.png")
    assert not page.evaluate("() => window.stolen"), "a student's text ran as a program"
    assert not strangers, "the page asked other machines for something"


def validate(page: Page, lab: str, path: str) -> None:
    page.goto(f"{lab}/lab/tree/{path}?reset")
    page.wait_for_function("() => window.jupyterapp")
    page.evaluate(READY)
    page.get_by_role("button", name="Validate").click()


@pytest.mark.browser
@pytest.mark.slow
def test_validate_shows_the_tests_that_fail_and_then_success(page: Page, course_lab: str) -> None:
    dialog = page.get_by_role("dialog")
    validate(page, course_lab, EXERCISE)
    expect(dialog).to_contain_text("The following cell failed")
    expect(dialog).to_contain_text("assert total(np.ones(3)) == 3")
    expect(dialog).to_contain_text("write your answer in this cell")
    page.screenshot(path=SCREENSHOTS / "validate_fails.png")

    validate(page, course_lab, SOLVED)
    expect(dialog).to_contain_text("Success! Your notebook passes all the tests.")
    page.screenshot(path=SCREENSHOTS / "validate_succeeds.png")


@pytest.mark.browser
@pytest.mark.slow
def test_the_list_of_assignments_opens(page: Page, course_lab: str) -> None:
    start(page, course_lab, "nbgrader:open-assignment-list")
    released = page.locator(".panel", has_text="Released assignments")
    expect(released).to_contain_text(NAME)
    expect(released.get_by_role("button", name="Fetch")).to_be_visible()
    page.screenshot(path=SCREENSHOTS / "assignment_list.png")
