"""One answer from several sites: contributions travel, data does not.

    request ──> site a (responsible) ──contribute──> sites b, c
                     │ own                               │
                     v                                   v
                desk of site a <────── contributions ────┘ ──> one reply, at the deadline at last

frames         what travels between two sites: marked with the secret they share
peers          the sites that are known, and their secrets
asked          a request that carries `sites`, and what a peer is asked for
contributing   the partials of a site's shards become its one contribution
desk           where contributions wait, in the state of shard 0
clerk          maintain's hand at the desk
replying       the contributions of all sites become one reply
"""
