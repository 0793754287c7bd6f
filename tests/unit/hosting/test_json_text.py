"""
JSON as it comes over HTTP: what is refused, and at what price.
"""

from __future__ import annotations

import time

import pytest

from chokaq_core.hosting import json_text

CPU_SECONDS = 10
"""Only tells a pass over the names from one for each of them, which takes minutes."""


def test_a_name_that_comes_twice_is_told_where_it_comes_first() -> None:
    with pytest.raises(ValueError, match=r"^has the name 'b' twice in one object$"):
        json_text.parse(b'{"a": 1, "b": 2, "c": 3, "c": 4, "b": 5}')


def test_a_twin_behind_a_hundred_thousand_names_costs_one_look_at_each() -> None:
    names = ",".join(f'"{number:x}":0' for number in range(100_000))
    began = time.thread_time()
    with pytest.raises(ValueError, match=r"^has the name '1869f' twice in one object$"):
        json_text.parse(f'{{{names},"1869f":1}}'.encode())
    assert time.thread_time() - began < CPU_SECONDS
