# Made by clients/generate from _async/. Do not edit.
"""The surface for threads."""
