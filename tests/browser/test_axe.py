"""The tests of pages do not pass without axe-core where they must run."""

from __future__ import annotations

import pytest

from tests.browser.conftest import AXE_VERSION, axe_package


@pytest.mark.parametrize("npm", [None, "#!/bin/sh\nexit 1\n"], ids=["no npm", "no network"])
@pytest.mark.parametrize("is_required", [True, False])
def test_a_missing_axe_fails_where_tests_of_pages_must_run(tmp_path, monkeypatch, npm, is_required):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("LOGICLENS_BROWSER", "required" if is_required else "")
    if npm is not None:
        (tmp_path / "npm").write_text(npm)
        (tmp_path / "npm").chmod(0o755)
    with pytest.raises(pytest.fail.Exception if is_required else pytest.skip.Exception, match="needs axe-core"):
        axe_package(tmp_path)


def test_a_package_that_was_fetched_is_not_fetched_again(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    packed = tmp_path / f"axe-core-{AXE_VERSION}.tgz"
    packed.touch()
    assert axe_package(tmp_path) == packed
