"""What this package raises."""


class Error(Exception):
    """The job cannot be done: `message` tells what is wrong, `hint` what to do. `hint` may be empty."""

    __module__ = "fa_profile"  # where users have it from

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message


class NoGpuError(Error):
    """Nothing can be measured here: a GPU is missing, or the program fa-profile."""

    __module__ = "fa_profile"
