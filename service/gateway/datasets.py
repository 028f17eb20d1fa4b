"""Tokens for some data sets: whether a request is about one of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from clients.transport import Message
from sde import wire
from sde.wire import Request
from sde.wire.requests import LARGEST_PAGE
from service.gateway.call import Call, new_id
from service.gateway.problems import FORBIDDEN, Problem

_ABOUT_NONE = (wire.Plugins, wire.Sites)  # reads that tell nothing of data sets
_FIRST_PAGE = 20  # watches: as many as have ids that differ in the last character, mostly
_BY_DATASET = (wire.Create, wire.Source, wire.Preview, wire.ListAll, wire.Watches)


async def check_datasets(call: Call, request: Request) -> None:
    """Problem if a caller who may see some data sets only asks about others, or about all."""
    if not call.caller.datasets or isinstance(request, _ABOUT_NONE):
        return
    if isinstance(request, wire.Unwatch):
        row = await find_watch(call, request.watch)
        await check_uids(call, row["uids"] if row is not None else ())
    elif isinstance(request, _BY_DATASET) and request.dataset is not None:
        check_dataset(call, request.dataset)
    elif isinstance(request, wire.Ask | wire.Watch):
        await check_uids(call, request.uids)
    elif isinstance(uid := getattr(request, "uid", None), str):
        await check_uids(call, [uid])
    else:
        _refuse(call, "expected a request about one of them")


async def check_uids(call: Call, uids: Iterable[str]) -> None:
    """Problem if one of these synopses is of a data set that the caller may not see."""
    if call.caller.datasets:
        for uid in uids:
            check_dataset(call, (await call.describe(uid))["dataset"])


def check_all_datasets(call: Call) -> None:
    """Problem if a caller may see some data sets only."""
    if call.caller.datasets:
        _refuse(call, "this tells of all")


def check_dataset(call: Call, dataset: str) -> None:
    if not call.caller.sees(dataset):
        _refuse(call, "this is about another one")


async def find_watch(call: Call, watch: str) -> Message | None:
    """What `watches` tells of a watch; None if it does not run."""
    # Ids come in their order, and a text is behind every shorter beginning of it.
    after, limit = watch[:-1] or None, _FIRST_PAGE
    while True:
        reply = await call.ask(wire.Watches(id=new_id(), after=after, limit=limit))
        for row in reply["value"]:
            if row["watch"] >= watch:
                return row if row["watch"] == watch else None
        if "next" not in reply:
            return None
        after, limit = reply["next"], min(10 * limit, LARGEST_PAGE)


def _refuse(call: Call, why: str) -> NoReturn:
    seen = ", ".join(call.caller.datasets)
    raise Problem(403, FORBIDDEN, f"this token is for the data sets {seen}: {why}", "dataset")
