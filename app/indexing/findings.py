"""What `verify` finds wrong in what is stored, and what becomes of it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """Something that is wrong."""

    sentence: str
    """What is wrong."""
    mended: bool = False
    remark: str = ""
    """What was done, or what there is to do."""

    @property
    def told(self) -> str:
        """What is wrong, and what became of it."""
        fate = "mended" if self.mended else ""
        return ": ".join(part for part in (self.sentence, fate, self.remark) if part)
