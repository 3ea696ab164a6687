"""The secrets of an organisation."""

from typing import Annotated

from fastapi import Path

from oddish.api.authentication import PrincipalOf
from oddish.api.routing import router as new_router
from oddish.api.services import ServicesOf
from oddish.schemas.credentials import DeletedSecret, SecretRequest, SecretResponse, SecretsResponse
from oddish.trials.deployment import doors
from oddish.trials.organisation_secrets import delete_secret, keep_secret, list_secrets
from oddish.trials.passthrough import check_worker_files

router = new_router()

type SecretName = Annotated[str, Path(max_length=255, description="Name of a variable.")]


@router.get("/secrets", tags=["credentials"])
async def secrets(principal: PrincipalOf, services: ServicesOf) -> SecretsResponse:
    """Names and times of the organisation's secrets; a value is never shown."""
    async with services.reads.connect() as connection:
        found = await list_secrets(connection, principal)
    return SecretsResponse(secrets=[SecretResponse.model_validate(secret) for secret in found])


@router.put("/secrets/{name}", tags=["credentials"])
async def set_secret(
    name: SecretName, body: SecretRequest, principal: PrincipalOf, services: ServicesOf
) -> SecretResponse:
    """Keep a value for the trials whose agent or task names the variable; attempts that start from now on get it."""
    check_worker_files("secrets", [name], doors(services.settings))
    async with services.engine.begin() as connection:
        kept = await keep_secret(connection, services.keyring, principal, name, body.value)
    return SecretResponse.model_validate(kept)


@router.delete("/secrets/{name}", tags=["credentials"])
async def remove_secret(name: SecretName, principal: PrincipalOf, services: ServicesOf) -> DeletedSecret:
    """Forget a secret. What runs keeps it until it ends."""
    async with services.engine.begin() as connection:
        await delete_secret(connection, principal, name)
    return DeletedSecret(name=name)
