"""
One request to the Deck that was let in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chokaq_core.domain.value import Value

if TYPE_CHECKING:
    import azure.functions as func

    from chokaq_core.config import Settings
    from chokaq_core.domain.access import Actor
    from chokaq_core.hosting.core import Core
    from chokaq_core.hosting.runtime import Runtime


class Call(Value):
    """
    One admitted request, with all that a handler needs.
    """

    req: func.HttpRequest
    core: Core
    settings: Settings
    runtime: Runtime
    actor: Actor
