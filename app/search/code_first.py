"""Has code come before the tests of it, unless the query asks for tests."""

import numpy as np

from app.adapters.text_analysis.code_tests import asks_for_tests
from app.search.fusion import Floats
from app.search.profiles import Ranking
from app.search.requests import SearchRequest
from app.search.retrieval import Candidates, Retriever


def penalties_of_tests(
    request: SearchRequest,
    ranking: Ranking,
    meaning: str,
    candidates: Candidates,
    retriever: Retriever,
) -> Floats | None:
    """What each candidate loses for being from a test of code; None: none loses anything.

    Only where the request leaves the order to us. `meaning` is the query without what it excludes.
    """
    if not request.leaves_order_to_us or not ranking.test_penalty or asks_for_tests(meaning):
        return None
    tests = retriever.documents_of_tests()
    if not tests:
        return None
    of_tests = [number in tests for number in candidates.documents.tolist()]
    return ranking.test_penalty * np.array(of_tests, np.float64) if any(of_tests) else None
