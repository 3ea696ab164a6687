"""The client's view of the JSON agrees with the server's models."""

import importlib
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, TypeAliasType, Union, get_args, get_origin, get_type_hints

import pytest
from pydantic import BaseModel

from oddish.client import exports, gatewayjobs, imports, live, queuestate, spending, stored, types

PAIRS = [
    ("Health", "health.Health"),
    ("ExecuteTasks", "gateway.ExecuteTasks"),
    ("VerifyTask", "gateway.VerifyTask"),
    ("HarborExtensions", "gateway.HarborExtensions"),
    ("GatewayAgent", "gateway.GatewayAgent"),
    ("Notification", "gateway.Notification"),
    ("Delivery", "gateway.Delivery"),
    ("JobAccepted", "gatewayjobs.JobAccepted"),
    ("RefillAccepted", "gatewayjobs.RefillAccepted"),
    ("JobError", "gatewayjobs.JobError"),
    ("TrialCounts", "gatewayjobs.TrialCounts"),
    ("OutcomeCounts", "gatewayjobs.OutcomeCounts"),
    ("OutcomeEvidence", "gatewayjobs.OutcomeEvidence"),
    ("TrialDetail", "gatewayjobs.TrialDetail"),
    ("JobOutcome", "gatewayjobs.JobOutcome"),
    ("AgentResult", "gatewayjobs.AgentResult"),
    ("VerifierRun", "gatewayjobs.VerifierRun"),
    ("VerifierResult", "gatewayjobs.VerifierResult"),
    ("JobResult", "gatewayjobs.JobResult"),
    ("JobDocument", "gatewayjobs.JobDocument"),
    ("JobPage", "gatewayjobs.JobPage"),
    ("ArtifactFile", "gatewayjobs.ArtifactFile"),
    ("JobArtifacts", "gatewayjobs.JobArtifacts"),
    ("ArtifactsArchive", "gatewayjobs.ArtifactsArchive"),
    ("DeliveryAttempt", "gatewaydeliveries.DeliveryAttempt"),
    ("JobDeliveries", "gatewaydeliveries.JobDeliveries"),
    ("Load", "load.Load"),
    ("WorkersLoad", "load.WorkersLoad"),
    ("LoadTotals", "load.Totals"),
    ("UploadedVersion", "uploads.UploadedVersion"),
    ("UploadTarget", "uploads.UploadTarget"),
    ("Submitted", "submission.TaskResponse"),
    ("BatchAnswer", "submission.BatchResponse"),
    ("BatchResult", "submission.BatchResult"),
    ("Cancelled", "submission.CancelResponse"),
    ("Tagged", "labels.TaggedResponse"),
    ("Share", "sharing.ShareResponse"),
    ("SignInLink", "signin.SignInLink"),
    ("Export", "exports.ExportResponse"),
    ("ExportPage", "exports.ExportsResponse"),
    ("DeletedExport", "exports.DeletedExport"),
    ("RetriedTrial", "retries.RetriedTrial"),
    ("RefusedTrial", "retries.RefusedTrial"),
    ("Retries", "retries.RetryResponse"),
    ("Deleted", "deletions.DeletionResponse"),
    ("Trial", "tasks.TrialResponse"),
    ("Experiment", "tasks.ExperimentResponse"),
    ("TrialFile", "evidence.TrialFile"),
    ("TrialFiles", "evidence.TrialFiles"),
    ("TrialLogs", "evidence.TrialLogs"),
    ("TrialAttempt", "evidence.AttemptResponse"),
    ("NotStored", "evidence.NotStored"),
    ("StructuredLogs", "evidence.StructuredTrialLogs"),
    ("AgentTexts", "evidence.AgentTexts"),
    ("VerifierTexts", "evidence.VerifierTexts"),
    ("NamedText", "evidence.NamedText"),
    ("DebugFiles", "evidence.DebugFiles"),
    ("StoredPlace", "evidence.PlaceResponse"),
    ("StoredObject", "evidence.ObjectResponse"),
    ("LiveUsage", "live.LiveUsage"),
    ("LiveState", "live.LiveState"),
    ("LiveEvent", "live.LiveEvent"),
    ("LivePage", "live.LivePage"),
    ("TaskVersion", "versions.TaskVersionResponse"),
    ("TaskDetail", "versions.TaskDetail"),
    ("VersionSummary", "versions.VersionSummary"),
    ("Totals", "versions.Totals"),
    ("TaskArchive", "versions.TaskFiles"),
    ("TaskFileContent", "versions.TaskFileContent"),
    ("Task", "tasks.TaskStatusResponse"),
    ("BrowsedTrial", "browsing.BrowsedTrial"),
    ("BrowseItem", "browsing.TaskBrowseItem"),
    ("BrowsePage", "browsing.BrowseResponse"),
    ("Total", "browsing.TotalResponse"),
    ("Facets", "browsing.FacetsResponse"),
    ("ExperimentOptions", "browsing.ExperimentOptionsResponse"),
    ("NewKey", "keys.NewKeyResponse"),
    ("ApiKey", "keys.KeyResponse"),
    ("ApiKeys", "keys.KeysResponse"),
    ("NewKeyRequest", "keys.NewKeyRequest"),
    ("CredentialNeeds", "credentials.CredentialNeeds"),
    ("Agent", "credentials.AgentResponse"),
    ("Agents", "credentials.AgentsResponse"),
    ("Secret", "credentials.SecretResponse"),
    ("Secrets", "credentials.SecretsResponse"),
    ("Limit", "concurrency.LimitResponse"),
    ("Limits", "concurrency.LimitsResponse"),
    ("Weight", "concurrency.WeightResponse"),
    ("Slots", "diagnostics.SlotsResponse"),
    ("KeySlots", "diagnostics.KeySlotsResponse"),
    ("QueueStatus", "diagnostics.QueueStatusResponse"),
    ("KindQueue", "diagnostics.KindQueue"),
    ("OrphanedState", "diagnostics.OrphanedStateResponse"),
    ("StuckCounts", "diagnostics.StuckCounts"),
    ("TrialSample", "diagnostics.TrialSample"),
    ("TaskSample", "diagnostics.TaskSample"),
    ("QueueHealth", "diagnostics.QueueHealthResponse"),
    ("Pace", "diagnostics.PaceResponse"),
    ("Capacity", "diagnostics.CapacityResponse"),
    ("Component", "diagnostics.ComponentResponse"),
    ("WorkerJobs", "diagnostics.WorkerJobsResponse"),
    ("FailedJob", "diagnostics.FailedJob"),
    ("JobDuration", "diagnostics.JobDuration"),
    *((name, f"costs.{name}") for name in vars(spending) if name[0].isupper() and name != "TypedDict"),
    ("ImportBatch", "imports.BatchTarget"),
    ("KnownTrial", "imports.KnownTrial"),
    ("ImportedTrial", "imports.ImportedTrial"),
    ("BatchImported", "imports.BatchImported"),
    ("ImportItem", "imports.BatchItem"),
    ("SweepRequest", "submission.SweepSubmission"),
    ("SweepConfig", "submission.SweepConfig"),
    ("AgentConfig", "submission.AgentConfig"),
]
SENT = {"ImportItem", "NewKeyRequest", "SweepRequest", "SweepConfig", "AgentConfig"} | {
    *("ExecuteTasks", "VerifyTask", "HarborExtensions", "GatewayAgent", "Notification", "Delivery")
}


def model_of(path: str) -> type[BaseModel]:
    module, _, name = path.partition(".")
    model = getattr(importlib.import_module(f"oddish.schemas.{module}"), name)
    assert issubclass(model, BaseModel)
    return model


def typed_dict(name: str) -> Any:
    return next(
        found
        for module in (types, queuestate, stored, imports, live, spending, gatewayjobs, exports)
        if (found := getattr(module, name, None))
    )


def plain(annotation: Any) -> Any:
    """Without aliases and annotations."""
    while True:
        if isinstance(annotation, TypeAliasType):
            annotation = annotation.__value__
        elif get_origin(annotation) in (Annotated, NotRequired):
            annotation = get_args(annotation)[0]
        else:
            return annotation


def kinds(annotation: Any) -> Iterator[str]:
    """The JSON kinds that a value may have."""
    annotation = plain(annotation)
    origin = get_origin(annotation) or annotation
    if origin in (Union, UnionType):
        for part in get_args(annotation):
            yield from kinds(part)
    elif origin is Literal:
        yield from {type(value).__name__ for value in get_args(annotation)}
    elif origin is Any or origin is object:
        yield "any"
    elif origin is NoneType:
        yield "null"
    elif isinstance(origin, type) and (issubclass(origin, (BaseModel, dict)) or hasattr(origin, "__total__")):
        yield "object"
    elif origin in (bool, int, float, str, list):
        yield origin.__name__
    else:
        yield "str"


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_members_and_their_kinds_agree(ours: str, theirs: str) -> None:
    typed = typed_dict(ours)
    fields = model_of(theirs).model_fields
    for name, annotation in get_type_hints(typed).items():
        assert name in fields, f"{theirs} has no {name}"
        client, server = set(kinds(annotation)), set(kinds(fields[name].annotation))
        sent, accepted = (client, server) if ours in SENT else (server, client)
        assert "any" in accepted or sent <= accepted, f"{ours}.{name}: {sorted(sent)} does not fit {sorted(accepted)}"


@pytest.mark.parametrize(("ours", "theirs"), [pair for pair in PAIRS if pair[0] in SENT])
def test_everything_the_server_requires_is_sent(ours: str, theirs: str) -> None:
    required = {name for name, field in model_of(theirs).model_fields.items() if field.is_required()}
    assert required <= typed_dict(ours).__required_keys__
