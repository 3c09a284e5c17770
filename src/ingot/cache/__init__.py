"""The cache on disk: what one process compiled, the next one finds. Entries are named by what they
were made from, so they never become wrong, only unused."""

from ingot.cache.disk import DiskCache, Stats, disk_cache
from ingot.cache.transfer import clear, export, import_, stats

__all__ = ["DiskCache", "Stats", "clear", "disk_cache", "export", "import_", "stats"]
