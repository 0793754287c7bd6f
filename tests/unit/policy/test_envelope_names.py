from __future__ import annotations

import pytest

from tests.support.sealing import refusal, sealed

QUEUE_RULE = "queue: must be 1 to 255 characters of a-z, 0-9, '.', '_' and '-', the first a letter or digit; got "
ID_RULE = "id: must be 1 to 50 characters of A-Z, a-z, 0-9, '.', '_', '~' and '-'; got "
TYPE_RULE = "type: must be 1 to 255 printable ASCII characters without blanks, such as 'email.send.v1'; got "


@pytest.mark.case("C-029")
@pytest.mark.parametrize("name", ["a", "0", "mail", "a.b_c-9", "q" * 255, "9" + "-" * 254])
def test_a_queue_name_by_the_rule_is_kept_as_it_is(name: str) -> None:
    assert sealed(queue=name).queue == name


@pytest.mark.case("C-029")
@pytest.mark.parametrize(
    "name,shown",
    [
        ("", "''"),
        ("Mail", "'Mail'"),
        ("-mail", "'-mail'"),
        (".", "'.'"),
        ("mail box", "'mail box'"),
        ("mail\n", "'mail\\n'"),
        (" mail", "' mail'"),
        ("mäil", "'m\\xe4il'"),
        ("q😀", "'q\\U0001f600'"),
        ("q" * 256, "'" + "q" * 59 + "… (256 characters)"),
        ("q" * 5_000, "'" + "q" * 59 + "… (5000 characters)"),
        ("q" * 254 + "😀", "'" + "q" * 59 + "… (255 characters)"),
        (7, "7"),
        (None, "None"),
    ],
)
def test_any_other_queue_name_is_refused_with_rule_and_size(name: object, shown: str) -> None:
    assert refusal(queue=name) == QUEUE_RULE + shown


@pytest.mark.case("C-029")
@pytest.mark.parametrize("key", ["a", "email.send.v1", "!~{}%[]<>", "T" * 255, "os.system"])
def test_a_type_key_by_the_rule_is_kept_as_it_is(key: str) -> None:
    assert sealed(type_key=key).type_key == key


@pytest.mark.case("C-029")
@pytest.mark.parametrize(
    "key,shown",
    [
        ("", "''"),
        ("a b", "'a b'"),
        ("a\n", "'a\\n'"),
        ("a\x00", "'a\\x00'"),
        ("é", "'\\xe9'"),
        ("t" * 256, "'" + "t" * 59 + "… (256 characters)"),
        ("t" * 300, "'" + "t" * 59 + "… (300 characters)"),
        (None, "None"),
    ],
)
def test_any_other_type_key_is_refused_with_rule_and_size(key: object, shown: str) -> None:
    assert refusal(type_key=key) == TYPE_RULE + shown


@pytest.mark.parametrize("job_id", ["a", "A-Z.a_z~0-9", "x" * 50])
def test_an_id_of_the_callers_own_is_used(job_id: str) -> None:
    assert sealed(job_id=job_id).id == job_id


def test_a_job_without_an_id_gets_the_fresh_one() -> None:
    assert sealed().id == "fresh-id"


@pytest.mark.parametrize(
    "job_id,shown",
    [
        ("", "''"),
        ("a b", "'a b'"),
        ("a/b", "'a/b'"),
        ("a\n", "'a\\n'"),
        ("é", "'\\xe9'"),
        ("x" * 51, "'" + "x" * 51 + "' (51 characters)"),
        ("x" * 400, "'" + "x" * 59 + "… (400 characters)"),
        (4101, "4101"),
    ],
)
def test_any_other_id_is_refused_with_rule_and_value(job_id: object, shown: str) -> None:
    assert refusal(job_id=job_id) == ID_RULE + shown


def test_a_trace_parent_in_the_w3c_form_is_kept() -> None:
    header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    assert sealed(trace_parent=header).trace_parent == header


@pytest.mark.parametrize(
    "header",
    [
        "",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\n",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-extra",
    ],
)
def test_any_other_trace_parent_is_refused(header: str) -> None:
    assert refusal(trace_parent=header).startswith("trace_parent: must be a W3C traceparent of 55 characters; got ")
