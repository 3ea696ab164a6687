"""What an import can be refused for."""

from oddish.errors import InvalidInput


class InvalidArchive(InvalidInput):
    """An archive of trials that cannot be unpacked."""

    code = "invalid_archive"


class ArchiveNotThere(InvalidInput):
    """An import was completed before its archive came."""

    code = "import_archive_missing"


class UnreadableTrial(InvalidInput):
    """A trial directory whose `result.json` is missing, damaged, too large or of another trial."""

    code = "unreadable_trial"
