"""Plug-ins over several sites: states travel, code does not."""

from dataclasses import replace

import msgspec
import pytest
from plugin_sources import TOTAL, plugin_request, touchy
from sites import SITES, Sites
from wire_messages import create, tuples

from sde.federation.peers import Peers
from sde.records.sites import Contribution

pytestmark = pytest.mark.usefixtures("quick_examination")

DATA = {
    site: tuples("d", [(f"{site}{i}", {"v": i + 10 * n}) for i in range(40)])
    for n, site in enumerate(SITES)
}
SUMS = {site: sum(row["values"]["v"] for row in rows) for site, rows in DATA.items()}


def with_plugin(**sources):
    sites = Sites()
    for site in SITES:
        sites[site].run([plugin_request("total", sources.get(site, TOTAL))])
        (reply,) = sites[site].settle()
        assert reply["status"] == "ok", reply
    made = create("u", kind="total", key=None, value="v")
    assert sites.ask(**made, sites="*")["status"] == "ok"
    for site in SITES:
        sites[site].run([], DATA[site])
    return sites


def ask(sites, **fields):
    return sites.ask(op="estimate", uid="u", query={}, sites="*", **fields)


def test_sites_that_have_the_same_plug_in_answer_together():
    for source in (TOTAL, touchy("raises").replace('"raises"', '"total"')):
        reply = ask(with_plugin(**dict.fromkeys(SITES, source)))
        assert (reply["value"], reply["complete"]) == (sum(SUMS.values()), True)


def test_a_site_with_another_source_under_that_name_is_left_out():
    reply = ask(with_plugin(c=TOTAL.replace("The sum of", "The total of")))
    assert reply["value"] == SUMS["a"] + SUMS["b"]
    assert "another plug-in" in reply["missing"]["c"]


def test_no_site_takes_code_from_another(monkeypatch):
    sites = with_plugin()
    version = sites["b"].shard(0).registry.shelf.versions["total@1"].as_json()
    version |= {"source": "raise SystemExit('evil')", "sha256": "0" * 64}
    packed = {"version": version, "made": []}
    real, evil = Peers.seal, []

    def seal(self, to, content):
        if self.site == "b" and isinstance(content.head, Contribution):
            head = {**msgspec.to_builtins(content.head), "plugin": packed}
            content = replace(content, head=head)
            evil.append(to)
        return real(self, to, content)

    monkeypatch.setattr(Peers, "seal", seal)
    reply = ask(sites)
    assert evil
    assert (reply["value"], reply["complete"]) == (sum(SUMS.values()), True)


def test_a_watch_of_a_plug_in_over_sites_is_refused_with_the_reason():
    sites = with_plugin()
    reply = sites.ask(op="watch", uid="u", query={}, every="1s", sites="*")
    assert reply["status"] == "error"
    assert "not watched" in reply["message"]
