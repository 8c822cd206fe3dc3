"""What the maps of a policy file have in common: known keys only, and one kind where there is a choice."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, PlainValidator, WithJsonSchema, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tetraodon.policy.typed import refuse, shown


def choice(*words: str) -> Any:
    """Text that must be one of some words."""

    def check(value: object) -> str:
        if value not in words:
            refuse(f"{shown(value)} is not understood here", f"write one of: {', '.join(words)}")
        return str(value)

    return Annotated[str, PlainValidator(check), WithJsonSchema({"enum": list(words)})]


class Section(BaseModel):
    """A map of the file. `one_of` names the keys of which exactly one must be there."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    one_of: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def keys(cls) -> list[str]:
        """The keys as a curator writes them."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @property
    def kind(self) -> str:
        """The one key of `one_of` that was written."""
        return next(name for name in self.one_of if name in self.model_fields_set)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core))
        if cls.one_of:
            schema["oneOf"] = [{"required": [name]} for name in cls.one_of]
        return schema

    @model_validator(mode="after")
    def _exactly_one(self) -> Section:
        given = [name for name in self.one_of if name in self.model_fields_set]
        choices = f"one of: {', '.join(self.one_of)}"
        if self.one_of and not given:
            refuse("this does not say which kind it is", f"write {choices}")
        if len(given) > 1:
            refuse(f"this says both `{given[0]}` and `{given[1]}`", f"write only {choices}")
        return self
