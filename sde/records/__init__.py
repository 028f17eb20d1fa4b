"""Records that pass between the stages: closed sets, each matched exhaustively.

position   where a message stood
arrived    ingest -> maintain: requests, what cannot be read, what the engine tells itself, sites
partial    maintain -> merge: what one shard contributes to a reply
result     what became of a request at one shard
watching   a watch that runs
sites      what travels between sites
loop       what the engine tells itself through its union topic
seal       the mark on it that only this engine can make
outgoing   merge -> Kafka: messages to be written
upgrade    records as earlier versions wrote them
codec      records as bytes
"""
