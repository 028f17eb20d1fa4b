"""Loops over arrays, compiled by numba. Nothing but the rooms above calls them.

A kernel takes arrays and scalars, writes to the arrays that it is given for that (`out`, `slots`,
...) and checks no argument: its caller makes the arrays large enough. `compiling` says how kernels
are compiled, and how the same source is compiled with every access checked, to be fuzzed. But for
what is in there each file is self-contained, even where two have the same helper: numba's cache
does not notice a change in another file. Files whose names begin with the same word (`json_`) are
one such unit.

    compiling                             the two forms of a kernel, and access to arrays
    lines, elements                       messages cut into rows (`sde.decoding`)
    json_text, json_numbers, json_values  strings, numbers and scalars of JSON
    json_paths, json_shapes, json_scan    names, rows like those before, and all rows
    parts, columns, distinct              what was scanned becomes columns of groups of rows
    csv_scan, avro, protobuf, confluent   decoding of records of other formats
    spans, decimals, times, identities    texts, numbers and times (`sde.tuples`)
    slot_table, panes                     slots of streams and panes (`sde.banks`)
"""
