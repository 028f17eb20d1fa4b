"""The HTTP door: requests, tuples and answers of watches over HTTP, for programs without Kafka.

    routes            the table of what can be asked: method, path, message of the wire
    openapi           the same table as an OpenAPI document
    app               one request: find its route, let it in, carry it out, reply
    guard, tokens,
    buckets           who may come in, and how often
    reading, bodies   a request becomes a message of the wire
    call              a request on its way: what those below get
    datasets          whether it is about data sets that its token may see
    asking, tuples,
    events, own       what becomes of it
    engine, hub,
    replay            the way to the engine, and what it says unasked
    lane_process,
    lane_frames       the read lane, which answers beside the engine
    position          how far answers have to be for whoever wrote
    problems          what went wrong, as application/problem+json
    server            sockets, TLS, time-outs

It keeps no state: several may serve one engine, and any of them can serve any request.
"""
