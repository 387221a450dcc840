"""The base of answers that always have all their fields."""

from pydantic import BaseModel, ConfigDict


class CompleteAnswer(BaseModel):
    """Fields with a default are always answered, and the schema says so to generated clients."""

    model_config = ConfigDict(
        from_attributes=True, json_schema_serialization_defaults_required=True
    )
