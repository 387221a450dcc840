"""What the tests of loading share."""

import pytest
from pytest_httpserver import HTTPServer


@pytest.fixture
def site(httpserver: HTTPServer) -> HTTPServer:
    """A web server without robots.txt; the library's own answer to unknown paths is a 500."""
    httpserver.expect_request("/robots.txt").respond_with_data("", status=404)
    return httpserver
