"""What became of the messages to a job's callbacks can be looked up."""

import httpx2

from .furnishing import HOSTED
from .serving import Server

ROOT = "/sandbox/harbor/v2/jobs"


def test_each_attempt_is_listed_without_what_may_be_a_signature(server: Server, client: httpx2.Client) -> None:
    server.offer()
    told = {"url": "http://127.0.0.1:9/hook?key=hush", "events": ["job.queued"], "secret": "hush-hush"}
    asked = client.post(f"{ROOT}/execute-tasks", json=HOSTED | {"notifications": [told]})
    job_id = asked.json()["job_id"]
    assert client.get(f"{ROOT}/{job_id}/deliveries").json() == {"job_id": job_id, "deliveries": []}
    for attempt, result, status in ((1, "postponed", 503), (2, "delivered", 204)):
        server.sql(
            "INSERT INTO gateway_deliveries (job_id, kind, place, event_seq, attempt, result, status, seconds)"
            " VALUES (%s, 'notifications', 0, 1, %s, %s, %s, 0.5)",
            job_id,
            attempt,
            result,
            status,
        )
    answer = client.get(f"{ROOT}/{job_id}/deliveries")
    assert "hush" not in answer.text
    listed = answer.json()["deliveries"]
    assert [(entry["attempt"], entry["result"], entry["status"]) for entry in listed] == [
        (2, "delivered", 204),
        (1, "postponed", 503),
    ]
    last = listed[0]
    assert (last["kind"], last["url"]) == ("notifications", "http://127.0.0.1:9/…")
    assert (last["event"], last["event_seq"]) == ("job.queued", 1)
    assert len(client.get(f"{ROOT}/{job_id}/deliveries", params={"limit": 1}).json()["deliveries"]) == 1
