"""
What the commands of `python -m chokaq_core` do. Exit codes: see `Exit`.
"""
