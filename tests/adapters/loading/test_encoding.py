# ruff: noqa: RUF001  letters that look alike are what is tested
import codecs
import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.loading.encoding import NO_CHARSETS, clean, decode
from app.adapters.loading.terminal_text import as_shown
from app.adapters.loading.western_text import is_scattered, is_western
from app.errors import SourceUnreadableError
from tests.processor_speed import is_within

GERMAN = "Größe und Länge der Straße, für Übung und Ärger. " * 5
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 5
JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。" * 5


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides_and_is_taken_off(mark, encoding):
    text, _ = decode(mark + GERMAN.encode(encoding), declared="koi8-r")
    assert text == GERMAN
    assert decode(mark + ("\ufeff" + GERMAN).encode(encoding))[0] == GERMAN


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_declared_utf16_is_read_in_the_order_of_its_bytes(encoding):
    text = "Which of both is told by a mark that few write.\n"
    assert decode(text.encode(encoding), "utf-16") == (text, encoding)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("declared", ["utf-8", "iso-8859-1", "shift_jis"])
def test_utf_16_without_a_mark_is_read_whatever_a_server_declares(
    encoding: str, declared: str
) -> None:
    text = "A note that Windows saved as Unicode.\r\n"
    assert decode(text.encode(encoding), declared) == (text, encoding)


@pytest.mark.parametrize("encoding", ["koi8-r", "cp1251", "iso-8859-5", "utf-16-le"])
def test_a_declared_encoding_that_fits_is_used(encoding):
    assert decode(RUSSIAN.encode(encoding), declared=encoding.upper())[0] == RUSSIAN


@pytest.mark.parametrize(
    "declared",
    ["ascii", "utf-16", "nonsense", "utf-7", "idna", "hex", "rot13", "", "a\0b", "\u20ac"],
)
def test_a_declared_encoding_that_does_not_fit_is_passed_over(declared):
    assert decode(JAPANESE.encode(), declared=declared)[0] == JAPANESE


@pytest.mark.parametrize(
    ("text", "declared", "written"),
    [
        ("①日本語㈱テスト", "Shift_JIS", "cp932"),
        ("日本語", "x-sjis", "cp932"),
        ("朱镕基", "gb2312", "gbk"),
        ("똠방각하", "euc-kr", "cp949"),
        ("咗嘅", "big5", "big5hkscs"),
        ("“İstanbul”", "iso-8859-9", "cp1254"),
        ("“สวัสดี”", "tis-620", "cp874"),
        ("สวัสดี", "windows-874", "cp874"),
    ],
)
def test_a_declared_encoding_is_read_as_browsers_read_it(text, declared, written):
    assert decode(text.encode(written), declared)[0] == text


@pytest.mark.parametrize("name", sorted(NO_CHARSETS))
def test_codecs_that_are_no_encodings_of_documents_are_passed_over(name):
    assert codecs.lookup(name).name == name
    assert decode(rb"path C:\new \u0041", name.replace("-", "_")) == (
        r"path C:\new \u0041",
        "utf-8",
    )


def test_declared_latin_is_read_as_browsers_do():
    assert decode(b"\x93quoted\x94", declared="iso-8859-1") == ("“quoted”", "cp1252")


@pytest.mark.parametrize("declared", ["iso-8859-1", "windows-1252", "us-ascii", "iso-8859-15"])
@pytest.mark.parametrize(
    "text",
    [
        *("# Straße\n\nGröße", "It’s a café.", "A café.", "Temperature: 20°", "π", "Zażółć", "ą"),
        *("Cafe\u0301", "Timișoara", "Azərbaycan", "Hawaiʻi", "Да", "日本語", "GRÖSSE", "Là"),
    ],
)
def test_what_is_utf8_is_not_read_as_the_latin_that_is_declared(text, declared):
    assert decode(text.encode(), declared) == (text, "utf-8")


@pytest.mark.parametrize(
    "text",
    [
        *("Größe", "A café.", "(c) Müller", "Le mot «CAFÉ»", "Note: the CAFÉ’s menu", "ROSÉ…"),
        *("Le CAFÉ\u00a0: ici", "Viel Spaß…", "MENÜ™", "The Ã© that was an é"),
    ],
)
def test_declared_latin_stays_where_utf8_would_be_chance(text):
    assert decode(text.encode("cp1252"), "iso-8859-1") == (text, "cp1252")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "cp1252"),
        (RUSSIAN, "cp1251"),
        (JAPANESE, "shift_jis"),
        (GERMAN, "utf-16-le"),
        (GERMAN, "utf-16-be"),
    ],
)
def test_undeclared_encodings_are_detected(text, encoding):
    assert decode(text.encode(encoding))[0] == text


WESTERN = {
    "French": "Ce guide décrit tout. Où placer les fichiers ? Le français est déjà utilisé.",
    "French, short": "## Problèmes fréquents",
    "French, a line": "Ça coûte 5 € environ.",
    "Portuguese": "A configuração da aplicação não é automática. Você poderá usá-la às vezes.",
    "Portuguese, short": "# Introdução",
    "Spanish": "La contraseña se lee de una variable. ¿Dónde están los registros?",
    "Spanish, short": "Mañana será otro día.",
    "Italian": "Però, se la porta è già occupata, il servizio non si avvierà.",
    "Italian, short": "# Città e libertà",
    "Catalan": "Això és més fàcil amb l'opció següent. Els països catalans.",
    "German": "Die Größe der Straße überrascht. Übermäßig schöne Häuser für alle.",
    "Dutch": "De coördinatie van geïnstalleerde pakketten is één van de taken.",
    "Danish": "Før du går i gang, skal du sørge for at have de nødvendige rettigheder.",
    "Norwegian": "Løsningen er å øke størrelsen på køen.",
    "Swedish": "Det här är en översikt. Välkommen åter på lördag.",
    "Swedish, short": "Där står vanligtvis orsaken till felet.",
    "Finnish": "Hyvää päivää, tämä on käyttöohje. Älä lähetä sitä.",
    "Icelandic": "Þetta er handbók um þjónustuna. Áður en þú byrjar skaltu lesa þetta vel.",
    "Estonian": "See juhend kirjeldab, kuidas teenust käivitada. Õigused peavad olema õiged.",
    "English": "The café’s résumé — “smart quotes” and a naïve coöperation… £5 and 20 °C.",
}
EASTERN = {
    "Polish": (
        (
            "Zażółć gęślą jaźń. Proszę sprawdzić konfigurację połączenia z bazą danych. "
            "Następnie uruchomić usługę."
        ),
        "cp1250",
    ),
    "Czech": (
        (
            "Příliš žluťoučký kůň úpěl ďábelské ódy. Nastavení připojení k databázi je uloženo v "
            "proměnných prostředí."
        ),
        "cp1250",
    ),
    "Hungarian": (
        (
            "Árvíztűrő tükörfúrógép. Az adatbázis-kapcsolat beállításai környezeti változókban "
            "vannak, és ezeket módosíthatja."
        ),
        "cp1250",
    ),
    "Romanian": (
        (
            "Aceasta este o pagină în limba română despre configuraţia serverului şi baza de date. "
            "Împărţit în două părţi."
        ),
        "cp1250",
    ),
    "Turkish": (
        "Bu bir Türkçe belgedir. Değişiklik yapılması için ayarları açınız. İşte şöyle bağlanılır.",
        "cp1254",
    ),
}
POLISH = "Następnie należy sprawdzić, czy usługa się włączyła, i zajrzeć do dziennika błędów."
RUSSIAN_MANUAL = "Сначала нужно проверить, запущена ли служба, и посмотреть журнал ошибок."
OTHER_CODE_PAGES = [
    (
        (
            "Pirms sākat, pārbaudiet, vai serveris ir ieslēgts un vai datubāze ir pieejama. Kļūdu "
            "žurnālā ir redzams, kāpēc pakalpojums netika palaists. Šķirklī minēts, "
            "kā tos mainīt. Lūdzu, izlasiet arī nākamo nodaļu."
        ),
        "cp1257",
    ),
    (
        (
            "Prieš pradėdami įsitikinkite, kad serveris įjungtas ir duomenų bazė veikia. Klaidų "
            "žurnale matyti, kodėl tarnyba nepasileido. Šiame skyriuje aprašyta, kaip pakeisti "
            "nuostatas. Perskaitykite ir kitą skyrių, jei norite žinoti daugiau."
        ),
        "cp1257",
    ),
    ("Спочатку перевірте, чи запущено службу, і перегляньте журнал її помилок.", "koi8_u"),
    ("ก่อนเริ่มใช้งาน โปรดตรวจสอบว่าเซิร์ฟเวอร์เปิดอยู่และเชื่อมต่อฐานข้อมูลได้", "cp874"),
    (POLISH, "iso8859_2"),
    (POLISH, "cp1250"),
    ("Nejprve ověřte, že služba běží, a podívejte se do deníku chyb. Šťastnou cestu!", "iso8859_2"),
    ("Le cœur du système coûte 5 €, et la mise en œuvre est déjà prête.", "iso8859_15"),
    *((RUSSIAN_MANUAL, encoding) for encoding in ("cp866", "iso8859_5", "koi8_r", "cp1251")),
    ("Πρώτα ελέγξτε αν η υπηρεσία εκτελείται και δείτε το αρχείο σφαλμάτων.", "iso8859_7"),
    ("Önce hizmetin çalıştığını denetleyin ve hata günlüğüne bakın. Şifreyi değiştirin.", "cp1254"),
    ("Shift 키 2개 동시 누름", "euc_kr"),
    ("Alt 和 Meta 都在 Alt 上", "gb18030"),
    ("תחילה בדקו שהשירות פועל ועיינו ביומן השגיאות.", "cp1255"),
]
EASTERN_LINES = {
    "big5": ["<title>。cry me a river</title>"],
    "cp1250": [
        *("Proszę czekać.", "Zrób ćwiczenia.", "Koń jest duży.", "nie wymaga żadnych", "Że tak"),
        *(
            "Seznam souborů",
            "Toto je česká verze",
            "Přes den",
            "Dům u řeky",
            "Pět dnů",
            "Kĺb a stĺp",
        ),
        *("Preverite le račun", "Med in račun", "Kĺb a stĺp", "Kuća", "noć će doći"),
        *("Tűzfal", "Fűtés", "Erdő", "A nő főz", "Győr és Gyűr", "Felhő, de nem erős"),
        *("O pagină bună", "Limba română", "Bază de date Palm OS", "Rusă (DOS)"),
    ],
    "cp1254": ["Yeni şifre giriniz", "Ağaç", "Dosya açılamadı", "Işık ve gölge", "Para yok, çağır"],
    "cp1257": [
        "Šis dokumentas aprašo serverio nustatymus ir duomenų bazės ryšį. Prieš pradėdami",
        "Šis dokuments apraksta servera iestatījumus un datubāzes savienojumu. Pirms sākat",
        *(
            "Atidarykite langą",
            "Kalbų pasirinkimas",
            "Eiti į namus",
            "Kitą kartą",
            "Susijęs failas",
        ),
        *("Datubāze", "Failu nevar atvērt", "Ziņojums par kļūdu", "Teātris", "du failų sąrašas"),
    ],
}


@pytest.mark.parametrize("text", WESTERN.values(), ids=WESTERN)
@pytest.mark.parametrize("end", ["", "\r\n"], ids=["bare", "with a line end"])
def test_short_western_text_is_not_taken_for_eastern(text, end):
    assert decode((text + end).encode("cp1252"))[0] == text + end


@pytest.mark.parametrize(
    "text",
    [
        "The voilà moment and the déjà vu of this release – it’s great.",
        "The naïve Zoë is from the team of Chloë.",
        "The Brontë sisters of England.",
        "Noël is the owner of a Citroën.",
        "The première was à la carte, with crème brûlée.",
    ],
)
def test_names_and_loan_words_in_english_are_western(text):
    introduction = "This is the text that you read before.\n" * 5
    for whole in (text, introduction + text, f"{text}\n" * 40):
        assert decode(whole.encode("cp1252"))[0] == whole


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("The Dubček of the Prague spring", "cp1250"),
        ("The city of Klaipėda is here", "cp1257"),
        ("The word ąžuolas is Lithuanian", "cp1257"),
    ],
)
def test_an_eastern_name_in_english_is_not_surely_western(text, encoding):
    assert not is_western(text.encode(encoding).decode("cp1252", "replace"))


@pytest.mark.parametrize(
    "text",
    [
        "Each licence costs £25 per month. VAT of £5 is added.",
        "Each costs £ 25 and more. £ is the pound sign.",
        "The fee is £9.",
        "Price ¥500, 50¢ change, £1,000–£2,000",
        "price: 5€, fee 3 €, © Ltd ½ §",
        "Temperature 20 °C ± 2 µm on 5 × 3 m²",
        "It’s a “quote” – naïve – café.",
        "¿Cómo se instala? ¡Fácil!",
        "¡Hola!",
        "Øl på dansk er smørrebrød",
        "Où ?",
        "Über uns",
        "Tämä on hyvää",
        "São Paulo não é longe",
    ],
)
@pytest.mark.parametrize("times", [1, 40], ids=["short", "long"])
def test_western_signs_and_letters_are_not_taken_for_another_alphabet(text, times):
    text = f"{text}\n" * times
    assert decode(text.encode("cp1252"))[0] == text


OTHER_ALPHABETS = {
    "cp1250": ["Proszę czekać na 25 złotych.", "Dzień dobry", "Nastavení připojení k databázi"],
    "cp1251": ["Съешь же ещё этих мягких", "Установка и настройка сервера за 5 минут"],
    "koi8_r": ["Съешь же ещё этих мягких", "Установка и настройка"],
    "cp1253": ["Καλημέρα κόσμε", "Εγκατάσταση και ρύθμιση του διακομιστή"],
    "cp1256": ["مرحبا بالعالم", "هذا مستند باللغة العربية"],
    "cp932": ["これは日本語の文書です。", "インストール方法", "東京", "The 日本 company"],
    "euc_jp": ["設定ファイルを編集します"],
    "big5": ["這是一個中文文件", "設定檔案的位置在這裡"],
    "gb18030": ["这是一个中文文件", "配置文件的位置在这里"],
    "euc_kr": ["이것은 한국어 문서입니다", "서버를 설정합니다"],
}


@pytest.mark.parametrize(
    ("text", "encoding"),
    [(text, encoding) for encoding, texts in OTHER_ALPHABETS.items() for text in texts],
)
@pytest.mark.parametrize("times", [1, 40], ids=["short", "long"])
def test_another_alphabet_is_read_in_its_own_encoding(text, encoding, times):
    text = f"{text}\n" * times
    assert decode(text.encode(encoding))[0] == text


def test_wide_digits_are_not_taken_for_letters_in_quotes():
    text = "version １２３ of the tool"
    assert decode(text.encode("cp932"))[0] == text


@pytest.mark.parametrize(
    ("words", "encoding"),
    [
        ("Да|и то|на", "cp1251"),
        ("Да|и то|на", "koi8_r"),
        ("και|το|η αρχή", "cp1253"),
        ("中文|日本|Да|и то", "cp932"),
        ("Да|中文|我|日本|斗|暗", "gb18030"),
        ("Да|中文|我|日本|표", "euc_kr"),
    ],
)
def test_a_foreign_word_in_english_text_is_no_western_one(words, encoding):
    for word in words.split("|"):
        western = f"The word {word} is used.".encode(encoding).decode("cp1252", "replace")
        assert not (is_western(western) and is_scattered(western)), word


@pytest.mark.parametrize("text", [JAPANESE, "In English: 日本 ok\n", "これは日本語の文書です。"])
def test_japanese_of_mail_is_known_by_its_escapes(text):
    assert decode(text.encode("iso2022_jp"))[0] == text


def test_escapes_of_a_terminal_are_no_japanese():
    assert decode(b"\x1b[31mred\x1b[0m \x1b(B cost $B\n" * 3)[1] == "utf-8"


@pytest.mark.parametrize(("text", "encoding"), EASTERN.values(), ids=EASTERN)
def test_short_eastern_text_is_read_in_its_own_code_page(text, encoding):
    assert decode(text.encode(encoding))[0] == text


@pytest.mark.parametrize(("text", "encoding"), OTHER_CODE_PAGES)
@pytest.mark.parametrize("times", [1, 40], ids=["short", "long"])
def test_the_letters_of_its_language_tell_the_encoding_of_a_text(text, encoding, times):
    text = f"{text}\r\n" * times
    assert decode(text.encode(encoding))[0] == text


def test_a_long_line_without_words_takes_no_quadratic_time():
    started = time.process_time()
    decode(b"a" * 60_000 + b" \xe4 " + b"'" * 60_000)
    decode(b"\xe4" + bytes([0xE0, 0x61]) * 60_000)
    assert is_within(2, started)


@pytest.mark.parametrize(
    ("line", "encoding"),
    [(line, encoding) for encoding, lines in EASTERN_LINES.items() for line in lines],
)
def test_a_line_of_an_eastern_language_is_never_recognised_as_western(line, encoding):
    assert not is_western(line.encode(encoding).decode("cp1252", "replace"))


@given(st.text(st.characters(max_codepoint=127)))
def test_text_in_ascii_is_no_evidence_of_a_western_language(text):
    assert not is_western(text)


@pytest.mark.parametrize("declared", [None, "utf-8"])
@pytest.mark.parametrize("text", ["Shipped 😀 at last.\n", "日本語と絵文字👩‍👩‍👧です。\n", "𝛼 + é"])
def test_characters_that_were_written_as_two_halves_are_whole_again(text, declared):
    """Exports of Java and Oracle are UTF-8 but for these (CESU-8); English ones became Chinese."""
    assert decode(by_halves(text), declared) == (text, "utf-8")
    assert decode(codecs.BOM_UTF8 + by_halves(text), declared) == (text, "utf-8")


def test_a_few_broken_bytes_do_not_spoil_characters_of_two_halves():
    text = f"{GERMAN}😀"
    data = by_halves(text) + b"\xff" + by_halves(text)
    assert decode(data) == (f"{text}\ufffd{text}", "utf-8")


def by_halves(text: str) -> bytes:
    wide = text.encode("utf-16-be")
    units = (wide[at : at + 2] for at in range(0, len(wide), 2))
    halves = "".join(unit.decode("utf-16-be", "surrogatepass") for unit in units)
    return halves.encode("utf-8", "surrogatepass")


def test_a_few_broken_bytes_do_not_spoil_a_utf8_document():
    data = GERMAN.encode() + b"\xff" + GERMAN.encode()
    assert decode(data) == (f"{GERMAN}\ufffd{GERMAN}", "utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "A caf\u00e9 costs 5 \ufffd.",
        "It\u2019s na\u00efve \u2013 and br\ufffdken \ufffd.",
        "\u00a9 2020\nM\ufffdller",
    ],
)
def test_a_broken_byte_does_not_spoil_the_few_letters_of_a_utf8_document(text):
    data = b"\xa3".join(part.encode() for part in text.split("\ufffd"))
    assert decode(data) == (text, "utf-8")


EAST_ASIAN = {
    "cp932": "設定ファイルはルートに置きます。再起動すると、新しい値が読み込まれます。\n",
    "euc_jp": "この章では、文書を検索するための準備について説明します。\n",
    "gb18030": "本章说明如何配置服务器，以及在出现错误时应该怎么办。我们可以从这里开始。\n",
    "big5hkscs": "本章說明如何設定伺服器，以及在出現錯誤時應該怎麼辦。我們可以從這裡開始。\n",
    "cp949": "이 장에서는 서버를 설정하는 방법을 설명합니다. 먼저 색인을 만들어야 합니다.\n",
}


@pytest.mark.parametrize("before", ["", "-"])
@pytest.mark.parametrize(("encoding", "line"), EAST_ASIAN.items())
def test_a_sample_that_ends_within_a_character_does_not_spoil_the_text(encoding, line, before):
    text = before + line.rstrip() * 1000
    assert decode(text.encode(encoding)) == (text, encoding)


@pytest.mark.parametrize(("encoding", "line"), EAST_ASIAN.items())
def test_a_broken_byte_spoils_no_more_than_its_line_of_an_east_asian_text(encoding, line):
    data = line.encode(encoding)
    text, found = decode(data * 5 + data[1:] + data * 5)
    assert found == encoding
    assert text.splitlines(keepends=True).count(line) == 10


def test_japanese_with_code_and_wide_signs_is_read():
    text = "".join(f"- {number}（例：`config.mjs`）を使う！→「値」です。\n" for number in range(20))
    assert decode(text.encode("cp932")) == (text, "cp932")


@pytest.mark.parametrize(
    "text",
    [
        "Thanks to François, Jürgen, José Núñez, Søren, Åsa, Þór and Nicolò for patches.",
        "François Müller, José Peña (2004), Björn Kjær",
        "A test of strlen(Größe) and of naïve sets.",
        "“It’s done” — said François, Jürgen, Søren, Zoë … and the ‘others’.",
        "Die Straße ist gesperrt.\nLe résumé français, où était-il ?\nEl niño está aquí.",
    ],
)
@pytest.mark.parametrize("times", [1, 40], ids=["short", "long"])
def test_words_of_many_western_languages_are_not_taken_for_another_alphabet(text, times):
    text = f"{text}\n" * times
    assert decode(text.encode("cp1252"))[0] == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Zażółć gęślą jaźń.\nPříliš žluťoučký kůň.", "cp1250"),
        ("Λογιστικό φύλλο Excel", "iso8859_7"),
        ("Файл XML не найден: проверьте путь", "cp1251"),
        ("Користи APIја и JSONа", "cp1251"),
        ("DOSовский файл, COMом", "cp866"),
        ("התקנה של הGIT בLinux\nהפעל את הserver ולאחר מכן את הclient", "cp1255"),
        ("הוראות לhtml", "cp1255"),
        ("Không thê\u0309 mơ\u0309 tâ\u0323p tin na\u0300y đê\u0309 đo\u0323c", "cp1258"),
    ],
)
def test_languages_with_many_letters_are_not_taken_for_names_of_many(text, encoding):
    assert decode(text.encode(encoding))[0] == text


def test_western_text_whose_bytes_are_utf8_by_chance_is_read_in_its_own_encoding():
    text = "Le mot \u00abCAF\u00c9\u00bb est dans une liste"
    assert decode(text.encode("cp1252"))[0] == text


def test_detection_of_a_large_file_is_bounded():
    data = (GERMAN * 20_000).encode("cp1252")
    started = time.process_time()
    assert decode(data)[0] == GERMAN * 20_000
    assert is_within(3, started)


@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        bytes(range(256)) * 4,
        b"text\0text",
        b"\x7fELF\x02\x01\x01" + bytes(100),
        b"\x89PNG\r\n\x1a\n" + bytes(range(200)),
        b"%PDF-1.4\nstream",
        b"\x01\x02\x03\x04" * 100,
    ],
)
@pytest.mark.parametrize("declared", [None, "utf-8", "latin-1"])
def test_binary_data_is_refused(data, declared):
    with pytest.raises(SourceUnreadableError, match="binary"):
        decode(data, declared)


def test_control_characters_become_spaces_and_line_endings_stay():
    assert decode(b"a\x1bb\x0cc\r\nd\te\rf" + b"x" * 100)[0] == "a b c\r\nd\te\rf" + "x" * 100
    assert decode(b"x" * 9000 + b"\0")[0] == "x" * 9000 + " "
    assert decode("a\x9b31mb\x80c\x85d\xa0e\n".encode())[0] == "a 31mb c d\xa0e\n"


def overstruck(text: str) -> str:
    """As `man` and `nroff` print bold."""
    return "".join(c if c.isspace() else f"{c}\b{c}" for c in text)


@pytest.mark.parametrize(
    ("printed", "seen"),
    [
        (overstruck("NAME überall 漢字"), "NAME überall 漢字"),
        ("_\bf_\bi_\bl_\be ... _\b_o_\bk f\b_o\b_o", "file ... _ok foo"),
        ("_\bB\bB, B\bB\bB\bB and +\bo", "B, B and o"),
        (overstruck("task_always_eager __init__"), "task_always_eager __init__"),
        ("_\b _\b _\b end", "___end"),
        ("\x1b[1;31mERROR\x1b[0m: \x1b[38;5;28mcode\x1b[39m 5\x1b[K", "ERROR: code 5"),
        ("\x1b]8;;https://a.example/b\x1b\\man(1)\x1b]8;;\x1b\\ \x1b]0;title\x07ok", "man(1) ok"),
        ("\x1b(Bplain\r\n\x1b]never ended\r\nnext", "plain\r\n ]never ended\r\nnext"),
        ("\x1b]a title\tin cells\x07", " ]a title\tin cells "),
        ("wait 10%\b\b\b20%", "wait 10%   20%"),
    ],
)
def test_what_was_written_for_a_terminal_is_read_as_it_shows_it(printed: str, seen: str):
    assert decode(printed.encode() + b"\nplain " * 20)[0] == seen + "\nplain " * 20
    assert decode(codecs.BOM_UTF16_LE + printed.encode("utf-16-le"))[0] == seen


def test_a_page_in_bold_is_not_taken_for_binary():
    line = "All of this page is bold.\n"
    assert decode(overstruck(line).encode() * 600)[0] == line * 600


@given(st.text(st.sampled_from("ab_ \b\x1b[]0m\x07\\(B\r\n\t")))
def test_what_a_terminal_shows_has_the_same_lines(text: str):
    shown = as_shown(text)
    assert re.findall("[\r\n\t]", shown) == re.findall("[\r\n\t]", text)


@given(st.text(), st.sampled_from(["utf-8", "utf-8-sig"]))
def test_utf8_text_comes_back_but_for_its_control_characters(text, encoding):
    data = text.encode(encoding)
    try:
        decoded, _ = decode(data)
    except SourceUnreadableError:
        return
    assert decoded == clean(as_shown(text.lstrip("\ufeff")))


@given(st.binary(max_size=300), st.sampled_from([None, "utf-8", "utf-16", "shift_jis", "cp1252"]))
def test_any_bytes_give_clean_text_or_a_clear_refusal(data, declared):
    try:
        text, _ = decode(data, declared)
    except SourceUnreadableError:
        return
    text.encode("utf-8")
    assert "\0" not in text


@given(st.text(st.characters()))
def test_cleaning_keeps_length_and_lines(text):
    cleaned = clean(text)
    assert len(cleaned) == len(text)
    assert [i for i, c in enumerate(cleaned) if c in "\r\n\t"] == [
        i for i, c in enumerate(text) if c in "\r\n\t"
    ]
    assert clean(cleaned) == cleaned
    assert {c for c in cleaned if unicodedata.category(c) == "Cc"} <= set("\r\n\t")


@pytest.mark.parametrize(
    ("line", "encoding", "words"),
    [
        ("# -*- coding: koi8-r -*-", "koi8-r", "свет лампы"),
        ("#!/bin/sh\n# vim: set fileencoding=gb2312 :", "gb2312", "灯塔的光"),
        (";; -*- mode: lisp; coding: iso-8859-2-unix -*-", "iso8859-2", "Autor: Łukasz"),
        ("/* -*- coding: iso-8859-9 -*- */", "iso8859-9", "İstanbul ışığı"),
        ("// -*- coding: latin-1 -*-", "latin-1", "Größe"),
        ('<?xml version="1.0" encoding="ISO-8859-15"?>', "iso8859-15", "prix: 5 €"),
        ('@charset "mac-roman";', "mac-roman", "é à ü"),
    ],
    ids=["Python", "Vim", "Emacs", "C", "JavaScript", "XML", "CSS"],
)
def test_a_file_is_read_in_the_encoding_that_its_first_lines_say(line, encoding, words):
    """A few letters in a comment are too little to tell it by."""
    text = f"{line}\nlamp = 1\n# {words}\n"
    assert decode(text.encode(encoding))[0] == text


@pytest.mark.parametrize(
    "line",
    [
        "# -*- coding: koi8-r -*-",
        "# coding: nothing",
        "# coding: utf-16",
        "# coding: hex",
        "coding: koi8-r is what it says",
        "\n\n# coding: koi8-r",
        f"# {'x' * 500} coding: koi8-r",
    ],
)
def test_what_is_utf8_or_says_no_encoding_in_a_comment_above_is_read_as_before(line):
    text = f"{line}\n{GERMAN}\n"
    assert decode(text.encode())[0] == text
    if "-*-" not in line:
        assert decode(text.encode("cp1252"))[0] == text
