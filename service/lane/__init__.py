"""The read lane of an engine on this machine: answers in milliseconds, without a batch."""
