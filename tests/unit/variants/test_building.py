"""How the installation of another Harbor is started, and what its failure means."""

from oddish.errors import Unavailable
from oddish.variants.building import VariantUnbuildable, build_environment, failure
from oddish.variants.reference import Reference

RELEASE = Reference("package", "9.9.9", "9.9.9")


def test_a_release_that_does_not_exist_is_never_tried_again() -> None:
    error = failure(RELEASE, "error: no solution found\n  there is no version of harbor==9.9.9\n")
    assert isinstance(error, VariantUnbuildable)
    assert "harbor==9.9.9" in error.message
    assert "no version" in error.message


def test_an_outage_is_tried_again() -> None:
    for output in ("error: Failed to fetch: `x`", "error sending request for url", "operation timed out"):
        assert isinstance(failure(RELEASE, output), Unavailable)


def test_only_the_end_of_a_long_output_is_kept() -> None:
    error = failure(RELEASE, "\n".join(f"line {number}" for number in range(1000)))
    assert "line 999" in error.message
    assert "line 900" not in error.message


def test_an_installation_sees_no_credentials_of_the_worker() -> None:
    source = {
        "PATH": "/bin",
        "UV_INDEX_URL": "i",
        "HTTPS_PROXY": "p",
        "ODDISH_DATABASE_URL": "d",
        "AWS_SECRET_ACCESS_KEY": "a",
        "ANTHROPIC_API_KEY": "k",
    }
    environment = build_environment(source)
    assert environment.keys() & source.keys() == {"PATH", "UV_INDEX_URL", "HTTPS_PROXY"}
    assert environment["UV_PYTHON_DOWNLOADS"] == "never"
