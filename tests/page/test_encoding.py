from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lycosa.page.encoding import charset_of_header, charset_of_label, decode

RUSSIAN = "Съешь ещё этих мягких французских булок, да выпей чаю. Яблоки и груши зацвели над рекой. " * 8
CHINESE = "人工智能的发展改变了我们的生活方式，许多人开始学习新的技能。" * 8
JAPANESE = "日本語の文章はひらがなとカタカナと漢字で書かれています。" * 8
KOREAN = "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 이성과 양심을 부여받았다. " * 4
CZECH = (
    "Příliš žluťoučký kůň úpěl ďábelské ódy. Všichni lidé se rodí svobodní a sobě rovní v důstojnosti a právech. " * 4
)
GREEK = "Άρθρο 1. Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. " * 4
HEBREW = "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון. " * 4
LITHUANIAN = "Visi žmonės gimsta laisvi ir lygūs savo orumu ir teisėmis. Jiems suteiktas protas ir sąžinė. " * 4
FRENCH = "Le café était fermé à l'été, où les élèves préféraient la forêt. " * 4


def test_a_mark_beats_every_declaration() -> None:
    body = b"\xef\xbb\xbf<meta charset=gbk>" + "é".encode()
    decoded = decode(body, "text/html; charset=windows-1251")
    assert decoded == ("<meta charset=gbk>é", "utf-8", "bom")


@pytest.mark.parametrize("charset", ["utf-16le", "utf-16be", "utf-32le", "utf-32be"])
def test_wide_text_is_known_by_its_mark(charset: str) -> None:
    assert decode(("\ufeff<p>été" + CHINESE).encode(charset)) == ("<p>été" + CHINESE, charset, "bom")


@pytest.mark.parametrize("charset", ["utf-16le", "utf-16be", "utf-32le", "utf-32be"])
@pytest.mark.parametrize("text", ["<html><body>plain words", JAPANESE + "\n" + JAPANESE, "<p>" + RUSSIAN])
def test_wide_text_is_known_without_a_mark(charset: str, text: str) -> None:
    assert decode(text.encode(charset))[:2] == (text, charset)


@pytest.mark.parametrize("charset", ["utf-16le", "utf-16be"])
@pytest.mark.parametrize("text", [CHINESE, JAPANESE, KOREAN.replace(" ", "")])
def test_utf16_of_nothing_but_ideographs_is_known_without_a_mark(charset: str, text: str) -> None:
    assert decode(text.encode(charset)) == (text, charset, "detected")


def test_stray_nuls_do_not_make_text_wide() -> None:
    assert decode(b"<p>a\0 line of ordinary text, and another one</p>" * 10).charset == "windows-1252"


def test_the_header_beats_the_page() -> None:
    body = b"<meta charset=koi8-r>" + RUSSIAN.encode("cp1251")
    decoded = decode(body, "text/html; charset=Windows-1251")
    assert decoded.charset == "windows-1251"
    assert decoded.source == "header"
    assert RUSSIAN in decoded.text


@pytest.mark.parametrize(
    ("declaration", "charset"),
    [
        (b'<meta charset="gb2312">', "gbk"),
        (b'<meta http-equiv=content-type content="text/html; charset=gb18030">', "gb18030"),
        (b'<?xml version="1.0" encoding="GBK"?>', "gbk"),
        (b"<head>" + b" " * 2000 + b"<meta charset=gbk>", "gbk"),
    ],
)
def test_the_page_declares_its_charset(declaration: bytes, charset: str) -> None:
    decoded = decode(declaration + CHINESE.encode("gb18030"), "text/html")
    assert (decoded.charset, decoded.source) == (charset, "meta")
    assert CHINESE in decoded.text


@pytest.mark.parametrize(
    ("text", "codec", "charset"),
    [
        (RUSSIAN, "cp1251", "windows-1251"),
        (RUSSIAN, "koi8-r", "koi8-u"),
        (RUSSIAN, "mac-cyrillic", "x-mac-cyrillic"),
        (RUSSIAN, "cp855", "ibm855"),
        (RUSSIAN, "iso8859-5", "iso-8859-5"),
        (RUSSIAN, "cp866", "ibm866"),
        (CZECH, "cp1250", "windows-1250"),
        (CZECH, "iso8859-2", "iso-8859-2"),
        (CZECH, "cp852", "ibm852"),
        (CZECH, "mac_latin2", "x-mac-ce"),
        (GREEK, "cp1253", "windows-1253"),
        (HEBREW, "cp1255", "windows-1255"),
        (LITHUANIAN, "cp1257", "windows-1257"),
        (KOREAN, "euc_kr", "euc-kr"),
        (KOREAN, "johab", "johab"),
        (KOREAN, "iso2022_kr", "iso-2022-kr"),
        (CHINESE, "hz", "hz-gb-2312"),
        (CHINESE, "gbk", "gbk"),
        (JAPANESE, "shift_jis", "shift_jis"),
        (JAPANESE, "euc_jp", "euc-jp"),
        (JAPANESE, "iso2022_jp", "iso-2022-jp"),
        (FRENCH, "latin-1", "windows-1252"),
        (FRENCH, "mac_roman", "macintosh"),
        (FRENCH + "Le menu à 20 €.", "iso8859-15", "iso-8859-15"),
        (FRENCH, "utf-8", "utf-8"),
    ],
)
def test_undeclared_text_is_detected(text: str, codec: str, charset: str) -> None:
    assert decode(text.encode(codec), "text/html") == (text, charset, "detected")


@pytest.mark.parametrize("codec", ["cp1251", "koi8-r", "mac-cyrillic", "cp1250", "cp852", "gbk", "shift_jis"])
def test_markup_does_not_hide_what_a_page_is_written_in(codec: str) -> None:
    text = {"cp1250": CZECH, "cp852": CZECH, "gbk": CHINESE, "shift_jis": JAPANESE}.get(codec, RUSSIAN)
    script = "<script>for (var i = 0; i < 10; i++) { items.push({name: 'none', id: i}); }</script>" * 40
    words = text.split() * 40
    cells = "".join(f'<td class="cell wide" id="c{n}"><a href="/p/{n}">{words[n]}</a></td>' for n in range(32))
    page = f"<html><head>{script}</head><body>{script}<table>{cells}</table>{script}</body></html>"
    assert decode(page.encode(codec), "text/html").text == page


def test_a_few_quotes_in_english_are_those_of_windows() -> None:
    text = "The club’s rules — as agreed — are “final”. © 2024 The club’s owners. Nothing else was said. "
    assert decode(text.encode("cp1252"), "text/html") == (text, "windows-1252", "detected")


def test_quotes_of_windows_tell_it_from_iso_8859() -> None:
    # They stand far behind the letters that decide the language.
    text = CZECH * 20 + "„Konec“"
    assert decode(text.encode("cp1250"), "text/html") == (text, "windows-1250", "detected")


def test_a_tilde_and_a_brace_do_not_make_text_chinese() -> None:
    body = b"<script>if (x == ~{a: 1}.a) { y = ~{}; }</script> plain words"
    assert decode(body) == (body.decode(), "windows-1252", "default")


def test_a_page_declared_utf8_that_is_not_is_detected() -> None:
    assert decode(RUSSIAN.encode("cp1251"), "text/html; charset=utf-8") == (RUSSIAN, "windows-1251", "detected")


def test_a_utf8_page_with_a_broken_byte_or_cut_stays_utf8() -> None:
    body = RUSSIAN.encode()
    for broken in (body[:-1], body[:101] + b"\xff" + body[101:]):
        assert decode(broken, "text/html; charset=utf-8").charset == "utf-8"
        assert decode(broken, "text/html").charset == "utf-8"


@pytest.mark.parametrize("declared", ["iso-8859-1", "windows-1251", "gbk", "shift_jis"])
def test_utf8_declared_as_something_else_is_utf8(declared: str) -> None:
    assert decode(RUSSIAN.encode(), f"text/html; charset={declared}") == (RUSSIAN, "utf-8", "detected")


def test_two_gbk_characters_that_look_like_utf8_stay_gbk() -> None:
    assert decode("联通".encode("gbk"), "text/html; charset=gbk").text == "联通"


def test_a_multibyte_charset_that_leaves_errors_is_doubted() -> None:
    assert decode(RUSSIAN.encode("cp1251"), "text/html; charset=big5").text == RUSSIAN


def test_a_charset_that_would_drop_the_page_is_not_believed() -> None:
    assert decode(b"plain words", "text/html; charset=hz-gb-2312").text == "plain words"


@pytest.mark.parametrize(
    ("label", "charset"),
    [
        ("UTF8", "utf-8"),
        ("latin1", "windows-1252"),
        ("iso_8859-1:1987", "windows-1252"),
        ("ks_c_5601-1987", "euc-kr"),
        ("x-sjis", "shift_jis"),
        ("tis-620", "windows-874"),
        ("unicode", "utf-16le"),
        ("utf-7", ""),
        ("no such", ""),
        ("", ""),
    ],
)
def test_labels_mean_what_browsers_take_them_for(label: str, charset: str) -> None:
    assert charset_of_label(label) == charset


@pytest.mark.parametrize(
    "header", ["text/html; charset=utf-8", 'text/html;Charset="UTF-8"', "text/html; charset='utf8'; x=y"]
)
def test_the_header_names_a_charset(header: str) -> None:
    assert charset_of_header(header) == "utf-8"


# What detectors look for: escapes, lead bytes, marks, tags, declarations, starts of binary files.
PIECES = [b"\x1b$B", b"\x1b(B", b"\x1b$)C", b"\x0e", b"\x0f", b"~{", b"~}", b"\x8e\xa1", b"\x81", b"\xff", b"\xa4"]
PIECES += [b"<", b"</p>", b"<meta charset=", b"johab>", b"%PDF-1", b"PK\x03\x04", b"\0", b"\0\0\xfe\xff", b"+AGE-"]


@given(
    body=st.binary(max_size=600)
    | st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join)
    | st.text(max_size=300).map(lambda text: text.encode("utf-16le", "surrogatepass")),
    content_type=st.sampled_from(
        [
            "",
            "text/html; charset=utf-8",
            "text/html; charset=gbk",
            "text/html; charset=utf-16",
            "a; charset=iso-2022-jp",
        ]
    )
    | st.text(max_size=30).map("text/html; charset={}".format),
    tld=st.sampled_from(["", "jp", "ru", "xn--p1ai", "COM", "é"]),
)
@example(body=b"\xff\xfe\0\0", content_type="", tld="")
@example(body=b"\0" * 68_000, content_type="", tld="")
@example(body=b"\x1b$)C\x1b", content_type="", tld="")
def test_any_bytes_give_a_text_that_utf8_can_hold(body: bytes, content_type: str, tld: str) -> None:
    decoded = decode(body, content_type, tld)
    decoded.text.encode()
    assert decoded.charset == decoded.charset.lower() != ""
