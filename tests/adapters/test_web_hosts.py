"""Which pages are of one host."""

import pytest

from app.adapters.web_hosts import host_of


@pytest.mark.parametrize(
    ("uri", "host"),
    [
        ("https://Example.com/a", "example.com:443"),
        ("https://example.com.:443/", "example.com:443"),
        ("http://example.com", "example.com:80"),
        ("http://Bücher.example/", "xn--bcher-kva.example:80"),
        ("http://xn--bcher-kva.example:80/", "xn--bcher-kva.example:80"),
        ("https://straße.example/", "xn--strae-oqa.example:443"),
        ("https://xn--strae-oqa.example/", "xn--strae-oqa.example:443"),
        ("http://b\u00fc..example/", None),
        ("http://example.com:8080", "example.com:8080"),
        ("http://[::1]:80/", "::1:80"),
        ("http://[", None),
        ("http://x:99999999/", None),
        ("/srv/docs", None),
        ("//example.com:80/docs", None),
    ],
)
def test_pages_of_one_host_are_told_by_name_and_port(uri, host):
    assert host_of(uri) == host
