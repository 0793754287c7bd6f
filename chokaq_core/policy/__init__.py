"""
Pure decisions: facts, settings, now and a random roll go in; a frozen decision comes out.
"""
