"""Keep an instructor's tools out of a student's JupyterLab: a server extension that does so.

``mlc-course lab --instructor`` starts without it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

# The plugins of nbgrader that an instructor uses, and those for classes that use its exchange.
INSTRUCTORS = ("formgrader", "create-assignment", "course-list")
CLASSES = ("menu", "assignment-list")


def hidden_plugins(root: Path) -> list[str]:
    """Return the plugins of nbgrader that a student of a course below a folder does not need.

    The list of assignments is for classes to which something was released in nbgrader's exchange.
    """
    is_class = any(root.glob(".grading/exchange/*/outbound/*"))
    names = INSTRUCTORS if is_class else (*INSTRUCTORS, *CLASSES)
    return [f"@jupyter/nbgrader:{name}" for name in names]


def hide_from_students(app: Any, root: Path) -> None:
    """Have JupyterLab's pages leave out what ``hidden_plugins`` names."""
    earlier = app.web_app.settings.get("page_config_hook")

    def hook(handler: Any, config: dict[str, Any]) -> dict[str, Any]:
        config = earlier(handler, config) if earlier else config
        hidden = [*config.get("disabledExtensions", ()), *hidden_plugins(root)]
        return {**config, "disabledExtensions": hidden}

    app.web_app.settings["page_config_hook"] = hook


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(app: Any) -> None:
    hide_from_students(app, Path(app.root_dir))
