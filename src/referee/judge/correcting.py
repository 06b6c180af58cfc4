"""Asks once more when a reply can't be used."""

from __future__ import annotations

import msgspec

from referee.errors import JudgeError, UnreadableReplyError
from referee.judge.exchange import Correction, Reply, Request, Transport
from referee.judge.reading import read
from referee.scores import JudgeUsage

#: As much of an unusable reply as the model is shown again.
_MOST_SHOWN = 4000


class Correcting:
    """Asks once more when a reply can't be read: with the problem, or, after a reply that was cut off, with more room.

    Every reply that it gives is readable. Replies of both times are counted.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(self, request: Request) -> Reply:
        """Send the request, and once more if need be.

        Raises:
            UnreadableReplyError: The second reply is unreadable too.
            JudgeError: There is no reply, or a refusal.
        """
        reply = await self._transport.send(request)
        try:
            read(reply, request.returns)
        except UnreadableReplyError as error:
            try:
                again = await self._transport.send(_asked_again(request, reply, str(error)))
            except JudgeError as failure:
                failure.usage = reply.usage + (failure.usage or JudgeUsage())
                raise
            reply = msgspec.structs.replace(again, usage=reply.usage + again.usage)
            read(reply, request.returns)
        return reply


def _asked_again(request: Request, reply: Reply, problem: str) -> Request:
    if reply.finish == "length":
        limit = request.parameters.max_tokens
        more = msgspec.structs.replace(request.parameters, max_tokens=limit and 2 * limit)
        return msgspec.structs.replace(request, parameters=more)
    return msgspec.structs.replace(request, correction=Correction(reply.text[:_MOST_SHOWN], problem))
