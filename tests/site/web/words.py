"""Texts for made-up sites: the same key gives the same words, another key gives others.

A few hundred English words carry the grammar, thousands of made-up ones the meaning, drawn by Zipf's law as in real
texts. Knows no pages.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

COMMON = """
the of and to in a is that for it as was with be by on not he his but at are this have from or had an they
which one you were all her she there would their we him been has when who will no more if out so up said what its about
than into them can only other time new some could these two may first then do any like my now over such our man me even
most made after also did many off before must well back through years where much your way down should because long each
just state those people too mister how little good world make very year still see work such against life never day under
last might great while same another come since old right take three himself few house use during without again place
around however small found thought went say part once general high upon school every does got united left number course
war until always away something fact though water less public put think almost hand enough far took head yet government
system better set told nothing night end why called eyes find going look asked later knew point next program city
business give group toward young days let room within children side social given order often president early case
national things need form church big best possible house power light members interest name second development company
country open door certain words later sense today level several family feet least value voice felt process area study
rather problem whole result change along become body across field local history large community report idea kind matter
service morning street book market paper river station office letter garden road window summer winter council decision
measure support plan price growth board answer question figure record student teacher doctor player season village
bridge engine island journey kitchen language library machine mountain museum music nature north south east west ocean
picture planet pocket railway science shadow silver stone story table theatre thunder tower travel valley weather
"""

LATIN = "ba be bi bo bra ca ce cho co cra da de di do dra fa fe fi flo ga ge gra ka le li lo ma me mi mo na ne ni no pa pe pi plo ra re ri ro sa se si sto ta te ti tra va ve vi vo za"  # noqa: E501
NORDIC = "ald ard bjor dal eik eld fjo gard grim haug hild hov ing jor knut kval lund myr nes nord odd rik ros sig skar snor sol stad stein sund svar tor ulv vang vid yng"  # noqa: E501
SLAVIC = "bor chka dno dol dra glo gor grad iva jez kov kra les lju mir mno nik nov oda ostr pol pra rze ska slav sto svet tov tra vla voda vyn zem zlat zor"  # noqa: E501
ROMANCE = "aille beau ceau chant dou eille eur fleur gnon ille jou lier loin mage mont neau oir orage pont quel rive roux sage soir tion tour vaux vert vieu voix"  # noqa: E501
ISLAND = "aka ehu fale hau hele hua ika kai kele koa lani lei loa lua mana mele moana nui ola ono paka pele poha puna tahi tala tere ua ula wai waka"  # noqa: E501

HAN = (
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经十三之进着等"
    "部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日那社义事平形相全表间样与关各重新线内"
    "数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系军很情者最立代想已通并提直题党程展五果料象员革位入常文总次品式活设及管"
    "特件长求老头基资边流路级少图山统接知较将组见计别她手角期根论运农指几九区强放决西被干做必战先回则任取据处队南给色光门即保治北造百规热领七海"
)

TONGUES = ("english", "latin", "nordic", "slavic", "romance", "island", "han")
_SYLLABLES = {"latin": LATIN, "nordic": NORDIC, "slavic": SLAVIC, "romance": ROMANCE, "island": ISLAND}
_MADE_UP = 4_000


def drawing(*key: object) -> random.Random:
    """Chance that is the same for the same key, in every process."""
    return random.Random("|".join(map(str, key)))


def words(count: int, *key: object, tongue: str = "english") -> list[str]:
    """As many words as asked for."""
    vocabulary, weights = _vocabulary(tongue)
    return drawing("words", *key).choices(vocabulary, cum_weights=weights, k=count)


def text(count: int, *key: object, tongue: str = "english") -> str:
    """As many words as asked for, as sentences."""
    chance = drawing("text", *key)
    vocabulary, weights = _vocabulary(tongue)
    drawn = chance.choices(vocabulary, cum_weights=weights, k=count)
    sentences = []
    while drawn:
        length = chance.randint(7, 16)
        sentences.append(_sentence(drawn[:length], tongue))
        drawn = drawn[length:]
    return ("" if tongue == "han" else " ").join(sentences)


def paragraphs(count: int, *key: object, tongue: str = "english") -> str:
    """As many words as asked for, in paragraphs of some fifty."""
    sizes = [50] * (count // 50) + ([count % 50] if count % 50 else [])
    return "".join(f"<p>{text(size, *key, number, tongue=tongue)}</p>\n" for number, size in enumerate(sizes))


def title(count: int, *key: object, tongue: str = "english") -> str:
    """A heading of some rare words, which no other key is likely to have."""
    chosen = rare(count, *key, tongue=tongue)
    return "".join(chosen) if tongue == "han" else " ".join(chosen).capitalize()


def slug(count: int, *key: object) -> str:
    """Words as in a URL."""
    return "-".join(rare(count, *key))


def rare(count: int, *key: object, tongue: str = "english") -> list[str]:
    """Words of the made-up part, all equally likely."""
    vocabulary, _ = _vocabulary(tongue)
    first = len(_english()) if tongue == "english" else 0
    chance = drawing("rare", *key)
    return [vocabulary[chance.randrange(first, len(vocabulary))] for _ in range(count)]


def fresh(number: int, *key: object) -> list[str]:
    """Names that nothing else has."""
    return [f"{word}-{drawing(*key, place).randrange(10**6)}" for place, word in enumerate(rare(number, "fresh", *key))]


def hash_of(*key: object) -> int:
    """A number below a thousand that is the same for the same key."""
    return drawing("hash", *key).randrange(1000)


def proper(*key: object) -> str:
    """A name of a person."""
    return " ".join(word.capitalize() for word in rare(2, "name", *key))


@lru_cache
def _english() -> list[str]:
    return list(dict.fromkeys(COMMON.split()))


@lru_cache
def _vocabulary(tongue: str) -> tuple[list[str], Sequence[float]]:
    """The words of a tongue, the frequent ones first, and their weights summed up."""
    if tongue == "english":
        known = [*_english(), *_made_up(LATIN, "english")]
    elif tongue == "han":
        chance, signs = random.Random("han"), sorted(set(HAN))
        known = [*HAN[:60], *("".join(chance.sample(signs, 2)) for _ in range(_MADE_UP))]
    else:
        known = _made_up(_SYLLABLES[tongue], tongue)
    known = list(dict.fromkeys(known))
    # Zipf, a little flatter at the top as texts of the web are.
    return known, list(accumulate(1 / (rank + 8) for rank in range(len(known))))


def _made_up(syllables: str, tongue: str) -> list[str]:
    chance, parts = random.Random(tongue), syllables.split()
    made = ("".join(chance.choices(parts, k=chance.randint(2, 4))) for _ in range(2 * _MADE_UP))
    taken = set(_english())
    return [word for word in dict.fromkeys(made) if word not in taken and re.fullmatch("[a-z]{4,14}", word)][:_MADE_UP]


def _sentence(drawn: list[str], tongue: str) -> str:
    if tongue == "han":
        half = len(drawn) // 2
        return "".join(drawn[:half]) + "，" + "".join(drawn[half:]) + "。"
    return " ".join(drawn).capitalize() + "."
