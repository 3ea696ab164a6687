"""URLs of buckets are signed offline by the backend; own URLs need a signer."""

import asyncio
from urllib.parse import parse_qs, urlsplit

import pytest
from obstore.store import AzureStore, S3Store

from oddish.errors import InvalidInput, OddishError
from oddish.storage.signing import UrlSigner
from oddish.storage.store import ArtifactStore


def bucket() -> ArtifactStore:
    return ArtifactStore(
        S3Store("bucket", prefix="pre", aws_access_key_id="id", aws_secret_access_key="secret", aws_region="eu-west-1")
    )


def test_s3() -> None:
    upload = asyncio.run(
        bucket().upload_url("tasks/a b.tgz", size_limit=5, expires_in=60, content_type="application/gzip")
    )
    parts = urlsplit(upload.url)
    assert parts.path == "/bucket/pre/tasks/a%20b.tgz"
    assert parse_qs(parts.query)["X-Amz-Expires"] == ["60"]
    assert parse_qs(parts.query)["X-Amz-SignedHeaders"] == ["host"]
    assert (upload.method, upload.headers) == ("PUT", {"Content-Type": "application/gzip"})
    download = asyncio.run(bucket().download_url("tasks/a b.tgz"))
    assert (download.method, download.headers) == ("GET", {})
    assert not bucket().signs_itself


def test_azure_names_the_kind_of_blob() -> None:
    store = ArtifactStore(AzureStore("container", account_name="account", account_key="c2VjcmV0"))
    upload = asyncio.run(store.upload_url("a", size_limit=5))
    assert upload.headers["x-ms-blob-type"] == "BlockBlob"
    assert urlsplit(upload.url).path == "/container/a"


def test_own_urls_need_a_signer() -> None:
    with pytest.raises(OddishError, match="without a signer"):
        asyncio.run(ArtifactStore.open("memory://").download_url("a"))
    store = ArtifactStore.open("memory://", signer=UrlSigner(b"x" * 16))
    assert store.signs_itself
    assert asyncio.run(store.download_url("a")).url.startswith("/store/a?expires=")


@pytest.mark.parametrize("url", ["", "/var/lib", "ftp://x/y", "file://host/path", "file:relative", "http://x"])
def test_what_is_no_storage_url(url: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        ArtifactStore.open(url)
    assert refused.value.fix
