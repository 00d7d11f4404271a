"""Running text in several languages: a pool of paragraphs for each, drawn once from lists of common words.

Knows no pages and no HTML. Pages share the paragraphs of a pool (as the same bytes in memory) in orders of
their own: two unrelated pages have about one paragraph in twenty in common.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from .draw import Draws, pick_next

POOL_PARAGRAPHS = 600
_POOL_PHRASES = 2000
TOPIC_WORDS = 12
_OWN_SHARE = 1 / 6
_SYLLABLES = tuple(consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou")


@dataclass(frozen=True, slots=True)
class Script:
    """How a language joins its words and ends its sentences."""

    words: tuple[str, ...]
    space: str = " "
    comma: str = ", "
    stop: str = ". "

    @classmethod
    def spaced(cls, words: str) -> Script:
        """A language that parts its words by spaces."""
        return cls(tuple(words.split()))

    @classmethod
    def unspaced(cls, words: str) -> Script:
        """A language that writes its words without a gap."""
        return cls(tuple(words.split()), space="", comma="，", stop="。")


def paragraphs(draws: Draws, language: str) -> tuple[str, ...]:
    """The pool of this language: paragraphs of two to six sentences, without markup characters."""
    script = SCRIPTS[language]
    stream = draws.stream(f"paragraphs-{language}")
    return tuple(_paragraph(stream, script) for _ in range(POOL_PARAGRAPHS))


def phrases(draws: Draws, language: str) -> tuple[str, ...]:
    """A pool of anchor texts of this language."""
    stream = draws.stream(f"phrases-{language}")
    return tuple(phrase(stream, language, 3) for _ in range(_POOL_PHRASES))


def topic_words(draws: Draws, topic: int) -> tuple[str, ...]:
    """The words that tell a topic from others; they are in no language."""
    stream = draws.stream("topic-words", topic)
    return tuple("".join(pick_next(stream, _SYLLABLES) for _ in range(3)) for _ in range(TOPIC_WORDS))


def about(stream: random.Random, language: str, own: Sequence[str], words: int) -> str:
    """Words of a language, every sixth of them one of a topic's own."""
    script = SCRIPTS[language]
    drawn = (pick_next(stream, own if stream.random() < _OWN_SHARE else script.words) for _ in range(words))
    return script.space.join(drawn)


def phrase(stream: random.Random, language: str, words: int) -> str:
    """A few words, as in a title."""
    script = SCRIPTS[language]
    return script.space.join(pick_next(stream, script.words) for _ in range(words))


def _paragraph(stream: random.Random, script: Script) -> str:
    return "".join(_sentence(stream, script) for _ in range(2 + int(stream.random() * 5))).rstrip()


def _sentence(stream: random.Random, script: Script) -> str:
    words = [pick_next(stream, script.words) for _ in range(6 + int(stream.random() * 14))]
    middle = len(words) // 2
    start, end = script.space.join(words[:middle]), script.space.join(words[middle:])
    return start[:1].upper() + start[1:] + script.comma + end + script.stop


SCRIPTS = {
    "en": Script.spaced(
        "the of and to in is was for that on with as by at from his her they which this have not are but one all"
        " were when there their more other into some time could them people many these two may then first any like"
        " now such only new between made over after also years world house country school water light night work"
        " river town history family city music government morning evening book letter story market summer winter"
        " garden street bridge mountain island harbour engine science question answer reason language law trade"
        " travel weather report village museum company season machine paper window signal science century member"
        " party power public service system theory value voice road field forest stone colour kitchen bread coffee"
        " open close carry build learn teach write read follow remember believe explain describe discover improve"
        " quiet early large small ancient modern local common possible important certain different beautiful"
    ),
    "de": Script.spaced(
        "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus"
        " er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber"
        " vor zur bis mehr durch man sein wurde wenn Jahre Straße Größe Küche Brücke Mädchen Tür Bücher schön früh"
        " spät Stadt Fluss Garten Geschichte Regierung Gesellschaft Wissenschaft Musik Winter Sommer Abend Morgen"
        " Markt Schule Wasser Licht Nacht Arbeit Familie Sprache Gesetz Handel Reise Wetter Bericht Dorf Museum"
        " Maschine Fenster Jahrhundert Mitglied Dienst Stimme Wald Stein Farbe Brot Kaffee öffnen schließen tragen"
        " bauen lernen schreiben lesen folgen erinnern glauben erklären entdecken ruhig groß klein alt modern"
        " möglich"
    ),
    "fr": Script.spaced(
        "le la les de des du et à un une en est que dans qui pour pas au sur plus par avec ce il sont ne se ou"
        " son leur nous vous être avoir fait comme mais tout cette ses aux deux même aussi entre après années été"
        " très ville rivière jardin histoire gouvernement société science musique hiver été soir matin marché"
        " école eau lumière nuit travail famille langue loi commerce voyage temps rapport village musée machine"
        " fenêtre siècle membre service voix forêt pierre couleur cuisine pain café ouvrir fermer porter bâtir"
        " apprendre écrire lire suivre croire expliquer découvrir améliorer tranquille grand petit ancien moderne"
        " possible façon garçon"
    ),
    "es": Script.spaced(
        "el la los las de y en que un una por con para del se no al lo su es más como pero sus le ya o fue este"
        " ha sí porque esta son entre cuando muy sin sobre ser tiene también me hasta hay donde años ciudad río"
        " jardín historia gobierno sociedad ciencia música invierno verano tarde mañana mercado escuela agua luz"
        " noche trabajo familia lengua ley comercio viaje tiempo informe pueblo museo máquina ventana siglo"
        " miembro servicio voz bosque piedra color cocina pan café abrir cerrar llevar construir aprender escribir"
        " leer seguir creer explicar descubrir mejorar tranquilo grande pequeño antiguo moderno posible niño señor"
    ),
    "ru": Script.spaced(
        "и в не на я быть он с что а по это она этот к но они мы весь который из у то за свой так год от вы мочь"
        " человек о один такой ещё бы сам когда другой для время город река сад история правительство общество"
        " наука музыка зима лето вечер утро рынок школа вода свет ночь работа семья язык закон торговля"
        " путешествие погода отчёт деревня музей машина окно век служба голос дорога поле лес камень цвет кухня"
        " хлеб кофе открывать закрывать нести строить учиться писать читать следовать верить объяснять находить"
        " улучшать тихий большой маленький старый новый возможный важный разный красивый мост остров письмо книга"
        " вопрос"
    ),
    "zh": Script.unspaced(
        "的 是 在 了 和 有 我们 他们 这个 一个 中国 人民 社会 经济 发展 城市 河流 花园 历史 政府 科学 音乐 冬天"
        " 夏天 晚上 早晨 市场 学校 水 光 夜晚 工作 家庭 语言 法律 贸易 旅行 天气 报告 村庄 博物馆 机器 窗户 世纪"
        " 成员 服务 声音 森林 石头 颜色 厨房 面包 咖啡 打开 关闭 建设 学习 写作 阅读 相信 解释 发现 提高 安静 重要"
        " 可能 不同 美丽 桥梁 岛屿 信件 图书 问题 回答 原因 可以 没有 因为 所以 但是 如果 已经 就是 时间 国家 技术"
        " 研究 系统 网络 信息 数据"
    ),
    "zh-Hant": Script.unspaced(
        "的 是 在 了 和 有 我們 他們 這個 一個 台灣 人民 社會 經濟 發展 城市 河流 花園 歷史 政府 科學 音樂 冬天"
        " 夏天 晚上 早晨 市場 學校 水 光 夜晚 工作 家庭 語言 法律 貿易 旅行 天氣 報告 村莊 博物館 機器 窗戶 世紀"
        " 成員 服務 聲音 森林 石頭 顏色 廚房 麵包 咖啡 打開 關閉 建設 學習 寫作 閱讀 相信 解釋 發現 提高 安靜 重要"
        " 可能 不同 美麗 橋樑 島嶼 信件 圖書 問題 回答 原因 可以 沒有 因為 所以 但是 如果 已經 就是 時間 國家 技術"
        " 研究 系統 網路 資訊 資料"
    ),
    "ja": Script.unspaced(
        "の は が を に で と も から まで です ます した いる ある こと これ それ この その 日本 社会 経済 都市"
        " 川 庭 歴史 政府 科学 音楽 冬 夏 夜 朝 市場 学校 水 光 仕事 家族 言葉 法律 貿易 旅行 天気 報告 村 博物館"
        " 機械 窓 世紀 会員 サービス 声 森 石 色 台所 パン コーヒー 開く 閉める 建てる 学ぶ 書く 読む 信じる"
        " 説明する 発見する 静か 重要 可能 違う 美しい 橋 島 手紙 本 質問 答え 理由 できる ない ので しかし もし"
        " 時間 国 技術 研究 システム ネットワーク 情報"
    ),
    "ko": Script.spaced(
        "그리고 그러나 이것은 그것은 우리는 사람들이 사회 경제 발전 도시 강 정원 역사 정부 과학 음악 겨울 여름"
        " 저녁 아침 시장 학교 물 빛 밤 일 가족 언어 법률 무역 여행 날씨 보고서 마을 박물관 기계 창문 세기 회원"
        " 서비스 목소리 숲 돌 색깔 부엌 빵 커피 열다 닫다 짓다 배우다 쓰다 읽다 믿다 설명하다 발견하다 조용한 큰"
        " 작은 오래된 새로운 가능한 중요한 다른 아름다운 다리 섬 편지 책 질문 대답 이유 할 수 있다 없다 때문에"
        " 만약 이미 시간 나라 기술 연구 정보"
    ),
}  # fmt: skip
