"""Importing trials that were run elsewhere."""

from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response

from oddish.api.authentication import PrincipalOf
from oddish.api.idempotency import Once, RepeatableOf
from oddish.api.links import absolute
from oddish.api.problems import problem
from oddish.api.routing import router as new_router
from oddish.api.services import Services, ServicesOf
from oddish.documents import finite_number
from oddish.identity.idempotency import Overtaken
from oddish.imports import single
from oddish.imports.batches import Batch, Begun, Completion, Ended, Item, begin
from oddish.imports.claims import Claims
from oddish.schemas.imports import (
    BatchComplete,
    BatchImported,
    BatchInit,
    BatchItem,
    BatchTarget,
    ClaimedTrial,
    ImportComplete,
    ImportCompleted,
    ImportedTrial,
    ImportInit,
    ImportTarget,
    KnownTrial,
)
from oddish.storage.manifest import TreeLimits

ARCHIVE_TYPE = "application/gzip"

router = new_router()


@router.post("/trials/import/init", tags=["imports"], response_model=ImportTarget)
async def init(
    body: ImportInit, request: Request, repeatable: RepeatableOf, principal: PrincipalOf, services: ServicesOf
) -> Response:
    """Add a trial that was run elsewhere, judged by what is said of it, and get a signed URL for its directory.

    A trial whose `external_trial_id` the experiment has already is answered as it is.
    """
    expiry = services.settings.upload_expiry_seconds

    async def work(once: Once) -> bytes:
        async with once.transaction() as connection:
            announced = await single.announce(
                connection,
                principal,
                body.task_id,
                body.experiment_id,
                _claims(body.trial),
                with_archive=body.upload_artifacts,
            )
            url, headers = await _signed(services, announced.object_key, request)
            target = ImportTarget(
                trial_id=announced.trial_id,
                task_id=announced.task_id,
                experiment_id=announced.experiment.id,
                experiment_name=announced.experiment.name,
                trial_s3_key=announced.prefix,
                archive_s3_key=announced.object_key,
                upload_url=url,
                upload_headers=headers,
                requires_completion=url is not None,
            )
            return await once.keep(connection, target, valid_for=timedelta(seconds=expiry))

    return await repeatable.answer(work)


@router.post("/trials/import/complete", tags=["imports"], response_model=ImportCompleted)
async def complete(
    body: ImportComplete, repeatable: RepeatableOf, principal: PrincipalOf, services: ServicesOf
) -> Response:
    """Unpack the trial's directory and judge the trial anew, by its own record. Repeating it changes nothing."""

    async def work(once: Once) -> bytes:
        arrival = await single.receive(
            services.engine, services.store, services.archive_limits, _tree(services), principal, body.trial_id
        )
        async with once.transaction() as connection:
            completed = (
                arrival
                if isinstance(arrival, single.Completed)
                else await single.settle(connection, principal, arrival)
            )
            answer = ImportCompleted(
                trial_id=completed.trial_id, trial_s3_key=completed.prefix, files_extracted=completed.files
            )
            document = await once.keep(connection, answer)
        if isinstance(arrival, single.Arrival):
            await single.tidy(services.store, principal, arrival, completed)
        return document

    return await repeatable.answer(work)


@router.post("/trials/import/batch", tags=["imports"], response_model=BatchTarget)
async def batch_init(
    body: BatchInit, request: Request, repeatable: RepeatableOf, principal: PrincipalOf, services: ServicesOf
) -> Response:
    """Announce many trials that were run elsewhere, and get a signed URL for one archive of their directories.

    No trial is there before the batch is completed.
    """
    expiry = services.settings.upload_expiry_seconds

    async def work(once: Once) -> bytes:
        async with once.transaction() as connection:
            items = [_item(item) for item in body.trials]
            begun = await begin(connection, principal, body.experiment_id, items, user_name=body.user)
            target = await _target(services, begun, request, wanted=len(items))
            return await once.keep(connection, target, valid_for=timedelta(seconds=expiry))

    return await repeatable.answer(work)


@router.post("/trials/import/batch/complete", tags=["imports"], response_model=BatchImported)
async def batch_complete(
    body: BatchComplete, request: Request, repeatable: RepeatableOf, principal: PrincipalOf, services: ServicesOf
) -> Response:
    """Judge each trial of the archive by its own record and add those that the experiment has not yet.

    A trial that cannot be read is refused in its result and leaves the others. Repeating the call adds nothing.
    """
    batch = Batch(principal, body.import_id, body.experiment_id, [_item(item) for item in body.trials])

    async def work(once: Once) -> bytes:
        completion = Completion(batch, services.engine, services.store, services.archive_limits, _tree(services))
        try:
            await completion.prepare()
        except BaseException as error:
            await completion.discard(error)
            raise
        try:
            async with once.transaction() as connection:
                experiment, ended = await completion.record(connection)
                answer = BatchImported(
                    experiment_id=experiment.id,
                    experiment_name=experiment.name,
                    trials=[_imported(entry) for entry in ended],
                )
                document = await once.keep(connection, answer)
        except Overtaken as error:
            await completion.discard(error)
            raise
        await completion.tidy(ended)
        return document

    return await repeatable.answer(work)


async def _target(services: Services, begun: Begun, request: Request, *, wanted: int) -> BatchTarget:
    needed = len(begun.known) < wanted
    url, headers = await _signed(services, begun.object_key if needed else None, request)
    return BatchTarget(
        import_id=begun.import_id,
        experiment_id=begun.experiment.id,
        experiment_name=begun.experiment.name,
        known=[
            KnownTrial(external_trial_id=external_id, trial_id=trial_id, task_id=task_id)
            for external_id, (trial_id, task_id) in begun.known.items()
        ],
        upload_url=url,
        upload_headers=headers,
    )


async def _signed(services: Services, object_key: str | None, request: Request) -> tuple[str | None, dict[str, str]]:
    if object_key is None:
        return None, {}
    settings = services.settings
    signed = await services.store.upload_url(
        object_key,
        size_limit=settings.max_archive_bytes,
        expires_in=settings.upload_expiry_seconds,
        content_type=ARCHIVE_TYPE,
    )
    return absolute(services, request, signed), signed.headers


def _tree(services: Services) -> TreeLimits:
    settings = services.settings
    return TreeLimits(max_bytes=settings.max_artifact_bytes, max_files=settings.max_artifact_files)


def _item(item: BatchItem) -> Item:
    return Item(item.task_id, item.external_trial_id, item.task_version, item.job_name)


def _imported(ended: Ended) -> ImportedTrial:
    external_id = ended.item.external_id
    if ended.refusal is not None:
        return ImportedTrial(external_trial_id=external_id, status="error", error=problem(ended.refusal))
    return ImportedTrial(
        external_trial_id=external_id,
        status="imported" if ended.is_new else "existing",
        trial_id=ended.trial_id,
        task_id=ended.task_id,
        files_extracted=ended.files,
        trial_status=ended.trial_status,
        reward=ended.reward,
    )


def _claims(trial: ClaimedTrial) -> Claims:
    return Claims(
        agent=trial.agent,
        model=trial.model,
        environment=trial.environment,
        succeeded=trial.status == "success",
        reward=trial.reward,
        result=trial.result,
        error_message=trial.error_message,
        cancelled=trial.harbor_stage == "cancelled",
        input_tokens=trial.input_tokens,
        cache_tokens=trial.cache_tokens,
        output_tokens=trial.output_tokens,
        total_steps=trial.total_steps,
        cost_usd=finite_number(trial.cost_usd),
        phase_timing=trial.phase_timing,
        harbor_config=trial.harbor_config or {},
        started_at=trial.started_at,
        finished_at=trial.finished_at,
        external_id=trial.external_trial_id,
    )
