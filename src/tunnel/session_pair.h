// For tests: two sessions and the bytes between them, in virtual time. Data comes from and goes to
// strings; the bytes arrive cut as the test wants them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tunnel/session.h"

namespace holdfast::tunnel {

// One side: a session with an application that sends what it is given and takes what comes.
class TestSide {
 public:
  TestSide(SessionOptions options, Time now) : session(options, now) {}

  void send(StreamId stream, std::string_view bytes) {
    outgoing[stream] += bytes;
    session.set_ready(stream);
  }

  // Everything that may go now, at most about so much.
  std::string take(size_t most = SIZE_MAX) {
    std::string out;
    while (out.size() < most) {
      std::string control(kMaxMessageBytes + kFrameHeaderBytes, '\0');
      const size_t bytes = session.take_control(control);
      out.append(control, 0, bytes);
      if (bytes > 0) continue;
      if (!take_turn(out)) break;
    }
    return out;
  }

  Status receive(std::string_view bytes, Time now) {
    std::vector<Event> came;
    const Status status = session.receive(bytes, now, came);
    for (const Event& event : came) {
      std::visit([&](const auto& one) { on(one, now); }, event);
    }
    return status;
  }

  std::string came(StreamId stream) { return incoming[stream]; }
  std::string log() const {
    std::string all;
    for (const std::string& line : events) all += (all.empty() ? "" : "; ") + line;
    return all;
  }

  Session session;
  std::map<StreamId, std::string> outgoing{};
  std::map<StreamId, std::string> incoming{};
  std::map<StreamId, size_t> held{};  // not consumed yet
  std::vector<std::string> events{};  // but data
  std::vector<StreamId> asked{};
  std::vector<StreamId> turns{};  // whose data went, in order
  std::vector<StreamId> over{};
  bool consumes = true;

 private:
  bool take_turn(std::string& out) {
    const std::optional<Session::Turn> turn = session.next_turn();
    if (!turn) return false;
    std::string& waiting = outgoing[turn->stream];
    const size_t bytes = std::min(turn->most, waiting.size());
    std::array<char, kFrameHeaderBytes> header{};
    session.commit(*turn, bytes, header);
    if (bytes == 0) return true;
    turns.push_back(turn->stream);
    out.append(header.data(), header.size());
    out.append(waiting, 0, bytes);
    waiting.erase(0, bytes);
    return true;
  }

  void on(const OpenAsked& event, Time) {
    asked.push_back(event.stream);
    events.push_back("open " + std::string(event.payload));
  }
  void on(const Accepted&, Time) { events.emplace_back("accepted"); }
  void on(const DataCame& event, Time now) {
    incoming[event.stream] += event.bytes;
    if (consumes) return session.consumed(event.stream, event.bytes.size(), now);
    held[event.stream] += event.bytes.size();
  }
  void on(const EndCame&, Time) { events.emplace_back("end"); }
  void on(const ResetCame& event, Time) {
    over.push_back(event.stream);
    events.push_back("reset " + std::string(to_string(event.code)) + " " + std::string(event.why));
  }
  void on(const MessageCame& event, Time) {
    events.push_back("message " + std::string(event.payload));
  }
  void on(const GoodbyeCame& event, Time) { events.push_back("goodbye " + std::string(event.why)); }
};

class SessionPair {
 public:
  explicit SessionPair(SessionOptions options = {})
      : SessionPair(with_side(options, Side::Opener), with_side(options, Side::Acceptor)) {}
  SessionPair(SessionOptions opening, SessionOptions accepting)
      : opener(opening, now), acceptor(accepting, now) {}

  static SessionOptions with_side(SessionOptions options, Side side) {
    options.side = side;
    return options;
  }

  // Moves bytes both ways, in pieces of at most `cut`, until none are left.
  Status exchange(size_t cut = SIZE_MAX) {
    for (;;) {
      const std::string there = opener.take(), back = acceptor.take();
      if (there.empty() && back.empty()) return absl::OkStatus();
      TRY_OK(deliver(acceptor, there, cut));
      TRY_OK(deliver(opener, back, cut));
    }
  }

  Status deliver(TestSide& to, std::string_view bytes, size_t cut = SIZE_MAX) {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(cut, bytes.size()))) {
      // A copy of its own, so that views that live too long are found.
      const std::string piece(bytes.substr(0, cut));
      TRY_OK(to.receive(piece, now));
    }
    return absl::OkStatus();
  }

  // A stream that both sides hold open.
  StreamId open(std::string_view payload = "db") {
    const StreamId stream = opener.session.open(payload).value();
    static_cast<void>(exchange());
    acceptor.session.accept(stream);
    static_cast<void>(exchange());
    return stream;
  }

  Time now{std::chrono::seconds(100)};
  TestSide opener;
  TestSide acceptor;
};

}  // namespace holdfast::tunnel
