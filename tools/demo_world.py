#!/usr/bin/python3
"""What `make demo` puts behind and in front of the tunnels.

  demo_world.py apps PORT...          three ports per agent: HTTP, TCP echo of lines, gRPC
  demo_world.py traffic FILE PORT...  three ports per proxy, the same; writes its ledger to FILE
"""

import json
import os
import signal
import socket
import sys
import threading
import time
from concurrent import futures
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import grpc

HELLO = "/demo.Greeter/Hello"
PATIENCE = 10.0  # seconds in which some proxy must answer, or a request is lost


def serve_http(port, name):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = f"hello from the app beside {name}\n".encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()


def serve_echo(port):
    listener = socket.create_server(("127.0.0.1", port), backlog=256)

    def serve(client):
        with client:
            while data := client.recv(65536):
                client.sendall(data)

    def accept():
        while True:
            client, _ = listener.accept()
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def serve_grpc(port, name):
    def hello(request, context):
        return request + f" from {name}".encode()

    handler = grpc.method_handlers_generic_handler(
        "demo.Greeter", {"Hello": grpc.unary_unary_rpc_method_handler(hello)})
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((handler,))
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    return server


def apps(ports):
    servers = []
    for number in range(len(ports) // 3):
        http, tcp, rpc = ports[3 * number:3 * number + 3]
        serve_http(http, f"edge-{number + 1}")
        serve_echo(tcp)
        servers.append(serve_grpc(rpc, f"edge-{number + 1}"))
    signal.pause()


class Ledger:
    def __init__(self, file):
        self.file, self.lock, self.ending = file, threading.Lock(), False
        self.totals = {"http": 0, "grpc": 0, "lines": 0, "sessions": 0, "lost": 0, "cut": 0,
                       "elsewhere": 0, "longest_ms": 0}

    def add(self, **changes):
        with self.lock:
            for key, value in changes.items():
                before = self.totals[key]
                self.totals[key] = max(before, value) if key == "longest_ms" else before + value

    def write(self):
        with self.lock:
            text = json.dumps(self.totals)
        with open(self.file + ".new", "w") as file:
            file.write(text)
        os.replace(self.file + ".new", self.file)


def ask_http(port):
    connection = HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/")
        return connection.getresponse().read().startswith(b"hello")
    except OSError:
        return False
    except Exception:  # half an answer is no answer
        return False
    finally:
        connection.close()


def ask_grpc(port):
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            call = channel.unary_unary(HELLO)
            return call(b"hello", timeout=2).startswith(b"hello from edge-")
    except grpc.RpcError:
        return False


def requests(ledger, kind, ask, ports, first):
    """One request after the other; one that a proxy does not answer is asked at the next."""
    turn = first
    while not ledger.ending:
        begin = time.monotonic()
        while not ask(ports[turn % len(ports)]):
            turn += 1
            ledger.add(elsewhere=1)
            if time.monotonic() - begin > PATIENCE:
                ledger.add(lost=1)
                break
        else:
            ledger.add(**{kind: 1}, longest_ms=int(1000 * (time.monotonic() - begin)))
        turn += 1
        time.sleep(0.05)


def sessions(ledger, ports, first):
    """A connection for three seconds, ten numbered lines a second, each answered in its turn."""
    turn = first
    while not ledger.ending:
        turn += 1
        answered = 0
        try:
            with socket.create_connection(("127.0.0.1", ports[turn % len(ports)]), 2) as client:
                lines = client.makefile("rwb")
                for number in range(30):
                    line = f"line {number}\n".encode()
                    lines.write(line)
                    lines.flush()
                    client.settimeout(8)
                    if lines.readline() != line:
                        raise OSError("cut")
                    answered += 1
                    ledger.add(lines=1)
                    time.sleep(0.1)
            ledger.add(sessions=1)
        except OSError:
            # Before its first answer a client goes elsewhere and nothing is lost.
            ledger.add(**{"cut" if answered else "elsewhere": 1})


def traffic(file, ports):
    ledger = Ledger(file)

    def end(*_):
        ledger.ending = True

    signal.signal(signal.SIGTERM, end)
    threads = []
    for number in range(3):
        threads += [
            threading.Thread(target=requests, args=(ledger, "http", ask_http, ports[0::3], number)),
            threading.Thread(target=requests, args=(ledger, "grpc", ask_grpc, ports[2::3], number)),
            threading.Thread(target=sessions, args=(ledger, ports[1::3], number)),
            threading.Thread(target=sessions, args=(ledger, ports[1::3], number + 1))]
    for thread in threads:
        thread.start()
    while not ledger.ending:
        ledger.write()
        time.sleep(0.1)
    for thread in threads:
        thread.join()
    ledger.write()


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "apps":
        apps([int(port) for port in sys.argv[2:] if port.isdigit()])
    elif len(sys.argv) > 3 and sys.argv[1] == "traffic":
        traffic(sys.argv[2], [int(port) for port in sys.argv[3:]])
    else:
        sys.exit(__doc__)


main()
