"""What a judge adds to the time that its endpoint takes, and the CPU time of each call, beside other clients.

A local endpoint answers after 50 ms. Ideal is `calls / in flight * 50 ms`. Clients that are not installed are left out:
`pip install 'referee[judge]' 'openai[aiohttp]' 'pydantic-ai-slim[openai]'` has them all.

    python benchmarks/judge_overhead.py [CALLS [ROUNDS]]

Each number is the best of the rounds. The last line says whether the judge holds the bars: 1.7 times ideal at 50 in flight, 5 times at 200.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from multiprocessing.connection import Connection

import msgspec

LATENCY = 0.05
IN_FLIGHT = (50, 200)
BARS = {50: 1.7, 200: 5.0}
QUESTION = "Is this sentence polite? Please take a seat. " * 20
CONTENT = '{"reason": "It says please.", "polite": true}'
REPLY = msgspec.json.encode(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": CONTENT}}],
        "usage": {"prompt_tokens": 200, "completion_tokens": 12, "total_tokens": 212},
    }
)
RESPONSE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
    + str(len(REPLY)).encode()
    + b"\r\n\r\n"
    + REPLY
)


class Tone(msgspec.Struct):
    reason: str
    polite: bool


class Endpoint(asyncio.Protocol):
    """Answers each request after the latency. As small as can be, so that the client is what is measured."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.received = b""

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, found, body = self.received.partition(b"\r\n\r\n")
        if not found:
            return
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        if len(body) >= length:
            self.received = body[length:]
            asyncio.get_running_loop().call_later(LATENCY, self.transport.write, RESPONSE)  # type: ignore[attr-defined]


def serve(ready: Connection) -> None:
    """Run the endpoint in a process of its own."""

    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(Endpoint, "127.0.0.1", 0, backlog=1024)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


async def measure(ask: Callable[[], Awaitable[object]], calls: int, in_flight: int) -> tuple[float, float]:
    """Seconds for all calls, and CPU milliseconds for each."""
    left = iter(range(calls))

    async def worker() -> None:
        for _ in left:
            await ask()

    await asyncio.gather(*(ask() for _ in range(in_flight)))  # opens the connections
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(in_flight)))
    return time.perf_counter() - began, (time.process_time() - cpu) / calls * 1000


async def ask_judge(base_url: str, calls: int, in_flight: int) -> tuple[float, float]:
    from referee.judge import Judge, Limits

    judge = Judge("m", base_url=base_url, limits=Limits(concurrency=in_flight))

    async def ask() -> None:
        assert (await judge.ask(QUESTION, Tone)).polite

    await ask()  # learns what the endpoint takes
    result = await measure(ask, calls, in_flight)
    await judge.close()
    return result


async def ask_aiohttp(base_url: str, calls: int, in_flight: int) -> tuple[float, float]:
    from aiohttp import ClientSession, TCPConnector

    body = {"model": "m", "messages": [{"role": "user", "content": QUESTION}]}
    async with ClientSession(connector=TCPConnector(limit=0)) as session:

        async def ask() -> None:
            headers = {"Content-Type": "application/json"}
            data = msgspec.json.encode(body)
            async with session.post(f"{base_url}/chat/completions", data=data, headers=headers) as response:
                msgspec.json.decode(await response.read())

        return await measure(ask, calls, in_flight)


async def ask_openai(base_url: str, calls: int, in_flight: int, *, aiohttp: bool = False) -> tuple[float, float]:
    import openai

    http = openai.DefaultAioHttpClient() if aiohttp else None
    async with openai.AsyncOpenAI(base_url=base_url, api_key="none", http_client=http) as client:

        async def ask() -> None:
            await client.chat.completions.create(model="m", messages=[{"role": "user", "content": QUESTION}])

        return await measure(ask, calls, in_flight)


async def ask_openai_over_aiohttp(base_url: str, calls: int, in_flight: int) -> tuple[float, float]:
    return await ask_openai(base_url, calls, in_flight, aiohttp=True)


async def ask_pydantic_ai(base_url: str, calls: int, in_flight: int) -> tuple[float, float]:
    from pydantic import BaseModel
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    class Polite(BaseModel):
        reason: str
        polite: bool

    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=base_url, api_key="none"))
    agent = Agent(model, output_type=NativeOutput(Polite))

    async def ask() -> None:
        await agent.run(QUESTION)

    return await measure(ask, calls, in_flight)


CLIENTS: dict[str, tuple[str, Callable[[str, int, int], Awaitable[tuple[float, float]]]]] = {
    "aiohttp alone": ("aiohttp", ask_aiohttp),
    "judge (chosen: aiohttp)": ("aiohttp", ask_judge),
    "openai SDK over aiohttp": ("openai", ask_openai_over_aiohttp),
    "openai SDK": ("openai", ask_openai),
    "pydantic-ai agent": ("pydantic_ai", ask_pydantic_ai),
}


def main() -> int:
    """Print the table; 1 if the judge misses a bar."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 1500
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    base_url = f"http://127.0.0.1:{ours.recv()}/v1"
    print(f"{calls} calls, {LATENCY * 1000:.0f} ms latency; wall time / ideal, and CPU milliseconds a call")
    print(f"{'':26}" + "".join(f"{f'{count} in flight':>22}" for count in IN_FLIGHT))
    missed = []
    for name, (package, client) in CLIENTS.items():
        if find_spec(package) is None:
            continue
        cells = []
        for in_flight in IN_FLIGHT:
            results = [asyncio.run(client(base_url, calls, in_flight)) for _ in range(rounds)]  # type: ignore[arg-type]
            seconds, cpu = (min(values) for values in zip(*results))
            ratio = seconds / (calls / in_flight * LATENCY)
            cells.append(f"{ratio:>12.2f} {cpu:>6.2f} ms")
            if client is ask_judge and ratio > BARS[in_flight]:
                missed.append(f"{ratio:.2f} at {in_flight}")
        print(f"{name:26}" + "".join(f"{cell:>22}" for cell in cells))
    server.terminate()
    print(f"bars missed: {', '.join(missed)}" if missed else f"bars held: {BARS}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
