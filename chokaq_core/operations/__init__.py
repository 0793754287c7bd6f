"""
What operators do and look at, whichever door they come through: the Deck, the command line, or Python.
"""
