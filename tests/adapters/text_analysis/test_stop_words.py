"""Little words of a language say nothing of a subject, and are not looked for beside others."""

from pathlib import Path

import pytest

from app.adapters.lexical_index.tantivy_index import TantivyIndex
from app.adapters.text_analysis.analyser import KNOWN_LANGUAGES, fold
from app.adapters.text_analysis.languages import Languages
from app.adapters.text_analysis.stop_words import STOP_WORDS
from tests.contracts.lexical_index_contract import found, record

QUESTIONS = {
    "danish": ("hvordan kan jeg ændre adgangskoden", "adgangskoden"),
    "dutch": ("hoe kan ik het wachtwoord wijzigen", "wachtwoord"),
    "finnish": ("miten voin vaihtaa salasanan, kun se on vanha", "salasanan"),
    "french": ("comment changer le mot de passe de l\u2019utilisateur qu\u2019il a", "passe"),
    "german": ("wie kann ich das Passwort für den Benutzer ändern", "Passwort"),
    "italian": ("come si può cambiare la password del conto", "password"),
    "norwegian": ("hvordan kan jeg endre passordet", "passordet"),
    "portuguese": ("como é que se muda a senha do utilizador", "senha"),
    "russian": ("как мне изменить пароль", "пароль"),
    "spanish": ("¿cómo puedo cambiar la contraseña del usuario?", "contraseña"),
    "swedish": ("hur kan jag ändra lösenordet på min dator", "lösenordet"),
}


@pytest.mark.parametrize("language", sorted(STOP_WORDS))
def test_lists_are_of_languages_that_have_stems_and_as_queries_say_their_words(language: str):
    assert language in KNOWN_LANGUAGES
    assert {fold(word) for word in STOP_WORDS[language]} == STOP_WORDS[language]


@pytest.mark.parametrize("language", sorted(QUESTIONS))
@pytest.mark.parametrize("default", ["own", "english"])
def test_a_question_is_not_answered_by_its_little_words(
    tmp_path: Path, language: str, default: str
):
    question, subject = QUESTIONS[language]
    own = language if default == "own" else "english"
    index = TantivyIndex(tmp_path, languages=Languages(own))
    little = " ".join(sorted(STOP_WORDS[language]))
    index.upsert(
        [
            record("little", little, language=language),
            record("subject", subject, language=language),
            record("english", "a quay of granite", language="english"),
        ]
    )
    assert found(index, question) == {"subject"}
    assert found(index, " ".join(question.split()[:2])) != set(), "nothing else was asked"
    assert found(index, f'"{little[:20].rsplit(" ", 1)[0]}"') == {"little"}, "in quotes they count"


def test_a_little_word_of_another_language_is_a_subject_in_english(tmp_path: Path):
    index = TantivyIndex(tmp_path)
    index.upsert(
        [
            record("page", "the man page tells more"),
            record("editor", "vi edits files"),
            record("swedish", "hur kan man", language="swedish"),
            record("danish", "vi har", language="danish"),
        ]
    )
    assert "page" in found(index, "how do i read what man says")
    assert "editor" in found(index, "config of vi")


@pytest.mark.parametrize(
    ("language", "question", "subject"),
    [
        ("french", "comment régler le son", "son"),
        ("french", "farine de maïs", "maïs"),
        ("german", "was ist die Würde des Menschen", "Würde"),
        ("italian", "modelli di AI", "AI"),
        ("italian", "operazioni di IO", "IO"),
        ("portuguese", "como remover nós do cluster", "nós"),
        ("russian", "как создать том", "том"),
        ("russian", "как удалить под", "под"),
        ("spanish", "cómo preparar té", "té"),
    ],
)
def test_what_is_asked_for_is_no_little_word_of_its_own_language(
    tmp_path: Path, language: str, question: str, subject: str
):
    index = TantivyIndex(tmp_path, languages=Languages(language))
    index.upsert([record("subject", subject), record("other", "x")])
    assert found(index, question) == {"subject"}


@pytest.mark.parametrize("default", ["french", "english"])
@pytest.mark.parametrize(
    "question",
    [
        "qu'est-ce qu'un conteneur",
        "Qu\u2019est-ce que c\u2019est, un conteneur ?",
        "est-ce que c'est un conteneur",
        "comment puis-je créer un conteneur",
        "comment peut-on créer un conteneur",
    ],
)
def test_questions_with_hyphens_are_not_looked_for_by_what_they_join(
    tmp_path: Path, default: str, question: str
):
    index = TantivyIndex(tmp_path, languages=Languages(default))
    index.upsert(
        [
            record("subject", "un conteneur", language="french"),
            record("joined", "ce que peut puis est", language="french"),
            record("english", "a quay of granite", language="english"),
        ]
    )
    assert found(index, question) == {"subject"}


@pytest.mark.parametrize(
    ("language", "query", "subject"),
    [
        ("italian", "AI in production", "AI models"),
        ("italian", "IO in Python", "files and IO"),
        ("swedish", "man page for ls", "man pages"),
        ("danish", "settings for vi", "vi edits files"),
        ("french", "comment on a pull request", "who may comment"),
        ("german", "du in bash", "du tells sizes"),
        ("portuguese", "OS as a service", "which OS it needs"),
    ],
)
def test_words_of_both_languages_do_not_tell_that_a_query_is_in_the_other_one(
    tmp_path: Path, language: str, query: str, subject: str
):
    index = TantivyIndex(tmp_path)
    index.upsert([record("subject", subject), record("other", "x", language=language)])
    assert found(index, query) == {"subject"}


@pytest.mark.parametrize("beside", ["french", "english"])
def test_what_says_a_question_as_it_was_typed_comes_first_in_any_language(
    tmp_path: Path, beside: str
):
    index = TantivyIndex(tmp_path)
    index.upsert(
        [
            record("typed", "changer le mot de passe", language="french"),
            record("apart", "passe, un mot à changer", language="french"),
            record("other", "une autre chose", language=beside),
        ]
    )
    (first, *_) = index.search("changer le mot de passe", 10)
    assert first.chunk_id == "typed"


@pytest.mark.parametrize(
    ("language", "query", "text", "other"),
    [
        ("italian", "dell'utente", "Un utente ne cambia molte.", "Il nome dell'albero."),
        ("italian", "password dell'utente", "Password per un utente.", "La password dell'amico."),
        ("french", "l\u2019utilisateur", "Un utilisateur en change.", "L'arbre et l'eau."),
        ("french", "qu'est-ce qu'un noyau", "Le noyau d'un système.", "Qu'est-ce que l'eau ?"),
        ("catalan", "d'usuari", "Un usuari nou.", "El nom d'ahir."),
    ],
)
@pytest.mark.parametrize("default", ["own", "english"])
def test_what_is_elided_before_an_apostrophe_is_not_looked_for(
    tmp_path: Path, language: str, query: str, text: str, other: str, default: str
):
    own = language if default == "own" else "english"
    index = TantivyIndex(tmp_path, languages=Languages(own))
    index.upsert(
        [record("text", text, language=language), record("other", other, language=language)]
    )
    (first, *_) = index.search(query, 10)
    assert first.chunk_id == "text"
    assert found(index, query.rsplit(maxsplit=1)[-1]) == {"text"}


def test_in_quotes_what_is_elided_counts(tmp_path: Path):
    index = TantivyIndex(tmp_path, languages=Languages("italian"))
    index.upsert([record("typed", "La chiave dell'utente."), record("apart", "Un utente.")])
    assert found(index, '"dell\'utente"') == {"typed"}
