"""One browser for all tests, as new for each."""

import pytest

from tests.service.gateway.console import browsing


@pytest.fixture(scope="session")
def chromium():
    if not (browsing.BROWSER and browsing.DRIVER):
        pytest.skip(browsing.WHY_NOT)
    with browsing.browser() as window:
        yield window


@pytest.fixture
def window(chromium):
    chromium.complaints()
    yield chromium
    assert chromium.complaints() == []
    chromium.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    chromium.run("localStorage.clear()")
    chromium.driver.get("about:blank")  # so that nothing asks a gateway that is gone
    chromium.complaints()


@pytest.fixture
def shown(serve, tmp_path):
    """A gateway before an engine in whose folder there is something to see."""
    return serve(folder=tmp_path, snapshots=tmp_path / "snapshots")
