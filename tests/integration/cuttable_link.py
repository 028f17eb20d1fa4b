"""A line between two sites that a test can cut: a TCP proxy in front of a broker.

A broker tells its clients its own address, and they go there directly. So the proxy puts its port
in the place of the broker's in all that the broker says; both have four bytes.
"""

import contextlib
import selectors
import socket
import struct
import threading


class CuttableLink:
    """Listens on a port of its own; while `cut` is set nothing passes, in no direction."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self._broker = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        theirs, ours = (int(a.rsplit(":", 1)[1]) for a in (address, self.address))
        host = host.encode()
        self._told = host + struct.pack(">i", theirs), host + struct.pack(">i", ours)
        self.cut = threading.Event()
        self._ended = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._ended.set()
        self._listener.close()

    def _accept(self):
        while not self._ended.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client):
        with contextlib.suppress(OSError), client, socket.create_connection(self._broker) as broker:
            other = {client: broker, broker: client}
            with selectors.DefaultSelector() as ready:
                for end in other:
                    ready.register(end, selectors.EVENT_READ)
                while not self._ended.is_set():
                    if self.cut.is_set():
                        self._ended.wait(0.1)
                        continue
                    for key, _ in ready.select(0.2):
                        data = key.fileobj.recv(1 << 20)
                        if not data:
                            return
                        if key.fileobj is broker:
                            data = data.replace(*self._told)
                        other[key.fileobj].sendall(data)
