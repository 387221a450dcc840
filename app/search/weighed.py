"""What decided the order of weighed candidates, and how it is explained."""

import dataclasses
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from app.search.fusion import Floats
from app.search.profiles import Ranking
from app.search.results import SignalExplanation


@dataclass(frozen=True)
class Weighed:
    """How candidates got their order, in that order; arrays of shape (n,)."""

    ranking: Ranking
    fused: Floats
    """The fused scores, less the penalties of tests and scaled: what `fused_weight` weighs."""
    cosines: Floats
    recency: Floats
    """0, here and in the next two, where it does not count."""
    importance: Floats
    completeness: Floats
    boosts: Floats
    strengths: Floats
    """The weighted sum after boosts."""
    repetition: Floats
    final: Floats
    """What decides the order, but for the document penalty: see `RankedCandidates`."""

    def in_order(self, positions: npt.NDArray[np.int64]) -> Self:
        """The candidates at these positions, in this order."""
        names = [field.name for field in dataclasses.fields(self) if field.name != "ranking"]
        return dataclasses.replace(self, **{name: getattr(self, name)[positions] for name in names})

    def explain(self, position: int) -> SignalExplanation:
        """How the candidate at this position (0 is the best) got its final score."""
        ranking = self.ranking
        return SignalExplanation(
            fused_part=float(ranking.fused_weight * self.fused[position]),
            cosine_part=float(ranking.cosine_weight * self.cosines[position]),
            recency=float(self.recency[position]) if ranking.recency_weight else None,
            recency_part=float(ranking.recency_weight * self.recency[position]),
            importance=float(self.importance[position]) if ranking.importance_weight else None,
            importance_part=float(ranking.importance_weight * self.importance[position]),
            completeness=(
                float(self.completeness[position]) if ranking.completeness_weight else None
            ),
            completeness_part=float(ranking.completeness_weight * self.completeness[position]),
            boost=float(self.boosts[position]),
            boosted_score=float(self.strengths[position]),
            repetition=float(self.repetition[position]) if ranking.diversity else None,
            diversity=ranking.diversity,
        )
