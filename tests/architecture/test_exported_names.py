"""The public surface, written out: a change of it is a change of this file, seen in review."""

import importlib
import inspect
import types
import typing
from collections.abc import Iterator

import pytest

from clients import (
    AsyncSynopsisHandle,
    AsyncWatch,
    Client,
    Opening,
    Pending,
    SynopsisHandle,
    Watch,
)
from sde.testing import LocalEngine, LocalTransport
from synopses import Synopsis

NAMES = {
    "clients": """
        AccessDenied Answer AnswerTimeout AsyncClient AsyncSynopsisHandle AsyncWatch BadInput
        BadParameter BadQuery BadRequest BadState
        BrokenLaw Client ClientError ClosedClient DeliveryFailed Description EngineFailed
        HasUid HttpTransport InMemoryTransport
        Interval KafkaTransport Kind LimitExceeded MissingExtra NotMergeable Opening Pending
        PluginInUse PluginInfo Quarantined Record Records Refused SiteInfo SnapshotInfo
        SourceInfo SourceMapping SourcePreview StreamInfo SynopsisExists
        SynopsisHandle Topics Transport TransportError UnknownKind UnknownPlugin
        UnknownSite UnknownSource UnknownStream UnknownSynopsis UnknownVersion UnknownWatch
        Unreachable Untrusted VersionExists Watch WatchInfo
    """,
    "synopses": """
        AMS DFT FM KINDS LSH Arrays BankedSynopsis Bloom ChainSample ConservativeCountMin
        Coreset CountMin Estimate FrequentItems Histogram HyperLogLog Items Layout
        LogHistogram LossyCounting MergeError Moments ParameterError Quantiles QueryError
        Sample StateError StickySampling Streams Synopsis SynopsisError Texts Theta TopK
        Trajectory from_bytes parameter question
    """,
    "sde.testing": "LocalEngine LocalTransport StateLimits Trust messages",
}

CREATE = "kind dataset uid key value where scope window time ttl idle reuse sites deadline **params"
QUESTION = "query stream end span sites deadline **arguments"
ALL_STREAMS = "query end span top **arguments"
OCCASION = "every on threshold when each drift timeout"
BATCH = "requests data partition time"
METHODS: dict[type, dict[str, str]] = {
    Client: {
        "__init__": "engine timeout settings topics token ca_file",
        "add_plugin": "path name key migrate",
        "add_source": "name topic start **mapping",
        "close": "",
        "create": CREATE,
        "delete": "uid sites deadline",
        "describe": "uid digest",
        "estimate": f"synopses question {QUESTION}",
        "estimate_streams": f"uid question {ALL_STREAMS}",
        "export": "uid stream format end span",
        "flush": "",
        "import_state": "uid state stream replace tuples",
        "kinds": "",
        "list": "dataset",
        "plugins": "",
        "preview_source": "topic limit **mapping",
        "release_plugin": "name version",
        "remove_plugin": "name version",
        "remove_source": "name",
        "restore": "uid version as_uid",
        "send": "dataset stream values time",
        "send_file": "dataset path stream time progress",
        "send_many": "dataset rows",
        "send_table": "dataset table stream time",
        "sites": "deadline",
        "remove_snapshot": "uid version",
        "snapshot": "uid version replace keep",
        "snapshots": "uid",
        "sources": "",
        "streams": "uid",
        "submit": "op **fields",
        "synopsis": "uid",
        "unwatch": "watch_id",
        "watch": f"synopses question {OCCASION} {QUESTION}",
        "watches": "uid dataset",
        "watching": "watch_id timeout",
    },
    SynopsisHandle: {
        "delete": "sites deadline",
        "describe": "digest",
        "estimate": f"question *others {QUESTION}",
        "estimate_streams": f"question {ALL_STREAMS}",
        "export": "stream format end span",
        "import_state": "state stream replace tuples",
        "restore": "version as_uid",
        "snapshot": "version replace keep",
        "snapshots": "",
        "streams": "",
        "watch": f"question *others {OCCASION} {QUESTION}",
        "watches": "",
    },
    LocalEngine: {
        "__init__": "shards limits snapshots trust site secrets seal has_log schemas topics",
        "ask": "**request",
        "replies": BATCH,
        "run": BATCH,
        "send": "dataset rows",
        "send_records": "source records partition",
        "settle": "most",
        "shard": "number",
        "tell": "message",
        "tick": "time caught_up left",
        "written": BATCH,
    },
    LocalTransport: {
        "__init__": "engine",
        "close": "",
        "flush": "",
        "follow": "watch_id runs",
        "leave": "watch_id",
        "listen": "on_reply",
        "send_data": "payload lane",
        "send_request": "request on_failure",
        "tick": "time",
        "trouble": "",
    },
    Synopsis: {
        "__init__": "**params",
        "add": "items",
        "check_query": "query n_others",
        "copy": "",
        "digest": "",
        "estimate": "query *others",
        "example": "",
        "example_items": "rng n",
        "example_query": "question",
        "from_bytes": "data",
        "merge": "other",
        "to_bytes": "",
    },
}

# The client makes these: what their constructors take is no part of the surface.
MADE_BY_THE_CLIENT = {AsyncSynopsisHandle, AsyncWatch, Opening, Pending, SynopsisHandle, Watch}
# Results of methods that kinds share, and that the engine calls: not for users of the library.
FOR_THE_ENGINE = {"Count", "Losses", "Question", "Sums", "Transform", "WindowSums"}


def methods(cls: type) -> Iterator[tuple[str, types.FunctionType]]:
    """Public methods, properties and constructor, as functions."""
    for name in dir(cls):
        if name.startswith("_") and (name != "__init__" or cls in MADE_BY_THE_CLIENT):
            continue
        member = inspect.getattr_static(cls, name)
        function = getattr(member, "__func__", getattr(member, "fget", member))
        if inspect.isfunction(function):
            yield name, function


def parameters(function: types.FunctionType) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found = inspect.signature(function).parameters.values()
    return " ".join(
        f"{stars.get(each.kind, '')}{each.name}"
        for each in found
        if each.name not in ("self", "cls")
    )


def classes_in(hint: object) -> Iterator[type]:
    """The classes that an annotation names, through unions and containers."""
    if isinstance(hint, list):  # the arguments of a Callable
        for part in hint:
            yield from classes_in(part)
    if isinstance(hint, type):
        yield hint
    for part in typing.get_args(hint):
        yield from classes_in(part)


def functions_of(value: object) -> list[types.FunctionType]:
    if inspect.isclass(value):
        return [function for _, function in methods(value)]
    return [value] if inspect.isfunction(value) else []


@pytest.mark.parametrize("package", NAMES)
def test_a_package_exports_the_names_that_are_written_here(package) -> None:
    module = importlib.import_module(package)
    assert set(module.__all__) == set(NAMES[package].split())
    assert len(module.__all__) == len(set(module.__all__))
    for name in module.__all__:
        assert getattr(module, name) is not None


@pytest.mark.parametrize("cls", METHODS, ids=lambda cls: cls.__name__)
def test_a_class_has_the_methods_and_parameters_that_are_written_here(cls) -> None:
    properties = {name for name in dir(cls) if isinstance(getattr(cls, name), property)}
    found = {n: parameters(function) for n, function in methods(cls) if n not in properties}
    submits = {n: found.pop(n) for n in [*found] if n.startswith("submit_")}
    assert found == METHODS[cls]
    assert submits == {n: METHODS[cls][n.removeprefix("submit_")] for n in submits}


def test_every_request_can_be_sent_without_waiting():
    for cls in (Client, SynopsisHandle):
        waiting = {n for n, function in methods(cls) if hasattr(function, "__wrapped__")}
        assert {f"submit_{n}" for n in waiting} == {n for n in dir(cls) if n.startswith("submit_")}
        assert waiting <= METHODS[cls].keys()


@pytest.mark.parametrize("package", NAMES)
def test_a_class_that_a_signature_names_can_be_imported_from_its_package(package) -> None:
    module = importlib.import_module(package)
    for name in module.__all__:
        for function in functions_of(getattr(module, name)):
            hints = typing.get_type_hints(function).values()
            for cls in {cls for hint in hints for cls in classes_in(hint)} - {object}:
                inside = cls.__module__ == package or cls.__module__.startswith(f"{package}.")
                if inside and cls.__name__ not in FOR_THE_ENGINE:
                    where = f"{function.__qualname__} names {cls.__module__}.{cls.__name__}"
                    assert cls.__name__ in module.__all__, where


@pytest.mark.parametrize("cls", [Client, SynopsisHandle])
def test_a_public_method_of_the_client_says_what_it_does(cls) -> None:
    for name, function in methods(cls):
        assert name == "__init__" or function.__doc__, f"{cls.__name__}.{name}"
