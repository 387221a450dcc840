"""Recognises short text in Western European languages, which detection takes for Eastern ones."""

# ruff: noqa: RUF001, RUF003  letters and quotation marks that look alike are meant

import re
from dataclasses import dataclass

NEUTRAL = re.compile(
    r"(?<=\d)[ºª¹²³½¼¾¢]|(?<!\w)½(?!\w)|[£¥](?=[ \u00a0]?\d)|(?<=\d)×(?=\d)|(?<=\d )×(?= \d)"
    r"|[\u00a0‘’‚“”„«»‹›–—…•·©®™°²§€†‡‰±µ¶¬]"
)
"""Signs that stand in texts of any language, where they stand."""

AFTER_NO_VOWEL = r"(?<![aeiouéà])[ëï]"
HARD_CEDILLA = r"ç[bcdefghijklmnpqrstvwxyzéèêí]"
NO_VOWEL_AFTER_TILDE = r"ñ(?![aeiouáéíóúü])"
WITHIN_A_WORD = r"\w[„‚]\w"
LOST = f"{AFTER_NO_VOWEL}|{HARD_CEDILLA}|{NO_VOWEL_AFTER_TILDE}|{WITHIN_A_WORD}"
"""Where no Western language has these letters, but where the Eastern letters of the same bytes
often stand: Lithuanian ė, Latvian ļ and ē, Polish ń."""

LOST_IN_ENGLISH = LOST.replace(AFTER_NO_VOWEL, r"(?<![aeiouéà])(?:ï|ë\w)")
"""English names may end in ë: Brontë."""

LETTER = r"[^\W\d_a-z]"
IN_A_ROW = re.compile(
    rf"{LETTER}{{3}}|(?<!\w){LETTER}{{2}}(?!\w)|[©«¬®°±µ¶·»]{{2}}|[^\x00-\x7f]{{4}}"
)
"""What never stands side by side in Western text, but where Cyrillic, Greek, Chinese … words are
read as windows-1252."""


@dataclass(frozen=True)
class _Language:
    letters: str
    """Its letters beyond ASCII."""
    signs: str
    """A regular expression for what is common in it and not in Eastern languages: whole words, or
    groups of letters. One of these must be found; words that Czech, Slovene, Baltic … languages
    have, too, are left out, such as `les`, `par`, `du` and `den`."""
    never: str = r"(?!)"
    """A regular expression for what is not found in it."""
    lost: str = LOST
    """A regular expression for letters that stand where it has none."""


LANGUAGES = (
    _Language(  # French; a Hungarian ű has the byte of û, but no à, ç, è … beside it
        "àâæçéèêëîïôœùûüÿ",
        r"\b(?:des|une|est|dans|pour|vous|que|qui|sur|avec|aux|cette|où|à|été)\b"
        r"|ées?\b|ç[aou]|[cdlnst]['’][aeiouéêh]|\bêt|mêm|\wè[mr]es?\b",
        r"\A[^àâçèêëîïôœù]*û[^àâçèêëîïôœù]*\Z",
    ),
    _Language(  # Portuguese; Hungarian ő and Romanian ă have the bytes of õ and ã
        "àáâãçéêíóôõúü",
        r"\b(?:uma|que|não|você|são|também|pelo|esta)\b|ão\b|ões\b|ç[ãõaou]",
        r"õ(?!e)|\A(?![\s\S]*(?:ã[oe]|õe|ç))[\s\S]*ã",
    ),
    _Language(  # Spanish; Big5 writes 。 with the byte of ¡
        "áéíñóúü¿¡",
        r"\b(?:el|los|las|una|que|para|con|por|está|más|cómo)\b|ñ[aeiou]|ción\b|¿(?:qu|cu|có|dó|est|por)|¡\w",
        r"(?<=\w)[¿¡]|¡(?![^\n]{0,300}!)|¿(?![^\n]{0,300}\?)",
    ),
    _Language(  # Italian: accents stand on last letters
        "àèéìîòóù",
        r"\b(?:il|della|delle|che|non|una|è(?=\s)|più|può|però|già|gli|sono|dei)\b"
        r"|[clnrstv]ità\b|ttà\b|ertà\b|rrà\b",
        r"[àèìòù]\w",
    ),
    _Language(  # Danish, Norwegian; Lithuanian ę and ų, Czech ř have the bytes of æ and ø
        "æøåéöäü",
        r"\b(?:og|er|det|til|ikke|har|af|på|når|også|jeg|ikkje|hvordan|denne)\b|\bå|[^\W\d]å\b"
        r"|[bdfghklmnprstv][øæ][bdfghkmnprtv]",
    ),
    _Language(  # Swedish
        "åäöéü",
        r"\b(?:och|att|det|är|för|på|av|inte|när|från|också|måste|där|eller)\b|\bå|[^\W\d]å\b",
    ),
    _Language(  # Dutch
        "áéèêëíïóöü",
        r"\b(?:het|een|één|voor|niet|wordt|zijn|deze|geen)\b|geï|eeën|ieën|coö|reü",
    ),
    _Language(  # Catalan
        "àçèéíïòóúü",
        r"\b(?:els|amb|és|que|una|dels|aquest|aquesta)\b",
    ),
    _Language(  # Icelandic; Turkish ğ, ı and ş have the bytes of ð, ý and þ
        "áæéíðóúýþö",
        r"\b(?:að|það|og|þú|ekki|við|fyrir|með|sem|þetta)\b",
        r"\A[^éóú]*\Z",
    ),
    _Language(  # Estonian; Hungarian has ő with õ's byte, but no ä
        "äõöüšž",
        r"\A(?=[\s\S]*ä)[\s\S]*õ",
    ),
    _Language(  # German
        "äöüß",
        r"\b(?:der|die|das|und|ist|nicht|mit|ein|eine|auf|für|über|können|wird)\b"
        r"|[aouäöü]ß[et]|\b[üö][bf][eu]|ä(?:nd|ng|ch)|ö(?:ß|nn|ch)|ü(?:ck|hr|ng|nd)",
    ),
    _Language(  # Finnish
        "äöå",
        r"\b(?:ja|tämä|että|ei|ovat|myös|sekä)\b|ää|yö|tä\b|ällä\b|ssä\b|llä\b",
    ),
    _Language(  # English, for its loan words; Polish Ł, Czech č, Slovak ŕ have the bytes of £, è, à
        "àáâäçèéêëíïñóôöü£",
        r"\b(?:the|and|of|is|with|this|are|it['’]s|you|from|that|which)\b",
        r"\w£|£[\w.]|à\w|è(?![dlmnrstv]{1,2}e)",
        LOST_IN_ENGLISH,
    ),
)


def is_western(text: str) -> bool:
    """Whether this, decoded as windows-1252, is surely text in one Western European language.

    Its letters must be those of the language, its words or groups of letters common there, and
    none may stand where it could not. What is not ASCII beside that must be typographic; nothing
    but such signs is enough, for they are the same elsewhere or stand where no letter does.
    """
    folded = text.lower()
    foreign = {letter for letter in set(NEUTRAL.sub("", folded)) if not letter.isascii()}
    if not foreign:
        return not text.isascii() and not re.search(LOST, folded)
    return any(
        foreign <= set(language.letters)
        and re.search(language.signs, folded)
        and not re.search(language.never, folded)
        and not re.search(language.lost, folded)
        for language in LANGUAGES
    )


def is_scattered(text: str) -> bool:
    """Whether what is not ASCII in it stands between other letters, as in Western languages."""
    return not IN_A_ROW.search(text.lower())
