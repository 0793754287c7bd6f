"""
Arguments as the models of the Deck's routes take them: one set of rules for all doors.
"""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from chokaq_core.hosting.bodies import refusal_of

Model = TypeVar("Model", bound=BaseModel)


def checked(model: type[Model], values: dict[str, object]) -> Model:
    """
    The values as a model.

    Raises:
        InvalidJobError: one is unknown or breaks a rule.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise refusal_of(error) from error
