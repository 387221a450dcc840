"""What lists of hosts and origins may hold in settings, and how a wrong one is refused."""

import ipaddress
import re
from typing import Annotated

from pydantic import AfterValidator


def _no_addresses(hosts: list[str]) -> list[str]:
    for host in hosts:
        if re.search(r"[/\s]", host):
            raise ValueError(f"{host!r} is no host: leave out http://, paths and blanks")
    return hosts


def _one_by_one(hosts: list[str]) -> list[str]:
    for host in hosts:
        if "*" in host or host.startswith("."):
            raise ValueError(f"{host!r} is no host name: name each host in full")
    return hosts


def _one_by_one_or_all(hosts: list[str]) -> list[str]:
    _one_by_one([host for host in hosts if host != "*"])
    return hosts


def _ports_are_numbers(hosts: list[str]) -> list[str]:
    for host in hosts:
        port = _port_behind(host)
        if port is not None and not _is_port(port):
            raise ValueError(f"{host!r} is no host: its port is no number from 1 to 65535")
    return hosts


def _without_ports(hosts: list[str]) -> list[str]:
    for host in hosts:
        if "[" in host or (":" in host and not _is_ipv6(host)):
            raise ValueError(f"{host!r} is no host name: leave out ports and brackets")
    return hosts


def _as_browsers_write_them(origins: list[str]) -> list[str]:
    written = [origin.lower().rstrip("/") for origin in origins]
    for origin in written:
        if origin not in {"*", "null"} and not re.fullmatch(
            r"[a-z][a-z0-9+.-]*://[^/\s*]+", origin
        ):
            raise ValueError(f"{origin!r} is no origin: write https://host, and a port if need be")
    return written


def _port_behind(host: str) -> str | None:
    """What stands where a host may have a port; raises ValueError for what can be no host."""
    if _is_ipv6(host):
        return None
    parts = re.fullmatch(r"([^:\[\]]+|\[(?P<ipv6>.*)\])(:(?P<port>[^:]*))?", host)
    if parts is None or not (parts["ipv6"] is None or _is_ipv6(parts["ipv6"])):
        raise ValueError(f"{host!r} is no host: write host:port, and an IPv6 address in brackets")
    return parts["port"]


def _is_port(written: str) -> bool:
    return bool(re.fullmatch(r"[0-9]{1,5}", written)) and 1 <= int(written) <= 65535


def _is_ipv6(written: str) -> bool:
    try:
        ipaddress.IPv6Address(written)
    except ValueError:
        return False
    return True


HostNames = Annotated[
    list[str],
    AfterValidator(_no_addresses),
    AfterValidator(_one_by_one_or_all),
    AfterValidator(_without_ports),
]
"""Names of hosts without ports; `*` stands for all."""

HostsAndPorts = Annotated[
    list[str],
    AfterValidator(_no_addresses),
    AfterValidator(_one_by_one),
    AfterValidator(_ports_are_numbers),
]
"""`host`, which means all its ports, or `host:port`."""

Origins = Annotated[list[str], AfterValidator(_as_browsers_write_them)]
"""Origins of web pages, such as https://app.example.com; `*` stands for all."""
