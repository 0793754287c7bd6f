from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import azure.functions as func
import pytest

from chokaq_core.config import DeckSettings
from chokaq_core.domain.access import Role
from chokaq_core.domain.secret import Secret
from chokaq_core.hosting.principal import Caller, is_platform_authentication_on, who

READ_KEY = "r" * 32
OPERATE_KEY = "o" * 32
KEYS = DeckSettings(read_key=Secret(READ_KEY), operate_key=Secret(OPERATE_KEY))
TRUSTING = DeckSettings(trust_platform_authentication=True)
ON = {"WEBSITE_AUTH_ENABLED": "True"}
NOBODY = Caller(Role.NONE, None)


def request(headers: Mapping[str, str]) -> func.HttpRequest:
    return func.HttpRequest(method="GET", url="https://app.example/api/deck/jobs", headers=dict(headers), body=b"")


def principal(*claims: tuple[Any, Any], **names: object) -> dict[str, str]:
    body = {"auth_typ": "aad", "claims": [{"typ": typ, "val": val} for typ, val in claims], **names}
    return {"X-MS-CLIENT-PRINCIPAL": base64.b64encode(json.dumps(body).encode()).decode()}


OPERATOR = principal(("roles", "ChokaQ.Operator"), ("preferred_username", "ann@acme.example"))


class TestKeys:
    @pytest.mark.parametrize(
        "given,expected",
        [
            (READ_KEY, Caller(Role.READ, "read-key")),
            (OPERATE_KEY, Caller(Role.OPERATE, "operate-key")),
            ("", NOBODY),
            (READ_KEY[:-1], NOBODY),
            (READ_KEY + "r", NOBODY),
            (READ_KEY.upper(), NOBODY),
            ("é" * 32, NOBODY),
        ],
    )
    def test_a_key_gives_its_own_role(self, given: str, expected: Caller) -> None:
        assert who(request({"X-ChokaQ-Key": given}), KEYS, {}) == expected

    def test_without_keys_in_the_settings_no_header_opens_anything(self) -> None:
        for given in ("", " ", "None", "null", "***"):
            assert who(request({"X-ChokaQ-Key": given}), DeckSettings(), {}) == NOBODY

    def test_both_keys_are_compared_whichever_was_given(self, monkeypatch: pytest.MonkeyPatch) -> None:
        compared: list[str] = []

        def matches(secret: Secret, given: str) -> bool:
            compared.append(secret.reveal())
            return secret.reveal() == given

        monkeypatch.setattr(Secret, "matches", matches)
        for given in (READ_KEY, OPERATE_KEY, "x"):
            who(request({"X-ChokaQ-Key": given}), KEYS, {})

        assert compared == [READ_KEY, OPERATE_KEY] * 3


class TestPlatform:
    @pytest.mark.parametrize(
        "settings,environ,role",
        [
            (TRUSTING, ON, Role.OPERATE),
            (TRUSTING, {}, Role.NONE),
            (TRUSTING, {"WEBSITE_AUTH_ENABLED": "False"}, Role.NONE),
            (DeckSettings(), ON, Role.NONE),
            (DeckSettings(), {}, Role.NONE),
            (KEYS, ON, Role.NONE),
        ],
    )
    def test_a_principal_counts_only_where_the_setting_and_the_platform_both_say_so(
        self, settings: DeckSettings, environ: dict[str, str], role: Role
    ) -> None:
        assert who(request(OPERATOR), settings, environ).role is role

    @pytest.mark.parametrize(
        "text,is_on",
        [
            ("true", True),
            ("True", True),
            (" TRUE ", True),
            ("1", True),
            ("-1", True),
            ("0", False),
            ("false", False),
            ("", False),
            ("yes", False),
            ("on", False),
            ("1.0", False),
            ("٣", False),
        ],
    )
    def test_the_platforms_variable_is_read_as_the_host_reads_it(self, text: str, is_on: bool) -> None:
        assert is_platform_authentication_on({"WEBSITE_AUTH_ENABLED": text}) is is_on

    @pytest.mark.parametrize(
        "headers,role",
        [
            (principal(("roles", "ChokaQ.Reader")), Role.READ),
            (principal(("roles", "ChokaQ.Operator")), Role.OPERATE),
            (principal(("roles", "ChokaQ.Reader"), ("roles", "ChokaQ.Operator")), Role.OPERATE),
            (
                principal(("http://schemas.microsoft.com/ws/2008/06/identity/claims/role", "ChokaQ.Reader")),
                Role.READ,
            ),
            (principal(("groups", "ChokaQ.Operator"), role_typ="groups"), Role.OPERATE),
            (principal(("groups", "ChokaQ.Operator")), Role.NONE),
            (principal(("roles", "chokaq.operator")), Role.NONE),
            (principal(("roles", "ChokaQ.Operators")), Role.NONE),
            (principal(("name", "ChokaQ.Operator")), Role.NONE),
            (principal(), Role.NONE),
        ],
    )
    def test_only_the_two_app_roles_give_a_role(self, headers: dict[str, str], role: Role) -> None:
        assert who(request(headers), TRUSTING, ON).role is role

    @pytest.mark.parametrize(
        "header",
        [
            "",
            "not base64!",
            base64.b64encode(b"\xff\xfe").decode(),
            base64.b64encode(b"{").decode(),
            base64.b64encode(b"[]").decode(),
            base64.b64encode(b'"x"').decode(),
            base64.b64encode(b'{"claims": null}').decode(),
            base64.b64encode(b'{"claims": {"typ": "roles", "val": "ChokaQ.Operator"}}').decode(),
            base64.b64encode(b'{"claims": [1, null, {"typ": ["roles"], "val": "ChokaQ.Operator"}]}').decode(),
            base64.b64encode(b'{"claims": [{"typ": "x", "val": "ChokaQ.Operator"}], "role_typ": ["x"]}').decode(),
            base64.b64encode(b"[" * 100_000).decode(),
            OPERATOR["X-MS-CLIENT-PRINCIPAL"] + "," + OPERATOR["X-MS-CLIENT-PRINCIPAL"],
        ],
    )
    def test_a_malformed_principal_gives_nothing(self, header: str) -> None:
        assert who(request({"X-MS-CLIENT-PRINCIPAL": header}), TRUSTING, ON) == NOBODY

    @pytest.mark.parametrize(
        "headers,name",
        [
            (principal(("preferred_username", "ann"), ("name", "Ann B.")), "ann"),
            (principal(("name", "Ann B."), ("oid", "1-2-3")), "Ann B."),
            (principal(("who", "ann"), ("preferred_username", "x"), name_typ="who"), "ann"),
            (principal(("oid", "1-2-3")), "1-2-3"),
            (principal(("name", "  "), ("oid", "1-2-3")), "1-2-3"),
            (principal(("name", "a\x00b\nc\ud800d")), "abc?d"),
            (principal(("name", "n" * 101)), "n" * 100),
            (principal(), None),
        ],
    )
    def test_a_person_has_a_name_that_can_be_stored(self, headers: dict[str, str], name: str | None) -> None:
        assert who(request(headers), TRUSTING, ON).name == name


class TestSeveral:
    def test_what_lets_the_caller_do_most_counts(self) -> None:
        both = DeckSettings(operate_key=Secret(OPERATE_KEY), trust_platform_authentication=True)
        reader = principal(("roles", "ChokaQ.Reader"), ("name", "Ann"))

        assert who(request({**reader, "X-ChokaQ-Key": OPERATE_KEY}), both, ON) == Caller(Role.OPERATE, "operate-key")
        assert who(request({**reader, "X-ChokaQ-Key": "x"}), both, ON) == Caller(Role.READ, "Ann")

    def test_anonymous_callers_do_everything_on_one_machine_and_nothing_in_azure(self) -> None:
        settings = DeckSettings(allow_anonymous=True)

        assert who(request({}), settings, {}) == Caller(Role.OPERATE, "anonymous")
        assert who(request({}), settings, {"WEBSITE_SITE_NAME": "acme"}) == NOBODY
