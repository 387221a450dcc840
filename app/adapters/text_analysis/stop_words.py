"""The little words of languages, which say nothing of a subject.

Articles, pronouns, prepositions, conjunctions, auxiliary verbs and the words of questions. As
`fold` leaves them, without accents and hyphens: what may be the subject of a question then, too, is
not among them (`wäre` and `Ware`, `été`, which is a summer; `son`, a sound; `том`, a volume; `io`).
"""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.adapters.text_analysis.terms import Word

_NONE: frozenset[str] = frozenset()
_ENGLISH = """
a about an and are as at be but by can could did do does for from had has have how i if in into is
it its my no not of on or our should so such that the their then there these they this to was we
were what when where which who why will with would you your
arent couldnt didnt doesnt dont hadnt hasnt havent isnt shouldnt wasnt werent wouldnt
itd itll theyd theyll theyre theyve thatll thered weve whats youd youll youre youve
"""
_DANISH = """
af at blev bliver da de den denne der deres det dette dig din disse du efter eller en er et for fra
ham han har havde hendes her hos hun hvad hvem hvilken hvilket hvis hvor hvordan hvorfor i ikke ind
jeg jer kan kunne med men mig min mod ned noget nogle nu nar og om op os over pa sa sadan sig sin
skal skulle som til ud under var ved vi vil ville vore
"""
_DUTCH = """
aan al als bij dan dat de deze die dit doe door een en er geen had heb hebben heeft het hij hoe hun
ik in is je jij jouw kan kunnen maar met mij mijn moet naar niet nog of om onder ons onze ook op
over te tegen tot u uit uw van voor waar waarom wanneer waren was wat we welk welke werd wie wij wil
worden wordt ze zich zij zijn zo zonder zou
"""
_FINNISH = """
en ei eivat emme ette et ja jos joka jonka jotka jossa jota kuin kuinka kun koska he ha han hanen
ma me mika miksi milloin mina minun missa mita mitka mista mutta myos ne niiden niin niita noin ole
olen olemme olet oli olivat on onko ovat ovatko se sen siina siita sina sinun sita tai tama taman
tassa tata te etta voi voin voinko
"""
_FRENCH = """
a alors as au aux avec car ce ceci cela celle celles celui ces cet cette ceux chez comment dans de
des donc du elle elles en es est estce et eux il ils je la laquelle le lequel les lesquelles
lesquels leur leurs lors lui ma me mes moi mon ne nos notre nous on ont ou par pas peuton pour
pourquoi puisje quand que quel quelle quelles quels qui quoi sa sans se sera ses si soi sont suis
sur ta te tes toi ton tu un une vos votre vous y
"""
_GERMAN = """
aber als am an auch auf aus bei beim bin bis bist da dann das dass dein deine dem den der des dich
die dies diese diesem diesen dieser dieses dir doch du durch ein eine einem einen einer eines er es
euch euer fur habe haben hat hatte hatten ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist
ja je jede jedem jeden jeder jedes kann kannst konnen mein meine meinem meinen meiner mich mir mit
muss mussen nach nicht noch nur ob oder ohne sein seine seinem seinen seiner sich sie sind so soll
sollen sollte sondern uber um und uns unser unsere unter vom von vor wann war waren warum was wegen
weil welche welchem welchen welcher welches wenn wer werde werden wie wieso wir wird wo wohin zu zum
zur zwischen
"""
_ITALIAN = """
a agli al alla alle allo anche che chi ci come con cosa cui da dagli dai dal dalla dalle dallo degli
dei del della delle dello di dove e ed era gli ha hai hanno ho i il in la le lei li lo loro lui ma
mi mia mie miei mio ne negli nei nel nella nelle nello noi non o per perche piu puo qual quale quali
quando quella quelle quelli quello questa queste questi questo quindi se si sono su sua sue sugli
sui sul sulla sulle sullo suo suoi ti tra tu tua tue tuo tuoi un una uno vi voi
"""
_NORWEGIAN = """
at av ble bli da de deg dem den denne deres det dette din disse du eller en er et etter for fra ha
hadde han hans har henne hennes her hos hun hva hvem hvilken hvilke hvis hvor hvordan hvorfor i ikke
inn jeg kan kunne mange med men meg min mot na nar ned noe noen og om opp oss over pa sa seg sin
skal skulle som til ut var ved vi vil ville
"""
_PORTUGUESE = """
a ao aos as com como da das de dela dele deles do dos e ela elas ele eles em entre era essa essas
esse esses esta estas este estes estou eu foi ha isso isto ja lhe lhes mais mas me meu meus minha
minhas muito na nas nao nem no o onde os ou para pela pelas pelo pelos por porque qual quais quando
que quem se sem ser seu seus sua suas sao tambem te tem tu um uma umas uns voce voces
"""
_RUSSIAN = """
а без бы был была были было быть в вам вами вас ваш ваша ваше ваши весь во вот все всего всех всю вы
где да для до его ее если есть еще же за зачем и из или им ими их к как какая какие какое какой ко
когда который которая которое которые кто ли между меня мне мной мог может можно мой мы на над нам
нами нас наш не него нее нет ни них но о об он она они оно от по почему при про с сам свой себя со
так также там тебя тем то того тоже той только тот ту ты у уже чего чем что чтобы эта эти это этого
этой этом этот эту я
"""  # noqa: RUF001, those are Cyrillic
_SPANISH = """
a al ante como con cual cuales cuando cuya cuyo de del desde donde el ella ellas ellos en entre era
eres es esa esas ese eso esos esta estan estas este esto estos estoy fue ha han hasta hay he la las
le les lo los mas me mi mis muy ni no nos nosotros o os para pero por porque puedo puede pueden que
quien quienes se segun ser si sin sobre son soy su sus tambien tiene tienen tu tus un una unas uno
unos y ya yo
"""
_SWEDISH = """
alla allt att av bara blev blir da de dem den denna deras dess det detta dig din dina du efter ej
eller en er era ett finns fran for ha hade han hans har henne hennes hon honom hos hur i icke in
inte jag kan kunde man med mellan men mig min mina mot mycket nagon nagot nagra nar ni nu och om oss
pa sa sadan sedan sig sin sina ska skulle som till under upp ut utan vad var vara varfor varje vars
vem vi vid vilka vilken vilket ar at
"""

STOP_WORDS = {
    language: frozenset(words.split())
    for language, words in {
        "danish": _DANISH,
        "dutch": _DUTCH,
        "english": _ENGLISH,
        "finnish": _FINNISH,
        "french": _FRENCH,
        "german": _GERMAN,
        "italian": _ITALIAN,
        "norwegian": _NORWEGIAN,
        "portuguese": _PORTUGUESE,
        "russian": _RUSSIAN,
        "spanish": _SPANISH,
        "swedish": _SWEDISH,
    }.items()
}
"""Plain words that are not looked for beside others: they say nothing of the subject, and are what
takes a search by words longest. They are indexed: in phrases and on their own they count."""

_CONTRACTIONS = {
    "english": frozenset(["cant", "id", "ill", "im", "ive", "wed", "well", "wont"]),
    "french": frozenset(["ya"]),
}
"""Stop words where an apostrophe stands in them: `can't` is one, a `cant` is none."""

_ELISIONS = {
    "catalan": "d l m n s t",
    "french": "c d j jusqu l lorsqu m n puisqu qu quoiqu s t",
    "italian": "all c com cos d dall dell dov l m nell quell quest s sull t un v",
}
"""Little words without their vowel, written in one with the next."""

LEAST_OF_ANOTHER = 2
"""So many stop words of another language, which are none in English, tell that a query is in it.
One may be the subject of an English one, as the Danish `vi` and the Swedish `man` are, and stand
beside words of both, as in `settings for vi` and `man page for ls`."""


@dataclass(frozen=True)
class StopWords:
    """Those that a query is not looked for by."""

    alone: frozenset[str]
    with_apostrophe: frozenset[str]

    def __contains__(self, word: Word) -> bool:
        if word.is_switch:
            return False
        return word.whole in self.alone or (
            word.has_apostrophe and word.whole in self.with_apostrophe
        )


def stop_words(query: Sequence[Word], languages: frozenset[str]) -> StopWords:
    """Those of a query, where texts are in these languages: the same for each of them.

    With several, the English ones, and those of the language of which the query says most, if that
    is another; of what is elided, all.
    """
    if len(languages) == 1:
        return _of(languages, languages)
    said = {name: _said(query, name) for name in sorted(languages)}
    asked = max(said, key=lambda name: len(said[name]))
    english = said.get("english", _NONE)
    is_told = len(said[asked]) > len(english) and len(said[asked] - english) >= LEAST_OF_ANOTHER
    return _of((languages & {"english"}) | ({asked} if is_told else _NONE), languages)


def _said(query: Sequence[Word], language: str) -> frozenset[str]:
    """The stop words of a language that a query says."""
    idle = _of(frozenset([language]), frozenset([language]))
    return frozenset(word.whole for word in query if word in idle)


@functools.cache
def _of(languages: frozenset[str], eliding: frozenset[str]) -> StopWords:
    return StopWords(
        _NONE.union(*(STOP_WORDS.get(name, _NONE) for name in languages)),
        _elided(eliding).union(*(_CONTRACTIONS.get(name, _NONE) for name in languages)),
    )


def elisions(text: str, languages: frozenset[str]) -> Iterator[re.Match[str]]:
    """What is elided in a query in any of these languages, each up to its apostrophe."""
    pattern = _elision(languages)
    return pattern.finditer(text) if pattern else iter(())


@functools.cache
def _elision(languages: frozenset[str]) -> re.Pattern[str] | None:
    words = "|".join(sorted(_elided(languages)))
    if not words:
        return None
    return re.compile(rf"(?<![\w'\u2019-])(?:{words})['\u2019](?=\w)", re.IGNORECASE)


def _elided(languages: frozenset[str]) -> frozenset[str]:
    return _NONE.union(*(_ELISIONS.get(name, "").split() for name in languages))
