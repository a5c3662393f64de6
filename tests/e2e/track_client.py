"""Clients of a virtual IP, for tests.

  hold IP PORT COUNT      opens them, asks each who it is, prints the names, one a line, or "refused",
       [PAUSE]            then "held"; each line of stdin asks all again and prints the names again
  rate IP PORT SECONDS    opens so many a second, holds each for so many seconds, and prints how many
       COUNT HOLD         were served and how many refused
  keep IP PORT HOLD       has as many open as the last line of stdin says, each for about HOLD seconds;
                          each second prints how many there are in zones a, b and c, and how many were
                          refused since the last time
  churn IP PORT SECONDS   opens and closes all the time, in several ways; prints how many connected
"""
import os
import random
import select
import socket
import struct
import sys
import time

IP, PORT, AMOUNT = sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
PAUSE = float(sys.argv[5]) if len(sys.argv) > 5 else 0
HOLD = float(sys.argv[6]) if len(sys.argv) > 6 else 0


def ask(peer):
    peer.sendall(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n")
    answer = peer.recv(4096)
    return answer.rsplit(b"\r\n", 1)[-1].decode() or "gone"


def connect():
    try:
        return socket.create_connection((IP, PORT), timeout=5)
    except ConnectionRefusedError:
        return None


def hold():
    held = []
    for _ in range(int(AMOUNT)):
        peer = connect()
        print(ask(peer) if peer else "refused")
        if peer:
            held.append(peer)
        time.sleep(PAUSE)
    print("held", flush=True)
    for _ in sys.stdin:
        for peer in held:
            print(ask(peer))
        print("held", flush=True)


def churn():
    connected = 0
    end = time.monotonic() + AMOUNT
    held = []
    while time.monotonic() < end:
        peer = connect()
        if not peer:
            continue
        connected += 1
        way = random.randrange(4)
        if way == 0:
            held.append(peer)
            if len(held) > 20:
                held.pop(random.randrange(20)).close()
            continue
        if way == 1:
            ask(peer)
        if way == 2:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()
    print(connected)


def rate():
    served = refused = 0
    held = []
    due = time.monotonic()
    end = due + AMOUNT
    while due < end:
        time.sleep(max(0, due - time.monotonic()))
        due = max(due, time.monotonic() - 0.05) + 1 / PAUSE  # not in a burst after a pause
        while held and held[0][0] <= time.monotonic():
            held.pop(0)[1].close()
        peer = connect()
        if not peer:
            refused += 1
            continue
        served += len(peer.recv(1))
        held.append((time.monotonic() + HOLD, peer))
    time.sleep(HOLD)
    print(served, refused)


def keep():
    wanted = refused = 0
    held = []
    shown = time.monotonic()
    while True:
        if select.select([0], [], [], 0.01)[0]:
            wanted = int(os.read(0, 100).split()[-1])
        for _ in range(min(4, wanted - len(held))):
            peer = connect()
            if not peer:
                refused += 1
                break
            peer.settimeout(30)
            zone = peer.recv(1).decode()
            held.append((time.monotonic() + random.uniform(0.5, 1.5) * AMOUNT, zone, peer))
        now = time.monotonic()
        if now >= shown + 1:
            zones = [zone for _, zone, _ in held]
            print(*(zones.count(zone) for zone in "abc"), refused, flush=True)
            shown, refused = now, 0
        for _, _, peer in (one for one in held if one[0] <= now):
            peer.close()
        held = [one for one in held if one[0] > now]  # who ended is replaced in the next round


{"hold": hold, "rate": rate, "keep": keep, "churn": churn}[sys.argv[1]]()
