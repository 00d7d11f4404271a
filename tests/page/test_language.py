from __future__ import annotations

import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.page import language
from lycosa.page.language import language_of, primary_language
from lycosa.simweb.words import SCRIPTS

TEXTS = {
    "en": "The bridge over the river was built by a company that no longer exists, and it is still in use.",
    "de": "Die Brücke über den Fluss wurde von einer Firma gebaut, die es nicht mehr gibt, und sie ist noch im Dienst.",
    "nl": "De brug over de rivier werd gebouwd door een bedrijf dat niet meer bestaat, maar het is nog in gebruik.",
    "fr": "Le pont sur la rivière a été construit par une entreprise qui n'existe plus, mais il est dans un bon état.",
    "es": "El puente sobre el río fue construido por una empresa que ya no existe, pero está en uso y en buen estado.",
    "pt": "A ponte sobre o rio foi construída por uma empresa que não existe mais, mas ainda está em uso na cidade.",
    "it": "Il ponte sul fiume è stato costruito da una ditta che non esiste più, ma si usa ancora per la città.",
    "pl": "Most na rzece został zbudowany przez firmę, która już nie istnieje, ale jest to most, po którym się jeździ.",
    "sv": "Bron över floden byggdes av ett företag som inte finns längre, men den är i bruk och det är bra för staden.",
    "ru": "Мост через реку построила компания, которой уже нет, но он в хорошем состоянии и по нему ходят люди.",
    "uk": "Міст через річку збудувала компанія, якої вже немає, але він у доброму стані та є важливим для міста.",
    "zh": "这座桥是一家已经不存在的公司建造的。",
    "ja": "この橋はもう存在しない会社によって建設されました。",
    "ko": "이 다리는 더 이상 존재하지 않는 회사가 지었습니다.",
    "ar": "تم بناء الجسر على النهر من قبل شركة لم تعد موجودة و هو في حالة جيدة إلى هذا اليوم من كل عام",
    "fa": "این پل را شرکتی ساخته است که دیگر وجود ندارد و هنوز از آن در شهر برای عبور استفاده می شود",
    "el": "Η γέφυρα χτίστηκε από μια εταιρεία που δεν υπάρχει πια.",
    "he": "הגשר נבנה על ידי חברה שכבר אינה קיימת.",
    "th": "สะพานนี้สร้างโดยบริษัทที่ไม่มีอยู่แล้ว",
    "hi": "यह पुल एक ऐसी कंपनी ने बनाया था जो अब नहीं है और यह शहर के लिए है",
}


@pytest.mark.parametrize(("language", "text"), TEXTS.items())
def test_a_sentence_tells_its_language(language: str, text: str) -> None:
    assert language_of(text) == language
    assert language_of(text, "eo") == language


@pytest.mark.parametrize("language", SCRIPTS)
def test_pages_of_the_simulated_web_tell_their_language(language: str) -> None:
    script, draws = SCRIPTS[language], random.Random(1)
    for _ in range(20):
        text = script.space.join(draws.choices(script.words, k=80))
        assert language_of(text) == language.partition("-")[0]


def test_a_language_without_a_list_is_known_by_trigrams() -> None:
    text = "Hierdie brug oor die rivier is gebou deur 'n maatskappy wat nie meer bestaan nie, maar dit word nog benut."
    assert language_of(text) == "af"


def test_what_is_declared_decides_where_the_text_does_not() -> None:
    assert language_of("iPhone 15 Pro 256 GB", "de-AT") == "de"
    assert language_of("iPhone 15 Pro 256 GB") == ""
    assert language_of("123 456", "fr") == "fr"
    shared = "det er en by som er på en øy og den er for alle som har det, men det var om at så kan vi"
    assert language_of(shared, "da") == "da"
    assert language_of(shared, "nb-NO") == "no"


def test_what_is_declared_does_not_decide_against_the_text() -> None:
    assert language_of(TEXTS["de"], "en") == "de"
    assert language_of(TEXTS["ja"], "zh-CN") == "ja"


@pytest.mark.parametrize(("language", "text"), TEXTS.items())
def test_a_long_text_has_the_same_language_whatever_is_declared(language: str, text: str) -> None:
    long = " ".join([text] * 12)
    assert language_of(long) == language
    assert language_of(long, language) == language
    assert language_of(long, "en" if language != "en" else "de") == language


def test_a_declared_language_in_the_middle_of_another_does_not_count() -> None:
    around = " ".join([TEXTS["de"]] * 8)
    assert language_of(f"{around} {TEXTS['en']} {around}", "en") == "de"


def test_foreign_names_do_not_make_a_text_foreign() -> None:
    assert language_of("在 Microsoft Windows 上安装 Python 的方法如下所示，请先下载安装程序。") == "zh"


@pytest.mark.parametrize(
    ("tag", "language"),
    [("zh-Hant-TW", "zh"), ("EN_us", "en"), ("deu", "de"), ("nb", "no"), ("iw", "he"), ("", ""), ("x-klingon", ""),
     ("und", ""), ("english", ""), ("haw", "haw"), (" fr ", "fr")],
)  # fmt: skip
def test_tags_name_a_language(tag: str, language: str) -> None:
    assert primary_language(tag) == language


@given(st.text(max_size=300), st.text(max_size=12))
def test_any_text_has_a_language_or_none(text: str, declared: str) -> None:
    assert len(language_of(text, declared)) in (0, 2, 3)


OF_THE_MODEL = {
    "tl": "Ang tulay sa ibabaw ng ilog ay itinayo ng isang kumpanya na wala na ngayon, ngunit ginagamit pa rin ito.",
    "mn": "Голын дээгүүрх гүүрийг одоо байхгүй болсон компани барьсан боловч хотын хүмүүс одоог хүртэл ашигладаг.",
    "ms": "Jambatan di atas sungai telah dibina oleh sebuah syarikat yang tidak lagi wujud, tetapi ia masih digunakan.",
    "is": "Brúin yfir ána var byggð af fyrirtæki sem er ekki lengur til, en hún er enn í notkun.",
    "kk": "Өзен үстіндегі көпірді қазір жоқ компания салған, бірақ ол әлі күнге дейін қолданылады.",
    "sw": "Daraja lililo juu ya mto lilijengwa na kampuni ambayo haipo tena, lakini bado linatumika na watu wa mji.",
    "sq": "Ura mbi lumë u ndërtua nga një kompani që nuk ekziston më, por ajo është ende në përdorim.",
    "eu": "Ibaiaren gaineko zubia jada existitzen ez den enpresa batek eraiki zuen, baina oraindik erabiltzen da.",
    "ga": "Tógadh an droichead thar an abhainn ag cuideachta nach bhfuil ann a thuilleadh, ach tá sé fós in úsáid.",
}


@pytest.mark.parametrize(("language", "text"), OF_THE_MODEL.items())
def test_the_model_knows_languages_that_the_tables_do_not(language: str, text: str) -> None:
    pytest.importorskip("pycld2")
    assert language_of(text) == language


@pytest.mark.parametrize(("language", "text"), TEXTS.items())
def test_the_tables_do_without_the_model(language: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lycosa.page.language.pycld2", None)
    assert language_of(text) == language


@pytest.mark.parametrize("refused", ["\x00", "\x1b", "\x85", "\ufffe", "\udc80"])
def test_what_the_model_refuses_does_not_hide_the_rest(refused: str) -> None:
    assert language_of(refused + TEXTS["de"] + refused) == "de"


def test_no_text_that_can_be_printed_has_what_the_model_refuses() -> None:
    for text in (f"a\n{chr(point)}" for point in range(sys.maxunicode + 1)):
        assert language._accepted(text) == text.translate(language._REFUSED)
