"""JSON of `/health`: whether the process is alive, and what is ready, degraded or failed.

They stand apart from the routes, so that a service without a server does without FastAPI: importing
it takes 0.25 s of CPU.
"""

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, Field

from app.web.complete_answer import CompleteAnswer


class HealthStatus(StrEnum):
    """From best to worst. A `degraded` part still works, but slower or with less."""

    READY = "ready"
    DEGRADED = "degraded"
    FAILED = "failed"


class PartHealth(BaseModel):
    """One part of the service."""

    status: HealthStatus = Field(description="`degraded`: it answers, slower or with less.")
    detail: str = Field(description="In words.", examples=["25,104 records"])


class Readiness(BaseModel):
    """What is ready, what is degraded and why."""

    status: HealthStatus = Field(description="The worst of the parts.")
    version: str = Field(description="Of the service.")
    parts: dict[str, PartHealth] = Field(description="Each part by its name.")


class Liveness(CompleteAnswer):
    """The process answers."""

    status: Literal["alive"] = "alive"
