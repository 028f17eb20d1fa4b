"""Synopses side by side in arrays: banks, and the layers (plain, windowed) that fill them.

    block ──> selection ──> layer: which slot each tuple belongs to ──> bank: add to the slots

    bank                 synopses of one kind and one set of parameters, each in a slot
    slot_table           from the hash of a stream (and pane) to its slot
    stream_names         the names of the streams in the slots
    selection            the columns of a block that synopses read
    groups               which tuples of a block go to the same synopsis
    distinct_keys        each distinct key of a group once, in place of its tuples
    layer                one slot for each stream
    panes, intervals     windows by time: one slot for each stream and pane
    cells                the pairs of stream and pane that a block holds
    sessions             session windows, found from panes
    count_windows        windows by the number of tuples
    ordinals             kinds with a window of their own, by the number of tuples
    pane_sums            merged panes that are kept for the next question

A shard owns its banks and layers and passes each block once over each layer of its data set. All
of them keep their arrays in a store and have `remap`, to be called when another process may have
changed them.
"""
