"""The backend under the name in the metadata of installed versions."""

from ingot.backend.dynamo import ingot

__all__ = ["ingot"]
