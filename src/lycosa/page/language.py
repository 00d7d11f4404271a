"""The language a text is written in: by a model where there is one for this machine, else by tables. Knows no page.

The model is CLD2's, which comes with pycld2. The tables go by script: most have one language, or one by far. Where
several share a script, the commonest words tell them apart: 170 words looked up in one table cost a tenth of what
comparing trigrams with every language does. Only where words leave it open (short or mixed texts, languages without a
list here) are trigrams asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise

from turbohtml.detect import detect_language

try:
    import pycld2
except ImportError:  # no wheel for this machine or this Python
    pycld2 = None

# What the model is given of a text: it takes time in proportion.
_MODEL_CHARS = 800
# So much from the middle of that settles it where it is in the declared language alone: a third of the time. So it was
# for 3,247 of 3,430 texts of labelled pages that declare one, and all 800 characters would have said the same of each.
_AGREED_CHARS = 200
_AGREED_PERCENT = 90
# Fewer letters than this let it guess.
_MODEL_LETTERS = 20
_NOT_FOUND = (("Unknown", "un", 0, 0.0),) * 3
# Control characters and what is no character at all: the model refuses all of a text for one of them.
_REFUSED = dict.fromkeys([*range(9), 11, *range(14, 32), *range(127, 160), *range(0xFDD0, 0xFDF0), 0xFFFE, 0xFFFF], " ")
# What is read of a text: this many characters from its middle, where less of it is navigation.
_MAX_CHARS = 800
_SCRIPT_SAMPLE = 48
# Common words that must be found, and by how much their language must lead the next, for trigrams not to be asked.
_MIN_WORDS = 4
_MIN_LEAD = 1.5
# A trigram verdict below this is a guess; with fewer letters every verdict is.
_MIN_CONFIDENCE = 0.5
_MIN_LETTERS = 25
_TRIGRAM_CHARS = 300

_COMMON_WORDS = {
    "Latin": {
        "en": "the of and to in is that for it with as was on be by this are from at have or an not but which you",
        "de": "der die und das ist nicht ein eine mit den von zu auf für sich dem des auch als wird sind bei aus ich",
        "fr": "le la les des et est une que dans qui pour pas sur plus par avec du au ce il sont cette mais vous nous",
        "es": "el la los las de que en y un una por con para del se es más como su lo pero al está también sus",
        "it": "il di che è la per un una sono con non del della dei le si da nel alla anche più gli come questo ha",
        "pt": "o a de que e do da em um uma para com não os as no na por mais dos como foi são também ao pelo você",
        "nl": "de het een en van is dat op te voor met zijn niet aan er om ook als bij maar door naar deze wordt",
        "sv": "och att det som en på är av för med den till inte har ett om jag var men så från kan vi när",
        "da": "og at det som en på er af for med den til ikke har et om jeg var men så fra kan vi også blev efter",
        "no": "og at det som en på er av for med den til ikke har et om jeg var men så fra kan vi også ble etter",
        "fi": "ja on ei että se oli hän mutta kun myös ovat joka tai sen kuin niin jos mukaan sekä vain olla ole",
        "pl": "i w na z się nie do to jest że o jak po od za co przez dla są oraz ale przy czy było być tym",
        "cs": "a se v na je že to s z do o ale jako za pro jsou by které nebo podle od při jeho tak byl není",
        "sk": "a sa v na je že to s z do o ale ako za pre sú by ktoré alebo podľa od pri jeho tak bol nie",
        "hu": "a az és hogy nem is egy van volt meg ez de csak már mint még ha vagy sem kell lehet után azt",
        "ro": "și de la în a cu pe nu care o din pentru este un să că mai sunt fost au prin dar această după ce",
        "tr": "ve bir bu da de için ile olarak çok daha olan gibi var en sonra kadar ne ama değil her o ya",
        "vi": "của và là có trong cho không được một các với người những này đã để khi từ đến ra về như",
        "id": "yang dan di dengan untuk dari ini pada adalah dalam tidak itu akan oleh juga ke atau telah bisa ada",
        "ms": "yang dan di dengan untuk dari ini pada ialah dalam tidak itu akan oleh juga ke atau telah boleh ada",
        "ca": "el la els les de que i en un una per amb és del no es al més com són ha seva aquest però també",
        "hr": "i je u se na da za su od s koji kao a ne što ili sam iz to bi ali nije po biti samo koje",
        "sl": "in je v na se da za so ki z pa po kot tudi ne bi ali od iz bil do še lahko več sta pri",
        "lt": "ir kad su yra į iš ne tai kaip bet tik buvo jo už po apie nuo ar dar jau gali taip savo",
        "lv": "un ir ar no uz par ka tas kas bet arī vai nav tā pie kā lai bija to pēc kur gan jau šo",
        "et": "ja on ei et see oli ka kui mis ning aga oma ma siis kes nii või ta selle veel üle pärast mida",
    },
    "Cyrillic": {
        "ru": "и в не на что с по это как он из для от за но к его у так же был а бы все она мы они только или",
        "uk": "і в не на що з до та як за це він від для у й але про є його так вони ми ще або який було через",
        "bg": "на и да в за не се от с е че са по като но това към той има му или ще си беше които при след до",
        "sr": "и је у се на да за су од који као а не што или из то би али није само после може ће био са по",
        "be": "і ў не на што з да як за гэта ён ад для але пра яго так яны мы яшчэ або які было праз у ж",
        "mk": "на и да во за не се од со е дека ќе што како но ова тој има или кои при по го ги беше сите",
    },
    "Arabic": {
        "ar": "في من على أن إلى التي عن هذا لا ما هذه الذي مع كان أو قد بعد كل إن بين كما هو هي ذلك و",
        "fa": "و در به از که این را با است برای آن یک خود تا بر هم نیز شد می شده کرد ها ای بود کند",
        "ur": "کے میں کی ہے اور سے کا کو اس نے پر کہ ہیں یہ ایک نہیں بھی کر تھا ہو گیا جو تو وہ",
    },
    "Devanagari": {
        "hi": "के में की है और से का को इस ने पर कि हैं यह एक नहीं भी कर था हो गया जो तो वह लिए",
        "mr": "आणि आहे या व तो ते हे ही एक मध्ये होते केला नाही असे आहेत त्या होता पण की मी तर यांनी",
        "ne": "र छ को मा यो एक हो गर्न पनि भएको छन् गरेको तथा लागि थियो भने यस उनले हुन् गर्ने",
    },
}
# Letters that few of the languages of a script have; each time one stands there, it counts like a word.
_TELLING_LETTERS = {
    "Cyrillic": {"ru": "ыэё", "uk": "іїєґ", "be": "іў", "bg": "ъ", "sr": "јљњћђ", "mk": "јљњѓќ"},
    "Arabic": {"fa": "پچژگک", "ur": "ٹڈڑےںہ"},
}
_WRITTEN_IN = {
    "Greek": "el", "Hebrew": "he", "Thai": "th", "Hangul": "ko", "Kana": "ja", "Han": "zh", "Georgian": "ka",
    "Armenian": "hy", "Bengali": "bn", "Gurmukhi": "pa", "Gujarati": "gu", "Oriya": "or", "Tamil": "ta", "Telugu": "te",
    "Kannada": "kn", "Malayalam": "ml", "Sinhala": "si", "Lao": "lo", "Tibetan": "bo", "Myanmar": "my",
    "Ethiopic": "am", "Khmer": "km",
}  # fmt: skip
# Where a script begins; what lies in none of them is "".
_RANGES = (
    (0x0000, ""), (0x0041, "Latin"), (0x005B, ""), (0x0061, "Latin"), (0x007B, ""), (0x00C0, "Latin"), (0x02B0, ""),
    (0x0370, "Greek"), (0x0400, "Cyrillic"), (0x0530, "Armenian"), (0x0590, "Hebrew"), (0x0600, "Arabic"),
    (0x0700, ""), (0x0750, "Arabic"), (0x0780, ""), (0x0900, "Devanagari"), (0x0980, "Bengali"), (0x0A00, "Gurmukhi"),
    (0x0A80, "Gujarati"), (0x0B00, "Oriya"), (0x0B80, "Tamil"), (0x0C00, "Telugu"), (0x0C80, "Kannada"),
    (0x0D00, "Malayalam"), (0x0D80, "Sinhala"), (0x0E00, "Thai"), (0x0E80, "Lao"), (0x0F00, "Tibetan"),
    (0x1000, "Myanmar"), (0x10A0, "Georgian"), (0x1100, "Hangul"), (0x1200, "Ethiopic"), (0x13A0, ""),
    (0x1780, "Khmer"), (0x1800, ""), (0x1E00, "Latin"), (0x1F00, "Greek"), (0x2000, ""), (0x3040, "Kana"),
    (0x3100, ""), (0x3130, "Hangul"), (0x3190, ""), (0x3400, "Han"), (0xA000, ""), (0xAC00, "Hangul"), (0xD7B0, ""),
    (0xF900, "Han"), (0xFB00, ""), (0xFB50, "Arabic"), (0xFE00, ""), (0xFE70, "Arabic"), (0xFF00, ""),
    (0xFF66, "Kana"), (0xFFA0, ""),
)  # fmt: skip
# The script of each character of the first plane; beyond it are emoji and rare ideographs.
_SCRIPT_AT = [script for (start, script), (end, _) in pairwise((*_RANGES, (0x10000, ""))) for _ in range(end - start)]

# What else the trigrams know, by ISO 639-3; those left out have no two-letter code.
_TWO_LETTERS = {
    "afr": "af", "aka": "ak", "amh": "am", "ara": "ar", "aze": "az", "bel": "be", "ben": "bn", "bul": "bg", "cat": "ca",
    "ces": "cs", "cmn": "zh", "cym": "cy", "dan": "da", "deu": "de", "ell": "el", "eng": "en", "epo": "eo", "est": "et",
    "eus": "eu", "fin": "fi", "fra": "fr", "gle": "ga", "glg": "gl", "guj": "gu", "hau": "ha", "heb": "he", "hin": "hi",
    "hrv": "hr", "hun": "hu", "hye": "hy", "ibo": "ig", "ind": "id", "isl": "is", "ita": "it", "jav": "jv", "jpn": "ja",
    "kan": "kn", "kat": "ka", "kaz": "kk", "khm": "km", "kin": "rw", "kor": "ko", "kur": "ku", "lat": "la", "lav": "lv",
    "lit": "lt", "mal": "ml", "mar": "mr", "mkd": "mk", "mlg": "mg", "mya": "my", "nep": "ne", "nld": "nl", "nob": "no",
    "nno": "no", "nor": "no", "nya": "ny", "ori": "or", "orm": "om", "pan": "pa", "pes": "fa", "fas": "fa", "pol": "pl",
    "por": "pt", "ron": "ro", "run": "rn", "rus": "ru", "sin": "si", "slk": "sk", "slv": "sl", "sna": "sn", "som": "so",
    "spa": "es", "sqi": "sq", "srp": "sr", "sun": "su", "swe": "sv", "tam": "ta", "tel": "te", "tgl": "tl", "tha": "th",
    "tuk": "tk", "tur": "tr", "uig": "ug", "ukr": "uk", "urd": "ur", "uzb": "uz", "vie": "vi", "yid": "yi", "yor": "yo",
    "zul": "zu", "zho": "zh", "msa": "ms", "zlm": "ms", "tat": "tt", "kir": "ky", "mon": "mn", "tgk": "tg", "bos": "bs",
}  # fmt: skip
_SAME = {
    "nb": "no", "nn": "no", "iw": "he", "in": "id", "ji": "yi", "bs": "hr", "sh": "sr", "cmn": "zh", "yue": "zh",
    "jw": "jv", "fil": "tl", "mo": "ro",
}  # fmt: skip
# Languages so alike that a page knows better than a model which of them it is in.
_CLOSE = {each: group - {each} for group in ({"no", "da"}, {"id", "ms"}, {"hr", "sr"}, {"cs", "sk"}) for each in group}


def language_of(text: str, declared: str = "") -> str:
    """The language of a text by ISO 639-1 (639-3 where that has none), or "" when nothing tells.

    What the page declares decides only where the text leaves it open.
    """
    claim = primary_language(declared)
    if pycld2 is not None and (found := _by_model(text, claim)):
        return found
    sample = _sample(text)
    script = _script_of(sample)
    if script in _COMMON_WORDS:
        return _by_words(sample, script, claim)
    return _WRITTEN_IN.get(script, "") or claim


def common_words(language: str) -> frozenset[str]:
    """The commonest words of a language, which say nothing of what a text is about; none where there is no list."""
    return next((lists[language] for lists in _WORDS.values() if language in lists), frozenset())


def primary_language(tag: str) -> str:
    """The language of a tag such as `zh-Hant-TW` or `EN_us`; "" if it is none."""
    primary = tag.strip().replace("_", "-").partition("-")[0].lower()
    if not (primary.isascii() and primary.isalpha() and 2 <= len(primary) <= 3) or primary in ("und", "mul", "zxx"):
        return ""
    primary = _TWO_LETTERS.get(primary, primary)
    return _SAME.get(primary, primary)


def _by_model(text: str, claim: str) -> str:
    """The language that the model is sure of, or that is declared and the model takes for possible; else ""."""
    sample = _sample(text, _MODEL_CHARS)
    if claim and len(sample) > 2 * _AGREED_CHARS and _is_agreed(sample, claim):
        return claim
    if sum(map(str.isalpha, sample[: 4 * _MODEL_LETTERS])) < _MODEL_LETTERS and not _is_ideographic(sample):
        return ""
    is_sure, found = _modelled(sample)
    codes = ["" if code == "un" or code.startswith("xx") else primary_language(code) for _, code, _, _ in found]
    if claim in _CLOSE.get(codes[0], ()) and claim in codes[1:]:
        return claim
    return codes[0] if is_sure else ""


def _is_agreed(sample: str, claim: str) -> bool:
    """Whether the middle of a text is in the declared language, and in no other beside it."""
    start = (len(sample) - _AGREED_CHARS) // 2
    is_sure, ((_, code, percent, _), *_) = _modelled(sample[start : start + _AGREED_CHARS])
    return is_sure and percent >= _AGREED_PERCENT and primary_language(code) == claim


def _modelled(sample: str) -> tuple[bool, Sequence[tuple[str, str, int, float]]]:
    """Whether the model is sure, and the three languages it found most of: name, code, percent, score."""
    try:
        is_sure, _, found = pycld2.detect(_accepted(sample).encode("utf-8", "replace"), isPlainText=True)
    except pycld2.error:
        return False, _NOT_FOUND
    return is_sure, found


def _accepted(sample: str) -> str:
    """The text without what the model refuses. Few texts have any of it, and none that can be printed has."""
    return sample if sample.replace("\n", " ").isprintable() else sample.translate(_REFUSED)


def _is_ideographic(sample: str) -> bool:
    """Whether few characters say much."""
    return any(letter > "\u2e7f" for letter in sample)


def _sample(text: str, max_chars: int = _MAX_CHARS) -> str:
    start = max(0, (len(text) - max_chars) // 3)
    sample = text[start : start + max_chars]
    if len(sample.strip()) * 2 >= len(sample):
        return sample
    # Some pages are laid out with spaces by the thousand.
    return " ".join(text[: 20 * max_chars].split())[:max_chars]


def _script_of(sample: str) -> str:
    """The script of most letters in a text."""
    if sample.isascii():
        return "Latin" if any(map(str.isalpha, sample)) else ""
    counts: Counter[str] = Counter(_SCRIPT_AT[ord(letter)] for letter in _spread(sample) if letter <= "\uffff")
    del counts[""]
    # A Japanese text has more ideographs than it has kana; a Chinese one has no kana to speak of.
    if counts["Kana"] * 5 > counts["Han"] > 0:
        counts["Kana"] += counts.pop("Han")
    # An ideograph is worth two letters of an alphabet, and Latin words stand in every language's texts.
    counts["Han"] *= 2
    script, count = max(counts.items(), key=lambda entry: entry[1], default=("", 0))
    if script == "Latin" and len(counts) > 1:
        other, second = max(((name, n) for name, n in counts.items() if name != "Latin"), key=lambda entry: entry[1])
        if second * 2 > count:
            return other
    return script if count else ""


def _spread(sample: str) -> str:
    """Letters from all over the sample."""
    return sample[:: max(1, len(sample) // _SCRIPT_SAMPLE)]


def _by_words(sample: str, script: str, claim: str) -> str:
    table = _TABLES[script]
    words = sample.lower().split()
    # Most pages are in the language they declare. Where no other can lead it enough, nothing else need be counted.
    claimed = sum(map(_WORDS[script].get(claim, frozenset()).__contains__, words))
    is_enough = claimed >= _MIN_WORDS and claimed * _MIN_LEAD >= sum(map(table.__contains__, words))
    if is_enough and script not in _TELLING_LETTERS:
        return claim
    votes = Counter(chain.from_iterable(table[word] for word in words if word in table))
    for language, letters in _TELLING_LETTERS.get(script, {}).items():
        votes[language] += sum(map(sample.count, letters))
    (best, most), (_, second) = (*votes.most_common(2), ("", 0), ("", 0))[:2]
    if claim and votes[claim] * _MIN_LEAD >= most and votes[claim] >= _MIN_WORDS:
        return claim
    if most >= _MIN_WORDS and most >= second * _MIN_LEAD:
        return best
    found = _by_trigrams(sample)
    # Of a language whose commonest words are known, some stand in every text that is more than a list of names.
    is_likely = found not in _COMMON_WORDS[script] or votes[found] * 50 > len(words)
    return found if found and (is_likely or found == claim) else claim


def _by_trigrams(sample: str) -> str:
    if sum(map(str.isalpha, sample[:_TRIGRAM_CHARS])) < _MIN_LETTERS:
        return ""
    match = detect_language(sample[:_TRIGRAM_CHARS])
    if match.language is None or match.confidence < _MIN_CONFIDENCE:
        return ""
    return _SAME.get(found := _TWO_LETTERS.get(match.language, match.language), found)


def _table(languages: dict[str, str]) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for language, words in languages.items():
        for word in words.split():
            table.setdefault(word, []).append(language)
    return table


_TABLES = {script: _table(languages) for script, languages in _COMMON_WORDS.items()}
_WORDS = {
    script: {language: frozenset(words.split()) for language, words in languages.items()}
    for script, languages in _COMMON_WORDS.items()
}
