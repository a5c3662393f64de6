"""A management server of xDS load reporting that shares no code with us: Debian's Python and gRPC,
with messages read and written by their field numbers.

    lrs_server.py ADDRESS LOG CLUSTERS... [--seconds=N] [--reports=N] [--tls=CERTIFICATE,KEY]

Asks each client for CLUSTERS ("*": all of them) each N seconds (1), and ends a stream after N
reports (0: never). Writes a line to LOG for each thing it hears:

    node ID ZONE
    stats CLUSTER ZONE ACTIVE NEW FAILED INTERVAL_MILLISECONDS

And as servers should not be: --names=N names so many more clusters, --times=N asks so often at once,
--garbage=1 says what is no message, --deaf=1 reads nothing once it has asked.
"""

import sys
import threading
from concurrent import futures

import grpc

METHOD = "/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats"
FLAGS = {"seconds": 1, "reports": 0, "tls": "", "names": 0, "times": 1, "garbage": 0, "deaf": 0}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data):
    """Of one message: number -> values; texts and messages as bytes."""
    found = {}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {tag & 7}")
        found.setdefault(tag >> 3, []).append(value)
    return found


def one(message, number, otherwise):
    return message.get(number, [otherwise])[-1]


def to_varint(value):
    value &= 2**64 - 1  # as protobuf has negative numbers
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def response(clusters, flags):
    if flags["garbage"]:
        return b"\x0a\xff\xff\xff\x0f\x12\x0a\x02\xc3\x28"
    out = []
    for cluster in clusters + [f"none-{number}" for number in range(flags["names"])]:
        if cluster == "*":
            out.append(b"\x20\x01")  # 4: send_all_clusters
        else:
            out.append(b"\x0a" + bytes([len(cluster)]) + cluster.encode())  # 1: clusters
    interval = b"\x08" + to_varint(flags["seconds"])
    return b"".join(out) + b"\x12" + bytes([len(interval)]) + interval  # 2: load_reporting_interval


class Server(grpc.GenericRpcHandler):
    def __init__(self, log, clusters, flags):
        self.log, self.clusters, self.flags = log, clusters, flags

    def service(self, call):
        if call.method != METHOD:
            return None
        return grpc.stream_stream_rpc_method_handler(self.stream)

    def write(self, *words):
        with open(self.log, "a", encoding="utf-8") as file:
            file.write(" ".join(str(word) for word in words) + "\n")

    def stream(self, requests, _context):
        node = fields(one(fields(next(requests)), 1, b""))
        zone = one(fields(one(node, 4, b"")), 2, b"").decode()
        self.write("node", one(node, 1, b"").decode(), zone)
        asks = response(self.clusters, self.flags)
        for _ in range(self.flags["times"]):
            yield asks
        if self.flags["deaf"]:
            threading.Event().wait()
        for count, request in enumerate(requests, 1):
            for cluster in fields(request).get(2, []):
                self.write_cluster(fields(cluster))
            if count == self.flags["reports"]:
                return

    def write_cluster(self, cluster):
        interval = fields(one(cluster, 4, b""))
        milliseconds = one(interval, 1, 0) * 1000 + one(interval, 2, 0) // 1000000
        for stats in cluster.get(2, []):
            locality = fields(stats)
            zone = one(fields(one(locality, 1, b"")), 2, b"").decode()
            counts = [one(locality, number, 0) for number in (9, 10, 11)]
            self.write("stats", one(cluster, 1, b"").decode(), zone, *counts, milliseconds)


def main():
    flags = dict(FLAGS)
    words = []
    for word in sys.argv[1:]:
        if word.startswith("--"):
            name, value = word[2:].split("=", 1)
            flags[name] = type(FLAGS[name])(value)
        else:
            words.append(word)
    address, log, *clusters = words
    server = grpc.server(futures.ThreadPoolExecutor(4), options=[("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers((Server(log, clusters, flags),))
    if flags["tls"]:
        certificate, key = (open(path, "rb").read() for path in flags["tls"].split(","))
        server.add_secure_port(address, grpc.ssl_server_credentials(((key, certificate),)))
    else:
        server.add_insecure_port(address)
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    main()
