"""Tuples as columns: blocks, their columns, texts, numbers and times, and their bytes.

    block      tuples of one data set for one shard
    column     one field of a block
    needs      which parts of tuples synopses read
    arrays     blocks as bytes
    times      a column as event times
    decimals   texts as numbers
    spans      pieces of a buffer as texts

All work on whole arrays; the loops are in `sde.kernels`.
"""
