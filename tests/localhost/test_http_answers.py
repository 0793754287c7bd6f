from __future__ import annotations

from pathlib import Path

import pytest

from tests.localhost.apps import answering, call


def test_the_answer_carries_status_headers_body_and_type(tmp_path: Path) -> None:
    host = answering(
        tmp_path,
        'return func.HttpResponse(b"<b>", status_code=202, mimetype="text/html", headers={"Location": "/api/jobs/1"})',
    )

    answer = call(host, "GET", "/api/x")

    assert (answer.status_code, answer.content) == (202, b"<b>")
    assert answer.headers["location"] == "/api/jobs/1"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize(
    "arguments,content_type",
    [
        ('"x"', "text/plain; charset=utf-8"),
        ('"x", mimetype="application/problem+json"', "application/problem+json"),
        ('"x", charset="latin-1"', "text/plain; charset=latin-1"),
        ('"x", headers={"Content-Type": "text/csv"}', "text/csv"),
    ],
)
def test_the_content_type_is_the_one_that_the_platform_would_send(
    tmp_path: Path, arguments: str, content_type: str
) -> None:
    host = answering(tmp_path, f"return func.HttpResponse({arguments})")

    assert call(host, "GET", "/api/x").headers["content-type"] == content_type


def test_text_is_answered_as_plain_text(tmp_path: Path) -> None:
    answer = call(answering(tmp_path, 'return "grüße"'), "GET", "/api/x")

    assert (answer.status_code, answer.text) == (200, "grüße")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_none_is_answered_without_content(tmp_path: Path) -> None:
    answer = call(answering(tmp_path, "return None"), "GET", "/api/x")

    assert (answer.status_code, answer.content) == (204, b"")


def test_an_answer_without_content_has_no_body_even_if_the_app_gave_one(tmp_path: Path) -> None:
    answer = call(answering(tmp_path, 'return func.HttpResponse("x", status_code=304)'), "GET", "/api/x")

    assert (answer.status_code, answer.content) == (304, b"")


def test_several_cookies_are_all_sent(tmp_path: Path) -> None:
    body = """answer = func.HttpResponse("x")
    answer.headers.add("Set-Cookie", "a=1")
    answer.headers.add("Set-Cookie", "b=2")
    return answer"""

    assert call(answering(tmp_path, body), "GET", "/api/x").headers.get_list("set-cookie") == ["a=1", "b=2"]


def test_a_length_that_the_app_claims_is_not_believed(tmp_path: Path) -> None:
    host = answering(tmp_path, 'return func.HttpResponse("four", headers={"Content-Length": "999"})')

    assert call(host, "GET", "/api/x").headers["content-length"] == "4"


def test_an_exception_is_answered_500_without_its_text_which_is_logged(
    tmp_path: Path, all_logs: pytest.LogCaptureFixture
) -> None:
    answer = call(answering(tmp_path, 'raise ValueError("the secret")'), "GET", "/api/x")

    assert (answer.status_code, answer.text) == (500, "Internal Server Error\n")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert "Function 'x' failed on GET /api/x" in all_logs.text
    assert "ValueError: the secret" in all_logs.text


def test_a_handler_that_calls_sys_exit_fails_and_the_host_lives_on(tmp_path: Path) -> None:
    host = answering(tmp_path, "raise SystemExit(3)")

    assert call(host, "GET", "/api/x").status_code == 500
    assert call(host, "GET", "/api/x").status_code == 500


def test_an_answer_of_another_type_is_an_error(tmp_path: Path, all_logs: pytest.LogCaptureFixture) -> None:
    assert call(answering(tmp_path, 'return {"a": 1}'), "GET", "/api/x").status_code == 500
    assert "an HTTP function must return HttpResponse, str or None, not dict" in all_logs.text
