"""Who does the work: processes here, or those of a Dask cluster."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from typing import Any, cast

from mlc_course.errors import UsageError

DASK = "dask://"


def executor_for(address: str | None, jobs: int) -> Callable[[], Executor]:
    """How to start workers: processes here, or those of a Dask cluster at ``dask://HOST:PORT``.

    Raises ``UsageError`` for another address, and where Dask is not installed or not reached.
    """
    if address is None:
        context = multiprocessing.get_context("spawn")
        return lambda: ProcessPoolExecutor(jobs, context, initializer=_leave_ctrl_c_to_the_parent)
    if not address.startswith(DASK):
        raise UsageError("not an executor", expected=f"{DASK}HOST:PORT", got=address)
    try:
        from distributed import Client

        client: Any = Client("tcp://" + address.removeprefix(DASK), timeout=10)  # type: ignore[no-untyped-call]
    except ImportError:
        raise UsageError(
            "no dask.distributed here", hint="pip install -e '.[cluster]' -c constraints.txt"
        ) from None
    except OSError as error:
        raise UsageError(f"no Dask scheduler at {address}", got=error) from None
    return lambda: cast(Executor, client.get_executor())


def _leave_ctrl_c_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
