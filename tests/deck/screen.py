"""
The Deck's page as a person uses it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
from playwright.sync_api import expect

from tests.deck.apps import OPERATE_KEY

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.support.host_process import HostProcess


@dataclass(frozen=True, slots=True)
class Screen:
    """
    One open page.
    """

    page: Page
    host: HostProcess

    def go(self, place: str) -> None:
        """
        Goes to an address of the page, such as `dlq?queue=billing`, and waits until its data are there.
        """
        expect(self.page.get_by_role("navigation", name="Panels")).to_be_visible()
        self.page.evaluate(f"location.hash = {json.dumps('#/' + place)}")
        expect(self.page.get_by_text("Looking …")).to_have_count(0)

    def rows(self, table: str) -> Locator:
        """
        The rows of a table, its heading left out.
        """
        return self.page.get_by_role("table", name=table).locator("tbody tr")

    def row(self, table: str, text: str) -> Locator:
        """
        The row that shows a text.
        """
        return self.rows(table).filter(has_text=text)

    @property
    def drawer(self) -> Locator:
        """
        The open job.
        """
        return self.page.get_by_role("complementary", name="Job")

    @property
    def dialog(self) -> Locator:
        """
        The open dialog.
        """
        return self.page.get_by_role("dialog")

    def open_job(self, place: str, job_id: str) -> None:
        """
        Opens a job beside its list.
        """
        self.go(f"{place}?job={job_id}")
        expect(self.drawer.get_by_text(job_id, exact=True).first).to_be_visible()

    def press(self, name: str) -> None:
        """
        Presses a button of the open dialog.
        """
        self.dialog.get_by_role("button", name=name).click()

    def job(self, job_id: str) -> dict[str, Any]:
        """
        The job as the data routes show it.
        """
        url = self.host.url(f"/api/deck/jobs/{job_id}")
        answer: dict[str, Any] = httpx.get(url, headers={"X-ChokaQ-Key": OPERATE_KEY}, timeout=60).json()
        return answer

    def wait_for_job(self, job_id: str, **values: object) -> None:
        """
        Waits until the job has these values.
        """
        self.host.wait_for(
            lambda: {**self.job(job_id), **values} == self.job(job_id),
            f"{job_id} to have {values}, not {self.job(job_id)}",
        )
