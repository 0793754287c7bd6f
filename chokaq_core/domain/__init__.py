"""
Facts and rules of the job runner: standard library only, no input or output.
"""
