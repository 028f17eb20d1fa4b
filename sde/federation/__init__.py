"""One answer from several sites: contributions travel, data does not.

    request ──> site a (responsible) ──contribute──> sites b, c
                     │ own                               │
                     v                                   v
                desk of site a <────── contributions ────┘ ──> one reply, at the deadline at last

entrance       ingest's part: what comes from other sites, requests that go to them
frames         what travels between two sites: marked with the secret they share
peers          the sites that are known, and their secrets
asked          a request that carries `sites`, and what a peer is asked for
contributing   the partials of a site's shards become its one contribution
desk           where contributions wait, in the state of shard 0
clerk          maintain's hand at the desk
checking       whether a contribution can be used
replying       the contributions of all sites become one reply
merging        merge's part: contributions out, replies out
standing       watches over sites, at a shard; `ledger` is what they remember
watching       merge's part in them: what changed goes out, answers go out
drift          how far a site may move in silence
sending        frames as messages to be written
"""
