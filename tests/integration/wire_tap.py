"""Stands between clients and a server on one machine, relays their bytes unchanged, and keeps them: whatever the client is, and
however it reads, what the server really answered can be looked at afterwards."""

import asyncio
import dataclasses
import threading


@dataclasses.dataclass
class Conversation:
    """The bytes of one connection."""
    to_server: bytearray = dataclasses.field(default_factory=bytearray)
    to_client: bytearray = dataclasses.field(default_factory=bytearray)


class WireTap:
    """Listens on `port`, a free one, until closed; all connections are relayed by one thread."""

    def __init__(self, server_port):
        self.conversations = []
        self._server_port = server_port
        self._loop = asyncio.new_event_loop()
        self._tasks = set()
        self._listener = self._loop.run_until_complete(asyncio.start_server(self._relay, "127.0.0.1", 0, backlog=512))
        self.port = self._listener.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def close(self):
        """Ends what still runs; returns the conversations."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(timeout=30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        return self.conversations

    async def _end(self):
        self._listener.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _relay(self, client_reader, client_writer):
        task = asyncio.current_task()
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        conversation = Conversation()
        self.conversations.append(conversation)
        writers = [client_writer]
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._server_port)
            writers.append(server_writer)
            await asyncio.gather(_pump(client_reader, server_writer, conversation.to_server),
                                 _pump(server_reader, client_writer, conversation.to_client))
        except (OSError, asyncio.CancelledError):
            pass  # one of the two has gone, and so the other must learn of it; or all is over
        finally:
            for writer in writers:
                writer.transport.abort()


async def _pump(reader, writer, kept):
    """Relays until the end of the stream, which is relayed too."""
    while data := await reader.read(65536):
        kept += data
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
