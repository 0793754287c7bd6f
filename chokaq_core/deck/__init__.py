"""
The page for operators: static files, the same for everybody. All data comes over the Deck's JSON routes.
"""
