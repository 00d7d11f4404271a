"""Main content: what is kept of small pages, what is said of it, and that no text whatever does harm."""

from __future__ import annotations

import json
import resource
import struct
from importlib.resources import files
from itertools import islice
from math import exp
from random import Random
from statistics import fmean
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.bench.quality.content import digest_of_model, validated
from lycosa.page._native import WEIGHTS, Model, describe, feature_names, lay_out
from lycosa.page.content import explain, extract
from lycosa.page.content.dates import date_of_url, iso_date
from lycosa.site_rules import SiteRules, SiteTable

from .. import suites

MIB = 1024 * 1024

NAVIGATION = "".join(
    f'<li class="menu-item"><a href="/{word}">{word}</a></li>'
    for word in ["Home", "News", "Sport", "Culture", "Travel", "Shop"]
)
FOOTER = '<footer class="footer"><a href="/i">Imprint</a> <a href="/p">Privacy</a> © 2020 All rights reserved</footer>'
PARAGRAPHS = [
    "The river rose by two metres overnight, and by morning the lower town, dry since May, was under water.",
    "Nobody was hurt, said the mayor, but forty families spent the night in the school. They will stay until Friday.",
    "Engineers had warned in 2011 that the old dam, built before the war, would not hold; the council chose to wait.",
]
ARTICLE = f"""<!doctype html><html lang="en-GB"><head><title>River floods lower town | The Gazette</title>
<meta property="og:title" content="River floods lower town"><meta name="author" content="Ada Smith">
<meta property="article:published_time" content="2020-03-01T06:30:00Z"></head>
<body><nav class="nav"><ul>{NAVIGATION}</ul></nav>
<main><article class="article"><h1>River floods lower town</h1>
<div class="article-body">{"".join(f"<p>{text}</p>" for text in PARAGRAPHS)}</div></article></main>
<aside class="sidebar related"><h3>Most read</h3><ul>{NAVIGATION}</ul></aside>{FOOTER}</body></html>"""


# What is kept


def test_an_article_is_kept_and_what_surrounds_it_is_not() -> None:
    text = extract(ARTICLE).text
    for paragraph in PARAGRAPHS:
        assert paragraph in text.split("\n")
    for word in ("Travel", "Most read", "Imprint", "All rights reserved"):
        assert word not in text


def test_a_page_says_who_wrote_it_when_and_under_which_title() -> None:
    content = extract(ARTICLE)
    assert content.title == "River floods lower town"
    assert content.author == "Ada Smith"
    assert content.published == "2020-03-01T06:30:00Z"
    assert content.language == "en-GB"


def test_json_ld_names_title_author_and_date() -> None:
    data = {
        "@type": "NewsArticle",
        "headline": 'A "quoted" title',
        "author": [{"@type": "Person", "name": "Zoë \U0001f600 Müller"}],
        "publisher": {"name": "The Gazette"},
        "datePublished": "2021-05-06",
    }
    html = f'<title>x</title><script type="application/ld+json">{json.dumps(data)}</script><p>{PARAGRAPHS[0]}'
    content = extract(html)
    assert content.title == 'A "quoted" title'
    assert content.author == "Zoë \U0001f600 Müller"
    assert content.published == "2021-05-06"


def test_an_article_that_only_json_ld_has_is_taken_from_there() -> None:
    body = " ".join(PARAGRAPHS * 3)
    data = json.dumps({"@type": "Article", "articleBody": body})
    html = f'<script type="application/ld+json">{data}</script><div id=root></div><p>Loading'
    assert extract(html).text == body


def test_a_post_that_only_json_ld_has_is_taken_from_there() -> None:
    body = "\n".join(PARAGRAPHS * 3)
    answer = {"@type": "Comment", "text": "An answer"}
    data = json.dumps({"@type": "DiscussionForumPosting", "text": body, "comment": [answer]})
    assert extract(f'<script type="application/ld+json">{data}</script><p>Loading').text == body


def test_a_forum_keeps_the_posts_of_all() -> None:
    posts = "".join(
        f'<div class="post" id="p{n}"><div class="postprofile"><a href="/u/{n}">user{n}</a> Joined: 2009</div>'
        f'<div class="content">{text}</div></div>'
        for n, text in enumerate(PARAGRAPHS)
    )
    html = f"<title>Flood - Forum</title><ul class=nav>{NAVIGATION}</ul><h2>Flood</h2>{posts}{FOOTER}"
    text = extract(html).text
    assert all(paragraph in text for paragraph in PARAGRAPHS)
    assert "Travel" not in text


PTT = """<html><head><title>[問卦] 下雨天大家都吃什麼 - 看板 Gossiping - 批踢踢實業坊</title></head><body>
<div id="topbar-container"><div id="topbar" class="bbs-content"><a href="/bbs/">批踢踢實業坊</a>
<a class="board" href="/bbs/Gossiping/index.html"><span>看板 </span>Gossiping</a></div></div>
<div id="main-container"><div id="main-content" class="bbs-screen bbs-content">\
<div class="article-metaline"><span class="article-meta-tag">作者</span><span class="article-meta-value">\
abc (小明)</span></div><div class="article-metaline"><span class="article-meta-tag">標題</span>\
<span class="article-meta-value">[問卦] 下雨天大家都吃什麼</span></div><div class="article-metaline">\
<span class="article-meta-tag">時間</span><span class="article-meta-value">Mon Nov 18 12:00:01 2019</span></div>
外面下大雨，不想出門，冰箱裡只剩下雞蛋跟泡麵。
大家下雨天的時候都吃什麼呢？有沒有推薦的外送或是簡單的料理可以自己做？
我昨天煮了一鍋咖哩，今天想換個口味。

--
<span class="f2">※ 發信站: 批踢踢實業坊(ptt.cc), 來自: 1.2.3.4 (臺灣)
</span><div class="push"><span class="hl push-tag">推 </span><span class="push-userid">def</span>\
<span class="push-content">: 火鍋啊，下雨天就是要吃火鍋</span></div></div></div></body></html>"""


def test_a_bbs_post_keeps_its_lines() -> None:
    lines = extract(PTT, "https://www.ptt.cc/bbs/Gossiping/M.1.A.1.html").text.split("\n")
    assert "外面下大雨，不想出門，冰箱裡只剩下雞蛋跟泡麵。" in lines
    assert "我昨天煮了一鍋咖哩，今天想換個口味。" in lines


def test_a_bbs_post_says_who_wrote_it_and_when() -> None:
    content = extract(PTT)
    assert content.author == "abc (小明)"
    assert content.published == "2019-11-18T12:00:01"


def test_comments_below_an_article_are_kept_apart() -> None:
    comment = "<p>What a sad story this is, thanks!</p>"
    comments = f'<section class="comments"><h3>Comments</h3><div class="comment">{comment}</div></section>'
    content = extract(ARTICLE.replace("</main>", f"</main>{comments}"))
    kept = content.text + "\n" + content.comments
    assert PARAGRAPHS[1] in content.text
    assert "What a sad story this is, thanks!" in kept


def test_the_comments_below_an_article_are_none_of_them_content() -> None:
    voices = [
        "I grew up in the lower town, and I have never seen the water so high; my mother remembers one such night.",
        "Nice picture!",
        "The council knew it in 2011, as the article says, and chose to build a car park instead of mending the dam.",
        "First",
        "Whoever wants to help: the school needs blankets, and the fire brigade is looking for boats, says the radio.",
    ]
    items = "".join(f'<li class="comment"><p class="text">{voices[n % 5]} ({n})</p></li>' for n in range(40))
    page = ARTICLE.replace("<head>", '<head><meta property="og:type" content="article">')
    content = extract(page.replace("</article>", f'</article><section id="comments"><ol>{items}</ol></section>'))
    for paragraph in PARAGRAPHS:
        assert paragraph in content.text
    kept = [n for n in range(40) if f"({n})" in content.text]
    assert kept == []
    assert content.comments.count("my mother remembers") == 8


def test_what_never_ends_does_not_take_the_rest_of_the_page_with_it() -> None:
    for tag in ("object", "video", "audio", "canvas"):
        unclosed = ARTICLE.replace('<div class="article-body">', f'<{tag} data="x"><div class="article-body">')
        for paragraph in PARAGRAPHS:
            assert paragraph in extract(unclosed).text.split("\n"), tag
    closed = ARTICLE.replace('<div class="article-body">', '<div class="article-body"><object>No plugin</object>')
    assert "No plugin" not in extract(closed).page_text


def test_a_rule_between_blocks_is_no_heading() -> None:
    _, blocks = explain("<h2>One</h2><p>Two<hr>Three")
    assert [(block.text, block.tag) for block in blocks] == [("One", "h2"), ("Two", "p"), ("Three", "p")]


def test_a_page_without_text_has_no_content() -> None:
    assert extract("").text == ""
    assert extract("<html><body><script>var a = '<p>no</p>';</script></body></html>").text == ""


# How text is read


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one<p>two", "one\ntwo"),
        ("<ul><li>one<li>two</ul>three", "one\ntwo\nthree"),
        ("<table><tr><td>a<td>b<tr><td>c</table>", "a\nb\nc"),
        ("a <b>bold</b>er\n  word", "a bolder word"),
        ("one<br>two<br><br>three", "one\ntwo\nthree"),
        ("<pre>a\n  b</pre>", "a\nb"),
        ("&lt;b&gt; &amp;amp; &eacute;&#233;&#x4e2d;&#150; &nosuch; &NotEqualTilde;", "<b> &amp; éé中– &nosuch; ≂̸"),
        ("a<script>b</script>c<style>d</style>e<!-- f -->g<template>h</template>i", "aceg\ni"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("<a title='>'>x</a>", "x"),
        ("<script src=x />kept", "kept"),
        ("<textarea/>kept", "kept"),
        ("<textarea>kept", "kept"),
        ("<select><option>no</select>yes", "yes"),
        ("a\0b", "ab"),
        ("a\ud800b", "a\ufffdb"),
        ("<p>x<div", "x"),
        ("<DIV>A</DIV><dIv>B", "A\nB"),
        # Names are told apart by all their letters.
        ("a<b2>c", "ac"),
        ("a<p2>c<x-y>d", "ac\nd"),
        # As the standard's tokenizer reads them.
        ("&notit; &ampx &hellip &copy=", "¬it; &x &hellip ©="),
        ("<title>a</titles>b</title>c", "c"),
        ("<script><!--<script></script>no</script>yes", "yes"),
        ("a<!-- no --!>b</ no>c</>d<p=no>e", "abcde"),
        ("<p>a<textarea>b<p>c<textarea>d", "ab\ncd"),
        ("<title/>a<plaintext>b<p>c</plaintext>", "a\nb\nc"),
    ],
)
def test_text_is_read_as_a_browser_would(html: str, text: str) -> None:
    assert lay_out(html) == text


# Rules


def contents(selectors: dict[str, str]) -> SiteTable:
    return SiteTable({site: SiteRules(content=selector) for site, selector in selectors.items()})


def test_a_rule_for_a_site_overrides_the_model() -> None:
    rules = contents({"ptt.cc": ".push-content"})
    content = extract(PTT, "https://www.ptt.cc/bbs/x.html", rules)
    assert content.text == ": 火鍋啊，下雨天就是要吃火鍋"
    assert content.rule == ".push-content"


def test_a_rule_that_finds_nothing_leaves_it_to_the_model() -> None:
    rules = contents({"example.org": "#no-such-id"})
    assert extract(ARTICLE, "https://example.org/", rules) == extract(ARTICLE, "https://example.org/")


def test_elements_within_chosen_ones_are_not_repeated() -> None:
    html = "<div class=a>one<div class=a>two</div></div>"
    assert extract(html, "http://x/", contents({"x": ".a"})).text == "one\ntwo"


# Why


def test_every_block_can_be_explained() -> None:
    content, blocks = explain(ARTICLE)
    assert "\n".join(block.text for block in blocks if block.is_content) == content.text
    assert all(0 <= block.score <= 1 and 0 <= block.alone <= 1 for block in blocks)
    scores = {block.text: block.score for block in blocks}
    assert scores[PARAGRAPHS[0]] > 0.5 > scores["Travel"]


# Dates


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2019-11-18", "2019-11-18"),
        ("2019-11-18T10:20:30+08:00", "2019-11-18T10:20:30+08:00"),
        ("2019-11-18 10:20", "2019-11-18T10:20:00"),
        ("发布时间：2019年1月8日 09:05", "2019-01-08T09:05:00"),
        ("Published 3rd March 2020", "2020-03-03"),
        ("Mon Nov 18 12:00:01 2019", "2019-11-18T12:00:01"),
        ("November 8, 2019", "2019-11-08"),
        ("20191118", "2019-11-18"),
        ("2019-13-18", ""),
        ("yesterday", ""),
        ("", ""),
    ],
)
def test_dates_are_read_as_pages_write_them(text: str, date: str) -> None:
    assert iso_date(text) == date


def test_a_url_may_tell_the_date() -> None:
    assert date_of_url("https://x.org/2019/11/18/title") == "2019-11-18"
    assert date_of_url("https://x.org/2019/title") == ""


# Any text whatever

_PIECES = st.sampled_from(
    ["<", ">", "</", "/>", "<!--", "-->", "<script>", "</script>", "<p>", "</p>", "<td>", "<a href=x>", "</a>", "<li>",
     "<br>", "&", "&amp;", "&#", "&#x", "&nbsp", "\0", "\ud800", "中", "。", "😀", "<title>", "<textarea>", "<svg>",
     '"', "'", "=", "<h1>", "<![CDATA[", "<pre>", "<time datetime=", '<div class="comment author">', "<select>"]
)  # fmt: skip
_MARKUP = st.lists(_PIECES | st.text(max_size=8)).map(" ".join)


@given(st.text() | _MARKUP)
def test_any_text_has_a_content(html: str) -> None:
    content, blocks = explain(html)
    assert extract(html) == content
    assert len(describe(html)[3]) == len(blocks)
    # Whatever came in, what comes out can be stored.
    "".join((content.title, content.author, content.text, content.comments, content.page_text)).encode()


@given(st.text())
def test_any_text_has_a_date_or_none(text: str) -> None:
    assert iso_date(text) == "" or iso_date(text)[:2] in ("19", "20")


@pytest.mark.parametrize(
    "unit",
    ["<div>", "<a href=x>", "<p>x", "</p>", "<", "&", "<!--", "<textarea>", '<a b="', "<table><tr><td>x", "\0", "中",
     "\ud800", "x<br>", "<ul><li>", "<title>", "<span class=comment>x</span>"],
)  # fmt: skip
def test_hostile_pages_end_soon(unit: str) -> None:
    started = process_time()
    extract(unit * (MIB // len(unit)))
    # 5 to 15 ms each; anything but linear time would take minutes.
    assert process_time() - started < 5


def test_deep_nesting_does_not_hurt() -> None:
    assert extract("<div>" * 100_000 + "x" + "</div>" * 100_000).text in ("", "x")


def test_memory_is_given_back() -> None:
    extract(ARTICLE)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(3000):
        explain(ARTICLE)
        lay_out(ARTICLE)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * 1024  # KiB


# The model


def test_both_forests_have_as_much_of_a_say() -> None:
    first, second = (struct.pack("<IIf", 0, 6, odds) for odds in (2.0, -1.0))
    _, blocks = Model(b"lycosac1" + bytes(2 * WEIGHTS) + first + second).extract("<p>A word", True)
    assert blocks
    assert blocks[0][2] == pytest.approx(1 / (1 + exp(-2.0)))
    assert blocks[0][3] == pytest.approx(1 / (1 + exp(-0.5)))


def test_the_model_is_small() -> None:
    assert len(model_bytes()) <= 2_000_000


@given(st.integers(1, 600), st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_a_forest_gives_the_same_however_it_is_added_up(blocks: int, draw: Random) -> None:
    model = Model(model_bytes())
    columns = draw.randbytes(blocks * len(feature_names()))
    known = [sums for way in range(3) if (sums := model.sums(columns, way))]
    assert len(known[0]) == 4 * blocks
    assert len(set(known)) == 1
    assert model.sums(columns, len(known)) is None


@pytest.mark.parametrize("broken", [b"", b"lycosac1", b"x" * 100_000])
def test_what_is_no_model_is_refused(broken: bytes) -> None:
    with pytest.raises(ValueError, match="not a content model"):
        Model(broken)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), 3e38])
def test_a_model_with_leaves_that_are_no_numbers_is_refused(number: float) -> None:
    whole = files("lycosa.page.content").joinpath("content.model").read_bytes()
    bias = len(b"lycosac1") + 2 * WEIGHTS + 8
    for at in (bias, len(whole) - 4):
        with pytest.raises(ValueError, match="not a content model"):
            Model(whole[:at] + struct.pack("<f", number) + whole[at + 4 :])


def test_a_model_cut_short_is_refused() -> None:
    whole = model_bytes()
    for length in (100, len(whole) // 2, len(whole) - 1):
        with pytest.raises(ValueError, match="not a content model"):
            Model(whole[:length])


def test_every_feature_has_a_name_of_its_own() -> None:
    names = feature_names()
    assert len(set(names)) == len(names)


def model_bytes() -> bytes:
    return files("lycosa.page.content").joinpath("content.model").read_bytes()


# Real pages


@pytest.mark.parametrize(("name", "floor"), [("aeb", 0.96), ("cwced", 0.94), ("harvest_forum", 0.95)])
def test_labelled_pages_are_read_well(name: str, floor: float) -> None:
    """A floor against breakage, not a measure: the model has learnt from these pages. For that see docs/quality.md."""
    truths = {row["id"]: row["text"] for row in suites.rows(suites.find(f"extraction/{name}/truth.jsonl"))}
    scores = [f1(truths[row["id"]], extract(row["html"]).text) for row in islice(suites.pages(name), 30)]
    assert sum(scores) / len(scores) >= floor


def test_training_said_enough_of_the_shipped_model() -> None:
    """Of sites and of sets that the judging models had not seen."""
    known = validated()
    assert known.model == digest_of_model()
    assert fmean(f1 for _, _, f1 in known.sets.values()) >= 0.893
    assert fmean(f1 for _, _, f1 in known.sets_unseen.values()) >= 0.872


def f1(truth: str, found: str) -> float:
    want, got = set(shingles(truth)), set(shingles(found))
    return 2 * len(want & got) / max(1, len(want) + len(got))


def shingles(text: str) -> list[str]:
    letters = "".join(char for char in text if char.isalnum())
    return [letters[index : index + 12] for index in range(max(1, len(letters) - 11))]
