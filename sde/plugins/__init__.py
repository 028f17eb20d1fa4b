"""Plug-ins: kinds that users write, run in processes of their own, outside the engine's workers.

    request ──> shelf (waits) ──> admission (trust, laws) ──> shelf (active) ──> remote class
                                                                                   │ blocks in
    engine's worker: remote class, holds states ─────────────────────────────────  │ shared memory
    process of the plug-in: its class, does the work and keeps nothing <───────────┘

A plug-in that misbehaves loses its process; its synopses are quarantined and all others go on.
"""
