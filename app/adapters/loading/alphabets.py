"""Chooses between encodings of one byte a letter, by the letters of languages written in them."""

# ruff: noqa: RUF001  letters and signs that look alike are meant

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.adapters.loading.western_text import is_scattered

UNKNOWN = math.log(1e-4)
"""How likely a letter is that a language does not have, as a logarithm."""

SIGN = math.log(0.04)
"""How likely a sign is before or behind a word."""

RARE = 2.0
"""What encodings other than those of Windows, and KOI8-R, must be better by."""

MARGIN = 3.0
"""What another encoding must be better by than the one that detection found.

Measured before NAMES came, on 5,940 texts of 1, 4 and 20 sentences in 39 languages (messages of
Linux programs): detection and the rules of `western_text` read 4,413 of them right, with this it
was 5,656, and none of the 4,413 went wrong. The order of letters comes from messages of other
programs; some of the texts decided about ENOUGH_LETTERS."""

MOST_FOR_A_LETTER = 4.0
"""Chinese, Japanese and Korean read in these encodings cost more, most texts in them less."""

ENOUGH_LETTERS = 14
"""Where detection found an encoding that is not one of these."""

MAX_BYTES = 2048
WORDS = re.compile(rb"[A-Za-z'\x80-\xff]+")
OF_TWO_ALPHABETS = re.compile(
    "(?<![A-Z])[A-Za-z][\u0370-\u052f]|[\u0370-\u052f][A-Za-z]|[A-Za-z][\u0590-\u06ff]"
)
"""A Latin letter beside one of Greek, Cyrillic, Hebrew or Arabic, but for an abbreviation with an
ending, and what Hebrew and Arabic write before any word; Thai has no spaces beside it."""

QUOTES = re.compile(rb"[\x82\x84\x85\x91-\x97]")
"""Quotation marks, dashes and an ellipsis in every encoding of Windows."""

APOSTROPHE = "\u2019"
NO_BREAK = "\u00a0"
BEFORE_WORDS = "‘’“”‚„«»‹›–—…•·©®™°²³§€†‡±£¥¿¡№"
BEHIND_WORDS = "‘’“”‚„«»‹›–—…•·©®™°²³€"


@dataclass(frozen=True)
class _Alphabet:
    """The letters of a language beyond ASCII, the most frequent first, and how it is written."""

    letters: str
    encodings: tuple[str, ...]
    chances: dict[str, float] = field(init=False)
    """The logarithm of how often each letter is met among these, by a rule of thumb for ranks."""

    def __post_init__(self) -> None:
        weights = [1 / (rank + len(self.letters) / 8) for rank in range(1, len(self.letters) + 1)]
        total = sum(weights)
        chances = {
            letter: math.log(weight / total)
            for letter, weight in zip(self.letters, weights, strict=True)
        }
        object.__setattr__(self, "chances", chances)


CENTRAL = ("cp1250", "iso8859_2")
CYRILLIC = ("cp1251", "koi8_r", "cp866", "iso8859_5")
WESTERN = ("cp1252", "iso8859_15")
ALPHABETS = (
    _Alphabet("łążśęćóńź", CENTRAL),  # Polish
    _Alphabet("íářčéěžýůšúóňďť", CENTRAL),  # Czech
    _Alphabet("áčíúýéťžľšäôóĺďňŕ", CENTRAL),  # Slovak
    _Alphabet("áéíóőüöúű", CENTRAL),  # Hungarian
    _Alphabet("ăţşîâ", CENTRAL),  # Romanian
    _Alphabet("čšž", CENTRAL),  # Slovene
    _Alphabet("čšžćđ", CENTRAL),  # Croatian, Serbian
    _Alphabet("оеаинтрслвдпкмузяьыбйчжфгшюхцщэъё", CYRILLIC),  # Russian
    _Alphabet("аеноитрсвдпзлкмъбжяучфйгшцщхюь", CYRILLIC),  # Bulgarian
    _Alphabet("аониетврілскдпмуязбйчьфжєгюцхшїщґ", ("cp1251", "koi8_u", "iso8859_5")),  # Ukrainian
    _Alphabet("анеырлксятдмпівзцоуьчўбэйгшфюхжё", ("cp1251", "iso8859_5")),  # Belarusian
    _Alphabet("аеоинртусдмкпвјзлгбчшњљцжћхфђџ", ("cp1251", "iso8859_5")),  # Serbian
    _Alphabet("аеотнирдмвксплзујбчгжшцњфљхџѓќѕ", ("cp1251", "iso8859_5")),  # Macedonian
    _Alphabet("αοτεινρσμηπυκίδςλγήέάχόωύθφβώξζψϊΐϋΰ", ("cp1253", "iso8859_7")),  # Greek
    _Alphabet("יוהלתבאמרנשעכצדחקןםפסגזץטך־״׳", ("cp1255",)),  # Hebrew
    _Alphabet("الميتنروعفةبدحسقأكهخصجغىطذإشءثزضظؤئآ،؟", ("cp1256",)),  # Arabic
    _Alphabet("اینردهتومبشکسخلپزفگصعقجحطظغچآژثذضئ،؟\u200c", ("cp1256",)),  # Persian
    _Alphabet("่าอร้มนกงดเัีลตไบิยทสขแวหคืพปชใะ์จำู็ุถฟผโณซึธญศษภฉฐฎฏฆฬฮๆฯ๊๋", ("cp874",)),  # Thai
    _Alphabet("šėųįąžūčę", ("cp1257",)),  # Lithuanian
    _Alphabet("āēīšūļņķžģč", ("cp1257",)),  # Latvian
    _Alphabet("äõüöšž", (*WESTERN, "cp1257")),  # Estonian
    _Alphabet("ışçüğöâîû", ("cp1254",)),  # Turkish
    _Alphabet("\u0323êô\u0309\u0301đưâ\u0300ơ\u0303áàăóùíúéè", ("cp1258",)),  # Vietnamese
    _Alphabet("éèàêôîçâùûœïëü", WESTERN),  # French
    _Alphabet("üäöß", WESTERN),  # German
    _Alphabet("óáúíéñü", WESTERN),  # Spanish
    _Alphabet("èàòùéì", WESTERN),  # Italian
    _Alphabet("ãçáéíóõúêâàô", WESTERN),  # Portuguese
    _Alphabet("éïëüóè", WESTERN),  # Dutch
    _Alphabet("øåæéöä", WESTERN),  # Danish, Norwegian
    _Alphabet("äöåé", WESTERN),  # Swedish, Finnish
    _Alphabet("ðáíæóþöúéý", WESTERN),  # Icelandic
    _Alphabet("éóàòïçíèúü", WESTERN),  # Catalan
)
NAMES = _Alphabet("éüöáäíóèçñåøëïßúàãâêôæîûòùìýõðþ", ("cp1252",))
"""Those of an English text with names of many languages, as credits and bibliographies are.

Of 720 short texts with one to ten of such names 309 were read right before this,
OF_TWO_ALPHABETS, QUOTES and Vietnamese came, and 695 since; of 480 with quotation marks, too, 264
and 470; of 1,826 texts of programs' messages in 38 languages, 1, 4 and 20 of them each, 1,755 and
1,764, all of the 1,755 among them."""

WITHIN_NAMES = re.compile("[a-zÀ-ÿ](?![·\u00ad])[¡-¿×÷][a-zÀ-ÿ]", re.IGNORECASE)
"""What stands in no name, but where letters of Polish, Romanian, Baltic … are read so."""

ENCODINGS = tuple(dict.fromkeys(each for one in ALPHABETS for each in one.encodings))


def likelier(sample: bytes, encoding: str) -> str:
    """The encoding in which the letters of a sample are surely likelier than in the given one.

    The given one itself, when none is. Every word counts once, and those in quotation marks that
    are nothing else beyond ASCII do not.
    """
    found = (word[0] for word in WORDS.finditer(sample) if not QUOTES.sub(b"", word[0]).isascii())
    words = b" ".join(dict.fromkeys(found))[:MAX_BYTES]
    counted = {each: _counted(words, each) for each in ENCODINGS}
    costs = {each: _cost(counts, each, ALPHABETS) for each, counts in counted.items()}
    western = words.decode("cp1252", "replace")
    if is_scattered(western) and not WITHIN_NAMES.search(western):
        costs["cp1252"] = min(costs["cp1252"], _cost(counted["cp1252"], "cp1252", (NAMES,)))
    best = min(ENCODINGS, key=costs.__getitem__)
    letters = counted[best].letters.total()
    if encoding in costs:
        is_better = costs[best] < costs[encoding] - MARGIN
    else:
        is_better = letters >= ENOUGH_LETTERS
    return best if is_better and costs[best] < letters * MOST_FOR_A_LETTER else encoding


@dataclass(frozen=True)
class _Counts:
    """What words in an encoding consist of, beyond ASCII."""

    letters: Counter[str]
    signs: int
    """Signs before and behind words."""
    misplaced: int
    """Capital letters within words of small ones, and words of two alphabets."""


def _counted(words: bytes, encoding: str) -> _Counts:
    letters: Counter[str] = Counter()
    signs = misplaced = 0
    for word in words.decode(encoding, "replace").replace(NO_BREAK, " ").split(" "):
        bare = word.lstrip(BEFORE_WORDS).rstrip(BEHIND_WORDS)
        signs += len(word) - len(bare)
        small = bare.lower()
        misplaced += OF_TWO_ALPHABETS.search(bare) is not None
        # Capital letters stand first, or everywhere; those read wrongly stand anywhere.
        if bare[1:] != small[1:] and bare != bare.upper():
            misplaced += sum(letter.isupper() for letter in bare[1:] if not letter.isascii())
        letters.update(letter for letter in small if not letter.isascii() and letter != APOSTROPHE)
    return _Counts(letters, signs, misplaced)


def _cost(counts: _Counts, encoding: str, alphabets: Sequence[_Alphabet]) -> float:
    """How unlikely the words are in that alphabet of the encoding that they fit best."""
    likeliest = max(
        sum(n * alphabet.chances.get(letter, UNKNOWN) for letter, n in counts.letters.items())
        for alphabet in alphabets
        if encoding in alphabet.encodings
    )
    return _handicap(encoding) - counts.signs * SIGN - counts.misplaced * UNKNOWN - likeliest


def _handicap(encoding: str) -> float:
    """What an encoding must be better by than windows-1252, the most usual."""
    if encoding == "cp1252":
        return 0
    return 1 if encoding.startswith("cp125") or encoding == "koi8_r" else RARE
