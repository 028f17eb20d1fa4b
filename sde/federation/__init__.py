"""One answer from several sites: contributions travel, data does not.

    request ──> site a (asked) ──PeerRequest──> sites b, c
                   │ own                            │
                   v                                v
          pending, at site a <──── Contribution ────┘ ──> one reply, at the deadline at the latest

frames             what travels between two sites: marked with the secret they share
peers              the sites that are known, and their secrets
request            a request that names sites: what is asked of the others
ingest             in ingest: frames of other sites, requests that name sites
pending            where contributions wait, in the state of shard 0
watch_state        what watches over sites remember, in the state of shard 0
maintain           in maintain, shard 0: changes of that state
maintain_watches   in maintain: partials of watches over sites
contribution       the partials of a site's shards become its one contribution
checks             whether a contribution can be used
replies            the contributions of all sites become one reply
merge              in merge: contributions out, replies out
merge_watches      in merge: what changed goes out, answers of watches go out
sending            frames as messages to be written
"""
