"""
`python -m chokaq_core`.
"""

from __future__ import annotations

import sys

from chokaq_core.cli import main

if __name__ == "__main__":
    sys.exit(main())
