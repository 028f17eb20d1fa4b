"""Where a shard's arrays and facts rest: in memory, or in the files of an arena.

    store      the interface: named arrays that grow, named blobs; and a store in memory
    arena      a store in memory-mapped files, shared by the Python workers of a host
    chunks     the whole content of a store as compressed chunks, for the state store
    facts      objects that are changed by facts only, so that facts make them again
    fact_file  such facts in a blob of a store

Nothing here knows synopses, tuples or requests.
"""
