"""Stop words: the words of a language that say nothing of a text's subject.

The English list is our own and holds function words only; the lists in circulation also hold words such as `order`
and `number`, which are what many conversations with an agent are about. The Thai list is our own too. Other languages
come from the package `stop-words`; the Arabic and Hindi lists are completed.
"""

from __future__ import annotations

from functools import lru_cache

from referee.errors import OptionError
from referee.words import ANY_LANGUAGE, UNSPACED_LANGUAGES

_ENGLISH = frozenset(
    """
    a an the this that these those same such
    i me my mine myself we us our ours ourselves you your yours yourself yourselves
    he him his himself she her hers herself it its itself they them their theirs themselves
    who whom whose which what when where why how
    and or but nor so yet if then else because as until while although though since unless whether than
    of at by for with about against between into through during before after above below to from up down in out on
    off over under upon within without near
    am is are was were be been being have has had having do does did doing done
    will would shall should can cannot could may might must ought
    not no none nothing nobody never neither
    both either each every all any some few more most many much other another
    anyone anything everyone everything someone something
    here there now again once only just very too also even still ever own please
    i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'd it'll
    we're we've we'd we'll they're they've they'd they'll
    isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't
    won't wouldn't shan't shouldn't can't couldn't mustn't needn't
    let's that's who's what's here's there's when's where's why's how's
    """.split()  # noqa: SIM905 - a list of two hundred quoted words is harder to read
)

#: Particles, prepositions, conjunctions, pronouns, auxiliaries, classifiers of politeness and question words.
_THAI = frozenset(
    """
    ที่ ซึ่ง อัน ของ ใน บน จาก ถึง แก่ แด่ ต่อ กับ และ หรือ แต่ เพราะ เพื่อ โดย ด้วย ตาม เมื่อ ถ้า หาก แล้ว ก็ จึง
    เป็น คือ อยู่ มี ได้ ให้ ไว้ จะ กำลัง เคย ต้อง ควร อาจ ยัง ไม่ มิ อย่า
    ผม ฉัน ดิฉัน คุณ เขา เธอ เรา มัน พวกเขา นี้ นั้น โน้น เหล่านี้ เหล่านั้น
    อะไร ใคร ไหน ไหม หรือไม่ อย่างไร ยังไง ทำไม เมื่อไหร่ เท่าไหร่ เท่าไร กี่
    ครับ ค่ะ คะ นะ จ้ะ สิ มาก ทุก บาง กว่า ที่สุด เอง อีก
    """.split()  # noqa: SIM905 - as above
)
_OWN = {"en": _ENGLISH, "th": _THAI}
#: What the lists of `stop-words` lack: Arabic words in their full spelling, Hindi auxiliaries and pronouns.
_MORE = {
    "ar": """
        إلى إن أن أنا أنت أنتم نحن هم أو أي أين متى كيف كم ماذا لماذا هل مع عند أيضا إذا إلا أم تلك ذلك هؤلاء التي الذي
        سوف ليس ليست لست لدي لديك لنا لك لكم لأن كي حين حيث
        """,
    "hi": """
        है हैं हूँ हो होता होती होते होना होगा होगी होंगे हुआ हुई हुए रहा रही रहे मैं मुझे मेरा मेरी मेरे हम हमें
        तू तुम्हें आपको आपका आपकी आपके यह ये वह वे वो इसलिए क्या क्यों कैसे कैसा कैसी कहाँ कब कौनसी कितनी कितने
        सकता सकती सकते चाहिए वाला वाली वाले
        """,
}


def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language, in lower case and with straight apostrophes.

    Args:
        language: A code such as `en`; `any` has no stop words, and there are none of Lao, Khmer and Burmese.

    Raises:
        OptionError: There is no list of that language.

    Example:
        >>> "the" in stop_words("en"), "order" in stop_words("en"), "und" in stop_words("de")
        (True, False, True)
    """
    from stop_words import LANGUAGE_MAPPING  # type: ignore[import-untyped]

    known = {ANY_LANGUAGE, *UNSPACED_LANGUAGES, *LANGUAGE_MAPPING}
    if not isinstance(language, str) or language not in known:
        named = ", ".join(sorted(known - {ANY_LANGUAGE}))
        raise OptionError(
            f"language must be one of {named}; 'auto' to find it; or {ANY_LANGUAGE!r} for all words; not {language!r}"
        )
    if language in _OWN:
        return _OWN[language]
    return _listed(language) if language in LANGUAGE_MAPPING else frozenset()


@lru_cache(maxsize=64)
def _listed(language: str) -> frozenset[str]:
    from stop_words import get_stop_words

    listed = [*get_stop_words(language), *_MORE.get(language, "").split()]
    return frozenset(word.lower().replace("’", "'") for word in listed)
