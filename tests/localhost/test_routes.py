from __future__ import annotations

import pytest

from chokaq_core.localhost.errors import HostError
from chokaq_core.localhost.functions import Handler, HttpFunction
from chokaq_core.localhost.routes import RouteTable, parse_route

GUID = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"


def function(route: str, *methods: str) -> HttpFunction:
    return HttpFunction(Handler(route, "req", print), route, frozenset(methods))


def match(routes: list[str], path: str, prefix: str = "api") -> tuple[str, dict[str, str]] | None:
    found = RouteTable([function(route) for route in routes], prefix).match("GET", path)
    return (found.function.route, found.values) if found else None


@pytest.mark.parametrize(
    "route,path,values",
    [
        ("jobs", "/api/jobs", {}),
        ("jobs", "/API/Jobs", {}),
        ("jobs", "/api/jobs/", {}),
        ("jobs/{id}", "/api/jobs/Ab-1", {"id": "Ab-1"}),
        ("jobs/{id}", "/api/jobs/a%20b", {"id": "a b"}),
        ("jobs/{id}", "/api/jobs/a%2fb", {"id": "a%2Fb"}),
        ("jobs/{id}/errors", "/api/jobs/7/errors", {"id": "7"}),
        ("jobs/{id:guid}", f"/api/jobs/{GUID}", {"id": GUID}),
        ("jobs/{n:int}", "/api/jobs/-12", {"n": "-12"}),
        ("files/{name}.{ext}", "/api/files/a.b.csv", {"name": "a", "ext": "b.csv"}),
        ("deck/{*rest}", "/api/deck/css/page.css", {"rest": "css/page.css"}),
        ("deck/{*rest}", "/api/deck", {}),
        ("list/{page?}", "/api/list/2", {"page": "2"}),
        ("list/{page:int?}", "/api/list", {}),
        ("", "/api", {}),
    ],
)
def test_a_path_matches_its_route_and_gives_the_values(route: str, path: str, values: dict[str, str]) -> None:
    assert match([route], path) == (route, values)


@pytest.mark.parametrize(
    "route,path",
    [
        ("jobs", "/jobs"),
        ("jobs", "/api/jobs/1"),
        ("jobs", "/api/jobsx"),
        ("jobs/{id}", "/api/jobs"),
        ("jobs/{id}", "/api/jobs//"),
        ("jobs/{id}", "/api/jobs/1/2"),
        ("jobs/{id:guid}", "/api/jobs/7"),
        ("jobs/{n:int}", "/api/jobs/x"),
        ("list/{page:int?}", "/api/list/x"),
        ("a.b", "/api/axb"),
    ],
)
def test_another_path_does_not_match(route: str, path: str) -> None:
    assert match([route], path) is None


@pytest.mark.parametrize(
    "path,route",
    [
        ("/api/jobs/batch", "jobs/batch"),
        (f"/api/jobs/{GUID}", "jobs/{id:guid}"),
        ("/api/jobs/7", "jobs/{id}"),
        ("/api/jobs/7/8", "{*rest}"),
    ],
)
def test_the_more_literal_route_wins_whatever_the_order(path: str, route: str) -> None:
    routes = ["{*rest}", "jobs/{id}", "jobs/{id:guid}", "jobs/batch"]

    for order in (routes, routes[::-1]):
        found = match(order, path)
        assert found is not None
        assert found[0] == route


def test_the_prefix_may_be_empty() -> None:
    assert match(["jobs"], "/jobs", prefix="") == ("jobs", {})


def test_a_method_that_no_function_lists_does_not_match() -> None:
    table = RouteTable([function("jobs", "GET"), function("Jobs", "POST")], "api")

    assert table.match("DELETE", "/api/jobs") is None


def test_functions_of_one_route_are_told_apart_by_method() -> None:
    table = RouteTable([function("jobs", "GET"), function("Jobs", "POST")], "api")

    found = table.match("POST", "/api/jobs")

    assert found is not None
    assert found.function.route == "Jobs"


@pytest.mark.parametrize(
    "template,complaint",
    [
        ("jobs/{id", "has a malformed placeholder near '{id'"),
        ("jobs/{}", "has a malformed placeholder near '{}'"),
        ("jobs/{id=5}", "has a malformed placeholder near '{id=5}'"),
        ("jobs/{id:even}", "has the constraint 'even': this host knows alpha, bool, guid, int, long"),
        ("{*rest}/jobs", "has '{*rest}' before its end"),
        ("{page?}/jobs", "has '{page?}' before its end"),
        ("jobs/x{page?}", "mixes '{page?}' with other text in one segment"),
        ("jobs/{id}/{id}", "names a placeholder twice"),
    ],
)
def test_a_malformed_template_is_refused(template: str, complaint: str) -> None:
    with pytest.raises(HostError) as refused:
        parse_route(template)

    assert str(refused.value) == f"the route '{template}' {complaint}"
