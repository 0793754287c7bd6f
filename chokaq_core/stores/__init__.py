"""
Where jobs are kept: one room for each database, all to the same contract.
"""
