"""Plans and campaigns on a Ray cluster (an optional extra: ``pip install gcn-emu[ray]``).

A plan runs in shards (docs/clusters.md), each a task of Ray, on any node. Ray runs a task again whose node or process was lost; a shard gives the
same every time. A campaign's items run in tasks of several, and their records go into one journal where it was called. The files must be readable under the same names on all nodes.
"""

from __future__ import annotations

import functools
import itertools
import os
from typing import Any

import ray

from ._error import Error
from ._gcn import Campaign, merge, run_shard
from ._record import Record

#: How often Ray runs a task again whose node or process was lost.
RETRIES = 10


def run(plan: str | os.PathLike[str], shards: int, *, arch: str | None = None, **options: Any) -> Record:
    """Runs a plan in this number of shards, unites them here, and checks and saves as ``gcn.run_plan`` does.

    ``options`` are those of a Ray task, as ``num_cpus``. Call ``ray.init`` before to choose a cluster. The first shard that fails or is refused
    ends the run, with its :class:`gcn.Error`.
    """
    path = os.path.abspath(os.fspath(plan))
    options.setdefault("max_retries", RETRIES)
    task = ray.remote(**options)(run_shard_of)
    waiting = [task.remote(path, index, shards, arch) for index in range(shards)]
    parts: list[bytes] = []
    try:
        while waiting:
            done, waiting = ray.wait(waiting, num_returns=1)
            parts += ray.get(done)
    except ray.exceptions.RayTaskError as error:
        for rest in waiting:
            ray.cancel(rest)
        raise error.cause from None
    return merge(path, parts, arch)


def run_shard_of(path: str, index: int, count: int, arch: str | None) -> bytes:
    """The task of Ray."""
    return run_shard(path, index, count, arch)


def campaign(
    file: str | os.PathLike[str],
    *,
    journal: str | os.PathLike[str] | None = None,
    arch: str | None = None,
    items_per_task: int = 16,
    waiting_tasks: int = 256,
    **options: Any,
) -> Record:
    """Runs what the journal of a campaign does not have, and returns the summary of ``gcn campaign --json``.

    Records are in the journal, on the disk of the caller, when their task has ended: if the caller is killed, the same call goes on with the items
    that are left. ``options`` are those of a Ray task, as ``num_cpus``.
    """
    path = os.path.abspath(os.fspath(file))
    whole = Campaign(path, arch)
    book = whole.journal(journal)
    done = set(book.done)
    left = (item for item in range(len(whole)) if item not in done)
    options.setdefault("max_retries", RETRIES)
    task = ray.remote(**options)(run_items_of)
    waiting: list[Any] = []
    try:
        while True:
            while len(waiting) < waiting_tasks and (items := list(itertools.islice(left, items_per_task))):
                waiting.append(task.remote(path, arch, whole.print, items))
            if not waiting:
                return book.summary()
            ended, waiting = ray.wait(waiting, num_returns=1)
            for texts in ray.get(ended):
                book.append(texts)
    except ray.exceptions.RayTaskError as error:
        for rest in waiting:
            ray.cancel(rest)
        raise error.cause from None


def run_items_of(path: str, arch: str | None, print: str, items: list[int]) -> list[str]:
    """The task of Ray."""
    here = _read(path, arch, print)
    return [here.run_text(item) for item in items]


@functools.lru_cache(maxsize=4)
def _read(path: str, arch: str | None, print: str) -> Campaign:
    """The campaign as this node has it."""
    here = Campaign(path, arch)
    if here.print != print:
        raise Error(f"{path}: the campaign or a file that it names is not the same on all nodes", kind="plan", file=path)
    return here
