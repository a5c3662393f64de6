// Many streams that do anything at any time, over a connection that cuts anywhere: every byte comes
// once and in order, or the stream says that it was reset.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "tunnel/session_pair.h"

namespace holdfast::tunnel {
namespace {

constexpr SessionOptions kSmall{.max_streams = 40,
                                .initial_window = 32 << 10,
                                .max_window = 256 << 10,
                                .window_budget = 512 << 10,
                                .max_resets_per_second = 1'000'000};

// The bytes of a stream from `at`: which stream, which way and where can be told from them.
std::string random_pattern(StreamId stream, bool from_opener, size_t at, size_t bytes) {
  std::string text(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) {
    const size_t place = at + i;
    text[i] = static_cast<char>(place * 31 + place / 251 + stream * 7 + (from_opener ? 101 : 0));
  }
  return text;
}

class RandomTraffic {
 public:
  explicit RandomTraffic(uint64_t seed) : rng_(seed), pair_(kSmall) {
    pair_.opener.consumes = pair_.acceptor.consumes = false;
  }

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i) {
      act(rng_.below(2) == 0);
      move(rng_.below(2) == 0);
      pair_.now += std::chrono::microseconds(rng_.below(20'000));
    }
    finish();
    check();
  }

 private:
  struct Way {
    size_t sent = 0;
    bool ended = false;
  };
  struct Life {
    Way ways[2]{};  // from the opener, from the acceptor
    bool is_reset = false;
    bool is_answered = false;
  };

  TestSide& side(bool opener) { return opener ? pair_.opener : pair_.acceptor; }
  StreamId any_stream() {
    auto life = lives_.begin();
    std::advance(life, static_cast<long>(rng_.below(lives_.size())));
    return life->first;
  }

  void act(bool opener) {
    if (lives_.empty() || rng_.below(20) == 0) open();
    if (lives_.empty()) return;
    const StreamId stream = any_stream();
    const uint64_t what = rng_.below(100);
    if (!opener && !lives_[stream].is_answered) return answer();  // it may not even know it
    if (what < 50)
      write(opener, stream, rng_.below(rng_.below(10) == 0 ? 60'000 : 500));
    else if (what < 85)
      consume(opener, stream);
    else if (what < 94)
      answer();
    else if (what < 99)
      end(opener, stream);
    else
      reset(opener, stream);
  }

  void open() {
    const auto stream = pair_.opener.session.open("service");
    if (stream.ok()) lives_[*stream] = {};
  }

  void answer() {
    std::vector<StreamId>& asked = pair_.acceptor.asked;
    if (asked.empty()) return;
    const StreamId stream = asked.back();
    asked.pop_back();
    lives_.at(stream).is_answered = true;
    if (rng_.below(10) == 0) return reset(false, stream);
    pair_.acceptor.session.accept(stream);
  }

  void write(bool opener, StreamId stream, size_t bytes) {
    Way& way = lives_[stream].ways[opener ? 0 : 1];
    if (way.ended || lives_[stream].is_reset) return;
    side(opener).send(stream, random_pattern(stream, opener, way.sent, bytes));
    way.sent += bytes;
  }

  void consume(bool opener, StreamId stream) {
    size_t& held = side(opener).held[stream];
    ASSERT_LE(held, kSmall.max_window);
    const size_t bytes = rng_.below(held + 1);
    held -= bytes;
    side(opener).session.consumed(stream, bytes, pair_.now);
  }

  // As a link does: only when all was sent.
  void end(bool opener, StreamId stream) {
    Life& life = lives_[stream];
    if (life.is_reset || life.ways[opener ? 0 : 1].ended) return;
    if (!side(opener).outgoing[stream].empty()) return;
    life.ways[opener ? 0 : 1].ended = true;
    side(opener).session.end(stream);
  }

  void reset(bool opener, StreamId stream) {
    if (lives_[stream].ways[0].ended && lives_[stream].ways[1].ended) return;
    lives_[stream].is_reset = true;
    side(opener).outgoing[stream].clear();
    side(opener).session.reset(stream, ResetCode::Cancelled, "");
  }

  // Some bytes go on their way, and some of those arrive.
  void move(bool to_acceptor) {
    std::string& wire = wires_[to_acceptor ? 0 : 1];
    if (rng_.below(3) == 0) wire += side(to_acceptor).take(rng_.below(100'000));
    const size_t cut = rng_.below(rng_.below(2) == 0 ? 20 : 50'000) + 1;
    const std::string piece = wire.substr(0, cut);
    wire.erase(0, piece.size());
    const Status status = side(!to_acceptor).receive(piece, pair_.now);
    ASSERT_TRUE(status.ok()) << status;
  }

  // Until nothing is left to send, move or consume.
  void finish() {
    for (int round = 0; round < 10'000; ++round) {
      bool is_quiet = true;
      for (const bool opener : {true, false}) {
        wires_[opener ? 0 : 1] += side(opener).take();
        is_quiet = is_quiet && wires_[opener ? 0 : 1].empty();
        while (!wires_[opener ? 0 : 1].empty()) move(opener);
        for (auto& [stream, held] : side(opener).held) {
          side(opener).session.consumed(stream, std::exchange(held, 0), pair_.now);
        }
      }
      while (!pair_.acceptor.asked.empty()) answer();
      if (is_quiet && !pair_.opener.session.has_control() && !pair_.acceptor.session.has_control())
        return;
    }
    FAIL() << "it does not come to rest";
  }

  void check() {
    size_t running = 0;
    for (const auto& [stream, life] : lives_) {
      for (const bool opener : {true, false}) {
        const Way& way = life.ways[opener ? 0 : 1];
        const std::string came = side(!opener).came(stream);
        ASSERT_EQ(came, random_pattern(stream, opener, 0, came.size())) << stream;
        if (!life.is_reset) {
          ASSERT_EQ(came.size(), way.sent) << stream;
        }
      }
      running += !life.is_reset && !(life.ways[0].ended && life.ways[1].ended) ? 1 : 0;
    }
    EXPECT_EQ(pair_.opener.session.streams(), running);
    EXPECT_EQ(pair_.acceptor.session.streams(), running);
    for (const auto& [stream, life] : lives_) pair_.opener.session.reset(stream, {}, "");
    ASSERT_TRUE(pair_.exchange().ok());
    EXPECT_EQ(pair_.acceptor.session.streams(), 0);
    EXPECT_EQ(pair_.opener.session.grown_window_bytes(), 0);
    EXPECT_EQ(pair_.acceptor.session.grown_window_bytes(), 0);
  }

  Rng rng_;
  SessionPair pair_;
  std::map<StreamId, Life> lives_{};
  std::string wires_[2]{};  // to the acceptor, to the opener
};

TEST(SessionRandom, EveryByteComesOnceAndInOrderWhateverHappens) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    RandomTraffic(seed).run(1'500);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace holdfast::tunnel
