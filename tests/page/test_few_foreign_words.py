"""Long English pages that declare nothing and have a few words of another script, in the charset of its language."""

from __future__ import annotations

import random
import unicodedata

import pytest

from lycosa.page.encoding import decode

ENGLISH = """
The old market stands behind the station, and most visitors walk past it without ever noticing the narrow gate.
In the early years there were only four stalls, which sold tea, cloth, paper and what the boats brought up the river.
A guide from the museum says that the name means something like a place where people wait for the rain to stop.
Prices are written on small wooden boards, and nobody is offended if a stranger asks for a better one.
The second floor was added after the great fire, when the city decided that every building had to have a stone stair.
There is a small library of travel books, and a reading room that stays open until the last train has left.
Most dictionaries translate the word as friend, although older speakers use it for anybody who has shared a meal.
The recipe has changed little over the centuries: it needs salt, patience and a dry cellar with a steady wind.
Scholars still disagree about who wrote the poem, and the earliest manuscript was lost on its way to the capital.
Trains leave every twenty minutes, tickets are sold on board, and the journey along the coast takes about an hour.
"""
PARTS = [part.strip() for part in ENGLISH.strip().split("\n")]

JAPANESE = "東京 日本 寿司 こんにちは ありがとう カラオケ 大阪 漫画 アニメ 富士山 任天堂 ひらがな 村上春樹 京都 北海道"
RUSSIAN = "Москва спасибо Россия правда привет Достоевский Толстой борщ перестройка водка Пушкин Чехов Сибирь самовар"
WORDS = {
    "euc_kr": "서울 김치 한국어 안녕하세요 대한민국 부산 감사합니다 한글 불고기 세종대왕 삼성전자 태권도 기생충",
    "cp1258": "Việt Nguyễn phở Nội tiếng phố Hồ cảm Phạm nước mắm Huế Sài Gòn chợ Bến",
    "gbk": "北京 中国 你好 上海 谢谢 普通话 人民日报 饺子 功夫 清华大学 长城 汉字 广东话 孔子 故宫",
    "shift_jis": JAPANESE,
    "big5": "台北 香港 你好 謝謝 中華民國 繁體字 李小龍 國語 點心 高雄 故宮博物院 孫中山 臺灣 漢字 孔子",
    "cp1251": RUSSIAN,
    "koi8-r": RUSSIAN,
    "cp1253": "Αθήνα ευχαριστώ Ελλάδα λόγος Θεσσαλονίκη φιλοσοφία Καλημέρα Πλάτων ψυχή Κύπρος Όμηρος αγάπη μέτρον",
    "cp1255": "שלום ירושלים תודה ישראל תורה עברית הארץ משה חומוס שבת אמת כשר ספר חנוכה ירדן",
    "cp1256": "القاهرة السلام شكرا العربية محمد الجزيرة القرآن مصر بيروت دمشق كتاب تهران مرحبا بغداد سوق",
    "cp874": "กรุงเทพ สวัสดี ขอบคุณ ประเทศไทย ต้มยำกุ้ง เชียงใหม่ ภาษาไทย ผัดไทย ภูเก็ต มวยไทย วัดพระแก้ว ทักษิณ อยุธยา ตลาด ข้าวเหนียว",
    # Not another script: what surrounds these words is as good a witness as they are.
    "cp1252": "café naïve München façade Niño Zürich Malmö Ångström jalapeño Beyoncé Crème brûlée Göteborg résumé été",
}
# Of a single short word nobody can be sure: two Chinese characters may be two of any Eastern charset.
LEAST = {"gbk": 0.7, "shift_jis": 0.7, "big5": 0.75, "cp874": 0.8, "cp1256": 0.85, "cp1252": 1.0}
PAGES = 40


def in_charset(text: str, codec: str) -> bytes:
    """As its authors write it: windows-1258 has most Vietnamese letters only as a letter and a tone."""
    if codec != "cp1258":
        return text.encode(codec)
    parts = unicodedata.normalize("NFD", text)
    for mark in "\u0302\u0306\u031b":
        parts = "".join(
            unicodedata.normalize("NFC", pair) if len(pair) == 2 and pair[1] == mark else pair
            for pair in _pairs_with(parts, mark)
        )
    return parts.encode(codec)


def _pairs_with(text: str, mark: str) -> list[str]:
    """The characters, those before a mark (a tone may stand between) together with it."""
    pairs: list[str] = []
    for char in text:
        if char == mark and pairs:
            tone = pairs.pop() if unicodedata.combining(pairs[-1]) else ""
            pairs[-1] += mark
            pairs += [tone] if tone else []
        else:
            pairs.append(char)
    return pairs


def made_page(codec: str, lot: random.Random) -> bytes:
    """Ten paragraphs of English, with one to five words of another language at random places between words."""
    words = [(part.split(" ")) for part in PARTS]
    for foreign in lot.sample(WORDS[codec].split(" "), lot.randint(1, 5)):
        line = lot.choice(words)
        line.insert(lot.randrange(1, len(line)), lot.choice(["{}", "({})"]).format(foreign))
    text = "".join(f'<p class="text">{" ".join(line)}</p>\n' for line in words)
    return b"<!doctype html><title>The market</title><body>" + in_charset(text, codec)


@pytest.mark.parametrize("codec", WORDS)
def test_a_few_foreign_words_in_an_english_page_are_read(codec: str) -> None:
    lot = random.Random(codec)
    pages = [made_page(codec, lot) for _ in range(PAGES)]
    right = sum(decode(page).text == page.decode(codec) for page in pages)
    assert right >= LEAST.get(codec, 0.9) * PAGES


def test_quotes_and_signs_in_an_english_page_are_no_foreign_words() -> None:
    text = "<p>“Yes” — she said… “No”,\xa0\xa0 he said: 20° «or so», £5 ©\xa02024 ® ‘all’ rights™</p>" + ENGLISH
    assert decode(text.encode("cp1252")).text == text


@pytest.mark.parametrize(
    "sentence", ["Può darsi che ciò sia più facile", "“À la carte”, c’était l’été", "tuò fratello"]
)
def test_accents_in_an_english_page_are_no_tones_and_no_foreign_words(sentence: str) -> None:
    text = f"<p>{sentence}</p>{ENGLISH}"
    assert decode(text.encode("cp1252")).text == text
