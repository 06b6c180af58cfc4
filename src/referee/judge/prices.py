"""What a model costs."""

from __future__ import annotations

import msgspec

from referee.judge.numbers import require_number


class Price(msgspec.Struct, frozen=True):
    """The price of a model in US dollars per million tokens.

    Raises:
        OptionError: A price is no number of at least 0.

    Example:
        >>> Price(input=0.5, output=1.5).of(1_000, 200)
        0.0008
    """

    input: float
    output: float

    def __post_init__(self) -> None:
        require_number("price: input", self.input, least=0)
        require_number("price: output", self.output, least=0)

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """The price of so many tokens, in US dollars."""
        return round((input_tokens * self.input + output_tokens * self.output) / 1_000_000, 12)


def known_price(provider: str | None, model: str) -> Price | None:
    """The price of a model in the public list of the package genai-prices (extra `prices`), or `None`."""
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    try:
        found = calc_price(Usage(input_tokens=1_000_000, output_tokens=1_000_000), model, provider_id=provider)
    except LookupError:
        return None
    return Price(input=float(found.input_price), output=float(found.output_price))
