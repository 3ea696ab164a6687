"""What an export can be refused for."""

from oddish.errors import InvalidInput, TooLarge


class InvalidExport(InvalidInput):
    """An archive that holds no sound results directory, or another dataset than its address names."""

    code = "invalid_export"


class ExportQuota(TooLarge):
    """An export with which the organisation would keep more than it may."""

    code = "export_quota"
