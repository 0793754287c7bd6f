from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from chokaq_core.contracts import Job, Profile
from chokaq_core.contracts.catalog import Catalog
from chokaq_core.hosting.openapi import OPERATIONS, Operation, document
from function_app import app
from jobs import PROFILES


def indexed_operations() -> set[tuple[str, str]]:
    """
    Method and path of every producers' route that the app registers.
    """
    triggers = [json.loads(raw) for function in app.get_functions() for raw in function.get_raw_bindings()]
    return {
        (str(method).lower(), "/" + trigger["route"])
        for trigger in triggers
        if trigger["type"] == "httpTrigger" and not trigger["route"].startswith("deck")
        for method in trigger["methods"]
    }


def references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    if isinstance(node, list):
        for value in node:
            yield from references(value)


def test_every_route_of_the_app_is_described_and_nothing_else() -> None:
    assert {(operation.method, operation.path) for operation in OPERATIONS} == indexed_operations()


def test_every_reference_leads_somewhere() -> None:
    described = document(Catalog(PROFILES))

    for reference in references(described):
        node: Any = described
        for part in reference.removeprefix("#/").split("/"):
            node = node[part]
        assert isinstance(node, dict)


def test_names_of_operations_are_unique() -> None:
    names = [operation.name for operation in OPERATIONS]

    assert len(set(names)) == len(names)


def test_each_type_of_job_is_described_with_its_own_payload() -> None:
    schemas = document(Catalog(PROFILES))["components"]["schemas"]

    variants = {v["properties"]["type"]["const"]: v for v in schemas["EnqueueRequest"]["oneOf"]}
    assert set(variants) == {"email.send.v1", "report.csv.v1", "webhook.deliver.v1"}
    assert variants["email.send.v1"]["properties"]["payload"]["$ref"] == "#/components/schemas/payload.SendEmail"
    assert schemas["payload.SendEmail"]["required"] == ["to", "subject", "body"]


def test_an_apps_own_model_may_have_the_name_of_one_of_ours() -> None:
    class Problem(Job):
        number: int

    schemas = document(catalog_with(Problem))["components"]["schemas"]

    assert "number" in schemas["payload.Problem"]["properties"]
    assert "detail" in schemas["Problem"]["properties"]


def catalog_with(model: type[Job]) -> Catalog:
    profile = Profile("test")

    @profile.handler("test.v1", job_type=model)
    def handle(job: Job) -> None:
        """
        Does nothing.
        """

    return Catalog([profile])


def test_in_pipe_mode_any_type_is_taken() -> None:
    request = document(Catalog(pipe=lambda type_key, payload, ctx: None))["components"]["schemas"]["EnqueueRequest"]

    assert request["properties"]["type"]["type"] == "string"
    assert "oneOf" not in request


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_refusal_is_a_problem_and_a_503_says_when_to_come_again(operation: Operation) -> None:
    described = document(Catalog(PROFILES))["paths"][operation.path][operation.method]["responses"]

    for status in operation.refusals:
        answer = described[str(status)]
        is_bodiless = operation.method == "head"
        assert ("application/problem+json" in answer.get("content", {})) is not is_bodiless
        assert ("Retry-After" in answer.get("headers", {})) is (status == 503)
