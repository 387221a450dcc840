"""The base of answers that always have all their fields."""

from pydantic import BaseModel, ConfigDict


class CompleteAnswer(BaseModel):
    """A field with a default is answered, too, and the schema says so to those who make clients."""

    model_config = ConfigDict(
        from_attributes=True, json_schema_serialization_defaults_required=True
    )
