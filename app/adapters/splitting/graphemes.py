"""Says where a text may be cut without tearing a character as its reader sees it."""

from bisect import bisect_left
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import regex

_GRAPHEME_CLUSTER = regex.compile(r"\X")
_NOT_ASCII = regex.compile(r"[^\x00-\x7f]+")
_HALF_FLAG = "[\U0001f1e6-\U0001f1ff]"
_MANY_FLAGS = regex.compile(f"{_HALF_FLAG}{{128}}(?={_HALF_FLAG})")
"""Letters of which every two are a flag. The library counts all before each, so that a long run
takes quadratic time; it may be parted where an even number stands before a further one."""

_JOINING = regex.compile(
    r"[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}\p{GCB=Prepend}"
    r"\p{GCB=L}\p{GCB=V}\p{GCB=T}\p{GCB=Regional_Indicator}]"
)
"""At every place within a cluster, other than between CR and LF, one of these stands beside it."""


def may_be_torn(text: str, start: int, end: int) -> bool:
    """Whether a cluster may reach across an end of `text[start:end]`, which holds no CR or LF.

    False is certain, and known much sooner than all the breaks of a text.
    """
    near = text[max(start - 1, 0) : end + 1]
    return not near.isascii() and _JOINING.search(near, concurrent=False) is not None


def grapheme_breaks(text: str) -> npt.NDArray[np.bool_]:
    r"""Where extended grapheme clusters (Unicode UAX 29, ``\X``) begin and end.

    Returns shape (len(text) + 1,): True at 0, at the end and wherever a cut tears no cluster.
    Linear in the text: ASCII, whose only cluster of two characters is CR LF, is not searched.
    """
    breaks = np.ones(len(text) + 1, dtype=np.bool_)
    position = text.find("\r\n")
    while position >= 0:
        breaks[position + 1] = False
        position = text.find("\r\n", position + 2)
    if text.isascii():
        return breaks
    partings = [run.end() for run in _MANY_FLAGS.finditer(text)]
    for stretch in _NOT_ASCII.finditer(text):
        # An ASCII neighbour may carry a combining mark, or follow a prepended sign; nothing
        # before it can reach across it.
        first = max(0, stretch.start() - 1)
        last = min(len(text), stretch.end() + 1)
        inside = partings[bisect_left(partings, first) : bisect_left(partings, last)]
        for start, end in pairwise((first, *inside, last)):
            for cluster in _GRAPHEME_CLUSTER.finditer(text[start:end]):
                if cluster.end() - cluster.start() > 1:
                    breaks[start + cluster.start() + 1 : start + cluster.end()] = False
    return breaks
