"""Synopses side by side in arrays: banks, and the layers (plain, windowed) that fill them."""
