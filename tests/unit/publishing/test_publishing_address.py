"""Addresses of buckets, and what is none."""

import pytest

from oddish.errors import InvalidInput
from oddish.publishing.address import BucketAddress, read_address


def test_an_address_names_a_bucket_and_a_path_in_it() -> None:
    assert read_address("hf://buckets/team/results") == BucketAddress("team", "results")
    found = read_address("hf://buckets/team/results/a/b/")
    assert (found.bucket, found.path, str(found)) == ("team/results", ("a", "b"), "hf://buckets/team/results/a/b")
    assert found.key("projects/p/project.json") == "a/b/projects/p/project.json"


@pytest.mark.parametrize(
    "text",
    [
        "hf://buckets/team",
        "hf://buckets/team/",
        "hf://buckets//results",
        "hf://buckets/team/results/../other",
        "hf://buckets/team/results/a//b",
        "hf://buckets/team/results/a\\b",
        "hf://buckets/team/results/a\nb",
        "hf://buckets/te am/results",
        "hf://datasets/team/results",
        "s3://team/results",
    ],
)
def test_what_is_none_is_refused_with_the_form_of_one(text: str) -> None:
    with pytest.raises(InvalidInput, match="hf://buckets/NAMESPACE/NAME"):
        read_address(text)
