"""An application that can fall ill: serves HTTP on loopback until it is killed.

    check_app.py PORT NAME FOLDER

/healthz answers 500 while FOLDER/NAME.sick is there, else 200. Every other path answers NAME, and
adds a byte to FOLDER/NAME.served. Connections are kept open.
"""

import http.server
import os
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        name, folder = self.server.name, self.server.folder
        status, body = 200, name.encode()
        if self.path.startswith("/healthz"):
            if os.path.exists(f"{folder}/{name}.sick"):
                status = 500
        else:
            with open(f"{folder}/{name}.served", "ab") as served:
                served.write(b".")
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256


if __name__ == "__main__":
    server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
    server.name, server.folder = sys.argv[2], sys.argv[3]
    server.serve_forever()
