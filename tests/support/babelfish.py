"""
Babelfish for PostgreSQL speaks T-SQL and is a server to try it on, but takes the batches as procedures.

It keeps every plan of a prepared batch that makes table variables, and slows down with each run; of a procedure it
keeps one. SQL Server gets the batches as they are.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from chokaq_core.domain.value import replace

if TYPE_CHECKING:
    from chokaq_core.stores.sqlserver.batches import Batch
    from chokaq_core.stores.sqlserver.database import Database, Results
    from chokaq_core.stores.sqlserver.pool import Session


def is_babelfish(database: Database) -> bool:
    """
    Whether the server is one. It ignores lock hints, READPAST too, and has no row versioning to turn on and off.
    """
    text = "SELECT CAST(SERVERPROPERTY('babelfish') AS int);"
    (((answer,),),) = database.attempt(lambda session: session.run_text(text))
    return bool(answer)


def make_procedures(database: Database) -> None:
    """
    Makes a procedure of each batch in the database's schema, and sends calls from now on.
    """
    for batch in database.batches.values():
        database.attempt(partial(_create, database.settings.schema_name, batch))
    use_procedures(database)


def use_procedures(database: Database) -> None:
    """
    Sends calls of procedures that are there.
    """
    schema_name = database.settings.schema_name
    database.batches = {name: _call(schema_name, batch) for name, batch in database.batches.items()}


def drop_procedures(database: Database) -> None:
    """
    Drops them, so that the schema can be dropped.
    """
    schema_name = database.settings.schema_name
    text = "\n".join(f"DROP PROCEDURE IF EXISTS [{schema_name}].[do_{name}];" for name in database.batches)
    database.attempt(lambda session: session.run_text(text))


def _create(schema_name: str, batch: Batch, session: Session) -> Results:
    types = ["varchar(26)", *(parameter.type for parameter in batch.parameters)]
    head, *rest = batch.text.split("?")
    body = head + "".join(f"@p{number}{part}" for number, part in enumerate(rest))
    parameters = ", ".join(f"@p{number} {sql_type}" for number, sql_type in enumerate(types))
    return session.run_text(f"CREATE PROCEDURE [{schema_name}].[do_{batch.name}] {parameters} AS\nBEGIN\n{body}\nEND")


def _call(schema_name: str, batch: Batch) -> Batch:
    markers = ", ".join("?" * (1 + len(batch.parameters)))
    return replace(batch, text=f"EXECUTE [{schema_name}].[do_{batch.name}] {markers}")
