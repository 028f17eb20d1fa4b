"""Plug-ins: kinds that users write, run in processes of their own, outside the engine's workers.

    request ──> shelf (waits) ──> admission (trust, laws) ──> shelf (active) ──> remote class
                                                                                   │ blocks in
    engine's worker: remote class, holds states ─────────────────────────────────  │ shared memory
    process of the plug-in: its class, does the work and keeps nothing <───────────┘

    trust, examination                may it be used?
    shelf, shelf_facts, version       which ones there are, part of the registry
    remote, declaration               the class that stands for the plug-in's class in the engine
    process, calls, wire, region      how the engine talks to a plug-in's process
    host, source, fence, columns,
    migrating                         what runs in that process
    check                             the examination as a command, for authors

A plug-in that misbehaves loses its process; its synopses are quarantined and all others go on.
"""
