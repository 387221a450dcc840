"""`/docs` needs nothing but this service."""

import re

from fastapi.testclient import TestClient


def test_the_page_and_its_scripts_come_from_the_service_itself(client: TestClient) -> None:
    page = client.get("/docs")
    assert page.status_code == 200
    addresses = re.findall(r"(?:src|href)=[\"']([^\"']+)", page.text)
    assert len(addresses) >= 2
    assert not [address for address in addresses if address.startswith(("http", "//"))]
    for address in addresses:
        if not address.startswith("data:"):
            assert client.get(address).status_code == 200, address


def test_the_front_door_leads_there(client: TestClient) -> None:
    answer = client.get("/", follow_redirects=False)
    assert answer.headers["location"] == "/docs"


def test_no_other_page_may_frame_it(client: TestClient) -> None:
    assert client.get("/docs").headers["content-security-policy"] == "frame-ancestors 'none'"
