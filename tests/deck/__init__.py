"""
Tests of the Deck in a real browser. A package of its own, so that its fixtures end with it.
"""
