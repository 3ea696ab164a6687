"""The queue: who may run what, when. Jobs are rows; each worker claims for itself.

Lock order of every statement: jobs (by id), trials, gateway_jobs (by id), gateway_callbacks, queue_keys (by key),
queue_lanes (by key, lane), queue_caps (by name). Database time decides leases and delays; a worker's clock only decides
how long it trusts its own lease.
"""
