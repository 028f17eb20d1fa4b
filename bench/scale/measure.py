"""One case in a running engine: create, read what lies ready, look at what it took, delete."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from bench.batches import Batch, read_batches
from bench.rates import Mark, batch_rate
from bench.scale.cases import Case
from bench.site import DATA, Site
from bench.throughput.forms import again_and_again
from bench.throughput.topics import Load, Loader
from bench.throughput.tuples import DATASET, Tuples
from clients import Client
from clients.processes import folder_bytes, memory


@dataclass(frozen=True, slots=True)
class Measured:
    way: str
    number: int
    rate: float  # tuples a second
    batch_seconds: float  # mean of the batches that were full
    batch_tuples: float
    memory_bytes: int  # of all processes of the engine
    arena_bytes: int
    state_bytes: int  # snapshots and logs in the checkpoint
    log_bytes: float  # written to the checkpoint for each tuple


def measure(
    site: Site, sde: Client, loader: Loader, case: Case, parts: list[Tuples], count: int
) -> Measured:
    uids = _create(sde, case)
    load = loader.put(DATA, again_and_again("json", parts, count))
    before = len(read_batches(site.engine.folder))
    loader.show()
    batches = site.batches_that_read(load, before)
    _check(sde, case, load)
    marks = [Mark(batch.ended, load.read(batch.offsets)) for batch in batches]
    full = batches[len(batches) // 4 : -1] or batches
    _forget(site, load)
    measured = Measured(
        way=case.way,
        number=case.number,
        rate=batch_rate(marks),
        batch_seconds=mean(batch.stages["triggerExecution"] for batch in full),
        batch_tuples=load.tuples / len(batches),
        memory_bytes=sum(memory(site.engine.pid).values()),
        arena_bytes=folder_bytes(site.arena),
        state_bytes=folder_bytes(site.checkpoint / "state"),
        log_bytes=_log_bytes(site, load, batches),
    )
    for pending in [sde.submit("delete", uid=uid) for uid in uids]:
        pending.result()
    return measured


def _create(sde: Client, case: Case) -> list[str]:
    pending = [sde.submit("create", **fields) for fields in case.creates()]
    return [one.result()["uid"] for one in pending]


def _forget(site: Site, load: Load) -> None:
    """Let the broker drop what was read in earlier cases: the disk must not fill."""
    admin = AdminClient({"bootstrap.servers": site.servers})
    places = [TopicPartition(DATA, p, start) for p, start in enumerate(load.starts)]
    for done in admin.delete_records(places).values():
        done.result()


def _check(sde: Client, case: Case, load: Load) -> None:
    """Every tuple is in every sketch it belongs to, else the rate means nothing."""
    counted = sum(one.tuples or 0 for one in sde.list(DATASET))
    wanted = load.tuples * case.sketches_a_tuple
    if counted != wanted:
        raise ValueError(f"{case}: {counted} tuples counted, expected {wanted}")


def _log_bytes(site: Site, load: Load, batches: list[Batch]) -> float:
    """For each tuple, by the files of the batches that Spark has not cleaned up yet.

    A batch's changes are in a file that is named for the version they lead to.
    """
    reached = [load.read(batch.offsets) for batch in batches]
    tuples = written = 0
    for batch, start, end in zip(batches, [0, *reached], reached, strict=False):
        files = list((site.checkpoint / "state").glob(f"0/*/{batch.number + 1}.changelog"))
        if files:
            tuples += end - start
            written += sum(file.stat().st_size for file in files)
    return written / tuples if tuples else 0.0
