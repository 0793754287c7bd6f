"""
The base class of every job payload.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Job(BaseModel):
    """
    A typed message: its fields are the payload. Subclass it and register a handler for it in a `Profile`.

    The stored text is strict JSON and outlives releases, so treat the fields as a message contract: add fields with
    defaults, and start a new type key (`email.send.v2`) for anything else.

    Rules, each checked before anything is stored:
        * unknown fields are refused (set `extra="ignore"` in your own `model_config` to drop them instead);
        * NaN and infinities are refused, as JSON has no spelling for them;
        * `bytes` travel as base64, `Decimal` as text, `set` as a list, and come back as what the field declares;
        * what a field's type leaves open must be plain JSON: in a field of type `Any` or `dict`, a set, a Decimal or a
          key that is a number is refused, because it would come back as a list or as text;
        * open files, generators and other iterators are refused, because reading them uses them up;
        * the values are checked once more when the job is enqueued, whatever happened to them since it was made;
        * `SecretStr` and `SecretBytes` are refused at registration: a payload is readable by operators, so send a
          secret's name and read the secret in the handler.
    """

    # Built at its first use: a cold start that runs no job of a type does not wait for its validator.
    model_config = ConfigDict(
        extra="forbid",
        defer_build=True,
        ser_json_bytes="base64",
        val_json_bytes="base64",
        ser_json_inf_nan="constants",
    )
