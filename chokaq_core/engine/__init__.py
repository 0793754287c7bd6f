"""
Mechanism: ask a policy what to do, then do it through a port.
"""
