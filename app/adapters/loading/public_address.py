"""Decides whether an IP address belongs to the public internet."""

import ipaddress

# `ipaddress.is_global` of Python 3.11 calls several of these global, so the rule is written out,
# after the IANA special-purpose registries (IPv4: RFC 6890 and successors).
NOT_PUBLIC_V4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT; 100.100.100.200 serves cloud metadata
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's host agent
        "169.254.0.0/16",  # link-local; 169.254.169.254 serves cloud metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # IETF protocol assignments; 192.0.0.192 serves cloud metadata
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays, withdrawn
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)

PUBLIC_V6 = ipaddress.IPv6Network("2000::/3")
"""All that IANA has given out. Outside it: loopback, `::/96`, v4-mapped, NAT64 (64:ff9b::/96 and
64:ff9b:1::/48), unique local, link-local, site-local, multicast, discard, segment routing."""

NOT_PUBLIC_V6 = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # IETF protocol assignments: Teredo, ORCHID, benchmarks
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: carries an IPv4 address
        "3ffe::/16",  # 6bone, given back
        "3fff::/20",  # documentation
    )
)


def is_public(address: str) -> bool:
    """Whether a numeric address (IPv6 with or without a scope id) is on the public internet."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv4Address):
        return not any(parsed in network for network in NOT_PUBLIC_V4)
    return parsed in PUBLIC_V6 and not any(parsed in network for network in NOT_PUBLIC_V6)
