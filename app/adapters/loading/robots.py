"""Honours robots.txt (RFC 9309): asks each site once a day what may be read of it."""

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import httpx
from protego import Protego

from app.adapters.loading.guarded_fetch import GuardedFetcher
from app.adapters.loading.guarded_network import Deadline, HostList
from app.adapters.loading.page_answers import NoPageError
from app.adapters.web_hosts import DEFAULT_PORTS
from app.errors import (
    SourceError,
    SourceGoneError,
    SourceRefusedError,
    SourceUnavailableError,
    SourceUnreadableError,
)

AGENT = "Groundwork"
"""The name by which robots.txt files mean us."""

KEPT_SECONDS = 86_400.0
"""RFC 9309, 2.4: a robots.txt should not be used longer than a day."""

UNREACHABLE_SECONDS = 60.0
"""How long a site whose robots.txt could not be read is not asked again."""

MOST_SITES = 1000
"""Sites whose rules are remembered."""

MOST_BYTES = 512 * 1024
"""What is read of a robots.txt; RFC 9309, 2.5 asks for at least 500 KiB."""

_AGENT_LINE = re.compile(r"user(?:-|\s*)agent(?:\s*:|\s|$)", re.IGNORECASE)
_SITE_WIDE = re.compile(r"(?:site-?map|sitemaps|host)\s*(?::|\s|$)", re.IGNORECASE)
_RULE = re.compile(r"[^:]*:|(?:allow|dis+al+o?w|diasllow|disallaw)\s", re.IGNORECASE)
"""The start of a line that Protego reads; any other line does not end a group."""


@dataclass(frozen=True)
class _Rules:
    """What is known of a site until a point in time (of the clock)."""

    until: float
    parsed: Protego | None = None
    """None: everything may be read, unless there is a failure."""
    failure: SourceUnavailableError | SourceRefusedError | None = None


class RobotsRules:
    """Whether robots.txt files let Groundwork read an address. Safe to call from many threads.

    By RFC 9309, 2.3.1: a robots.txt is read whatever its content type, and over up to five
    redirects. If there is none (status 4xx, or more redirects), everything is allowed. If it cannot
    be read for another reason, nothing is allowed for the time being: the server does not answer or
    answers 429 or 5xx, its answer is broken, or it leads to an address that the guard refuses. The
    robots.txt of `ignored_hosts` (`host` or `host:port`) is not asked for.
    """

    def __init__(
        self,
        fetcher: GuardedFetcher,
        ignored_hosts: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetcher = fetcher
        self._ignored = HostList(ignored_hosts)
        self._clock = clock
        self._lock = threading.Lock()
        self._sites: OrderedDict[str, _Rules] = OrderedDict()

    def require_allowed(self, address: httpx.URL, deadline: Deadline) -> None:
        """Return if the address may be read.

        Raises SourceRefusedError when it may not, or the guard refuses what robots.txt leads to;
        SourceUnavailableError when that cannot be told now.
        """
        if (address.host, address.port or DEFAULT_PORTS[address.scheme]) in self._ignored:
            return
        site = f"{address.scheme}://{address.netloc.decode('ascii')}"
        rules = self._rules(site, deadline)
        failure = rules.failure
        if isinstance(failure, SourceUnavailableError):
            raise SourceUnavailableError(
                failure.detail, failure.retry_after_seconds, failure.address
            )
        if failure is not None:
            raise SourceRefusedError(failure.detail)
        if rules.parsed is not None and not _allows(rules.parsed, str(address)):
            raise SourceRefusedError(
                f"{site}/robots.txt does not let {AGENT} read {address}. If the site is yours, "
                f"allow the user agent {AGENT} there, or name the host in ROBOTS_IGNORE_HOSTS."
            )

    def _rules(self, site: str, deadline: Deadline) -> _Rules:
        with self._lock:
            known = self._sites.get(site)
            if known is not None and self._clock() < known.until:
                self._sites.move_to_end(site)
                return known
        # Not under the lock: one slow site must not hold up the others.
        rules = self._fetch(site, deadline)
        with self._lock:
            self._sites[site] = rules
            self._sites.move_to_end(site)
            while len(self._sites) > MOST_SITES:
                self._sites.popitem(last=False)
        return rules

    def _fetch(self, site: str, deadline: Deadline) -> _Rules:
        try:
            page = self._fetcher.fetch_beginning(
                f"{site}/robots.txt", MOST_BYTES, deadline=deadline
            )
            # UTF-8 by RFC 9309, 2.3; what is not changes no more than the line it stands in.
            text = _whole_lines(page.body).decode("utf-8-sig", "replace")
        except (SourceGoneError, NoPageError):
            return _Rules(self._clock() + KEPT_SECONDS)
        except SourceError as error:
            return _Rules(self._clock() + UNREACHABLE_SECONDS, failure=_not_told(site, error))
        return _Rules(self._clock() + KEPT_SECONDS, parsed=Protego.parse(rules_for_us(text)))


def _whole_lines(body: bytes) -> bytes:
    """As much as is read: part of a rule would be another rule."""
    return body if len(body) <= MOST_BYTES else body[: body.rfind(b"\n", 0, MOST_BYTES) + 1]


def rules_for_us(text: str) -> str:
    """The rules of a robots.txt that apply to Groundwork, as a single group.

    Protego keeps each rule once for each agent of its group: a file of 85 KB with 4,000 agents
    before 2,000 rules took it 16 s of CPU and 570 MB.
    """
    groups: list[tuple[set[str], list[str]]] = []
    for line in text.splitlines():
        said = line.partition("#")[0].strip()
        if _AGENT_LINE.match(said):
            if not groups or groups[-1][1]:
                groups.append((set(), []))
            agent = _AGENT_LINE.sub("", said, count=1).strip().lower()
            groups[-1][0].update({agent, agent.replace("*", ""), _name_of(agent)} - {""})
        elif groups and _RULE.match(said) and not _SITE_WIDE.match(said):
            groups[-1][1].append(said)
    agents = set().union(*(agents for agents, _ in groups))
    ours = max(filter(AGENT.lower().startswith, agents), key=len, default="*")
    rules = [rule for agents, rules in groups if ours in agents for rule in rules]
    return "\n".join([f"User-agent: {AGENT}", *rules])


def _name_of(agent: str) -> str:
    """An agent without its version, as robots.txt is to name it; many copy it from a log."""
    return agent.partition("/")[0].rstrip()


def _allows(rules: Protego, url: str) -> bool:
    try:
        return rules.can_fetch(url, AGENT)
    except ValueError as error:
        raise SourceUnreadableError(f"{url} cannot be read as an address: {error}") from error


def _not_told(site: str, error: SourceError) -> SourceUnavailableError | SourceRefusedError:
    if isinstance(error, SourceRefusedError):
        return SourceRefusedError(
            f"{error.detail.rstrip('.')}. It was met on the way to {site}/robots.txt, which is "
            "asked first. If that leads elsewhere and the site is yours, its host can be named in "
            "ROBOTS_IGNORE_HOSTS."
        )
    asked = error if isinstance(error, SourceUnavailableError) else None
    return SourceUnavailableError(
        f"Whether {site} may be read cannot be told now: {error.detail.rstrip('.')}. Until its "
        "robots.txt answers (404 will do), nothing of it is fetched and nothing is lost. If the "
        "site is yours, its host can be named in ROBOTS_IGNORE_HOSTS.",
        asked.retry_after_seconds if asked else None,
        asked.address if asked else None,
    )
