"""The backend under the name that metadata of installed versions gives for it."""

from ingot.backend.dynamo import ingot

__all__ = ["ingot"]
