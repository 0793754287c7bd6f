"""
The handlers of this app; replace them with your own.

A profile is a named set of handlers. The app takes every profile that `PROFILES` lists, so a new handler is one module
with a profile in it and one more name here.
"""

from jobs.email import mailing
from jobs.report import reporting
from jobs.webhook import webhooks

PROFILES = (mailing, reporting, webhooks)
