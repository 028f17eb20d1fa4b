"""What is done once for an installation: compiled kernels, archived classes."""
