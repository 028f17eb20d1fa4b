"""What every request has: the base of the declarations in `requests` and `sources`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from sde.wire.forms import Name


class Message(
    Struct,
    frozen=True,
    kw_only=True,
    tag_field="op",
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """What every request has."""

    id: Annotated[
        Name,
        Meta(description="the sender's name for the request; left out: made from its position"),
    ] = ""

    @property
    def op(self) -> str:
        return str(self.__struct_config__.tag)

    @property
    def named(self) -> str:
        """The uids the request is about, as text: the key of its reply; "" for none."""
        return ""

    def check(self) -> None:
        """Refusal if fields that are right by themselves do not go together."""
