"""Stop words: the words of a language that say nothing of a text's subject.

The English list is our own and holds function words only; the lists in circulation also hold words such as `order`
and `number`, which are what many conversations with an agent are about. Other languages come from the package
`stop-words`.
"""

from __future__ import annotations

from referee.errors import OptionError
from referee.words import ANY_LANGUAGE

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


def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language, in lower case and with straight apostrophes.

    Args:
        language: A code such as `en`; `any` has no stop words.

    Raises:
        OptionError: There is no list of that language.

    Example:
        >>> "the" in stop_words("en"), "order" in stop_words("en"), "und" in stop_words("de")
        (True, False, True)
    """
    if language == "en":
        return _ENGLISH
    if language == ANY_LANGUAGE:
        return frozenset()
    from stop_words import LANGUAGE_MAPPING, get_stop_words  # type: ignore[import-untyped]

    if not isinstance(language, str) or language not in LANGUAGE_MAPPING:
        known = ", ".join(sorted(LANGUAGE_MAPPING))
        raise OptionError(f"language must be one of {known}, or {ANY_LANGUAGE!r} for no stop words, not {language!r}")
    return frozenset(word.lower().replace("’", "'") for word in get_stop_words(language))
