"""
The benchmarks: `make bench` measures the budgets and prints them beside what was measured.
"""
