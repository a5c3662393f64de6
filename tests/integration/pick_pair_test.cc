// PickHealthyService and two servers that are halves of a pair: it follows the one that serves,
// refuses the one whose time is over, and misses one that falls silent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <optional>

#include "base/reason.h"
#include "integration/pick_member.h"
#include "rpc/pick_healthy_service.h"
#include "rpc/server_stream.h"

namespace holdfast::rpc {
namespace {

using namespace std::chrono_literals;
using test::Member;
using testing::HasSubstr;
using ResourceMethods = v1::Resources::StubInterface::async_interface;
using EventMethods = v1::Events::StubInterface::async_interface;

constexpr Duration kPickPairPatience = 30s;
// Far above what following takes, far below what any backoff would: base_backoff stays at 2 s.
constexpr Duration kAtOnce = 1500ms;

class PickPairTest : public testing::Test {
 protected:
  PickPairTest() {
    a_.epoch = 1;
    b_.passive = true;
    b_.set_active(a_.address());
  }
  ~PickPairTest() override {
    if (!link_) return;
    asio::co_spawn(io_, link_->stop(), [](const std::exception_ptr&) {});
    EXPECT_TRUE(until([this] { return io_.stopped(); }));
  }

  void start(std::vector<std::string> addresses) {
    PickHealthyServiceOptions options;
    options.core.follow_strangers = follows_strangers_;
    options.fence = {.highest = [this] { return highest_; },
                     .admit = [this](uint64_t epoch) { return admit(epoch); }};
    link_ = std::make_unique<PickHealthyService>(io_.get_executor(), clock_, std::move(addresses),
                                                 ChannelOptions{.connect_timeout = 500ms}, options);
    link_->start();
  }
  void start_on_a() {
    start({a_.address(), b_.address()});
    ASSERT_EQ(get(), "a");
    ASSERT_TRUE(until([this] { return a_.health_watches == 1 && b_.health_watches == 0; }));
  }
  Status admit(uint64_t epoch) {
    if (epoch < highest_) return coded(absl::StatusCode::kUnavailable, "HF4302", "it is over");
    highest_ = epoch;
    return absl::OkStatus();
  }
  // As a planned switchover does.
  void switch_to_b() {
    a_.set_active(b_.address());
    a_.passive = true;
    b_.epoch = 2;
    b_.passive = false;
  }

  bool until(const std::function<bool()>& condition) {
    const Time deadline = clock_.now() + kPickPairPatience;
    while (!condition()) {
      if (clock_.now() > deadline) return false;
      io_.restart();
      io_.run_for(5ms);
    }
    return true;
  }
  template <typename T>
  T run(asio::awaitable<T> work) {
    std::optional<T> result;
    asio::co_spawn(io_, std::move(work),
                   [&result](std::exception_ptr, T value) { result = std::move(value); });
    HF_CHECK(until([&result] { return result.has_value(); }), "the work ends");
    return *std::move(result);
  }
  // The name of the member that answers, or why none does.
  std::string get(Duration timeout = 10s, Repeat repeat = Repeat::Safe) {
    const auto answer = run(link_->call<v1::Resources>(&ResourceMethods::Get, {},
                                                       {.timeout = timeout, .repeat = repeat}));
    return answer.ok() ? answer->metadata().name() : answer.status().ToString();
  }

  asio::io_context io_;
  SystemClock clock_;
  Member a_{"a", {.mode = "pick_first"}};
  Member b_{"b", {.mode = "pick_first"}};
  bool follows_strangers_ = false;
  uint64_t highest_ = 0;
  std::unique_ptr<PickHealthyService> link_;
};

TEST_F(PickPairTest, ARefusedCallIsAnsweredByTheHalfThatServesWithinItsTime) {
  start_on_a();

  switch_to_b();

  EXPECT_EQ(get(kAtOnce), "b");
  EXPECT_EQ(highest_, 2u);
}

TEST_F(PickPairTest, WhoAsksThePassiveHalfFirstIsServedByTheOther) {
  start({b_.address(), a_.address()});

  EXPECT_EQ(get(kAtOnce), "a");
}

TEST_F(PickPairTest, ACallThatMayNotBeRepeatedIsNot) {
  start_on_a();
  const int before = b_.gets;

  a_.passive = true;

  EXPECT_THAT(get(kAtOnce, Repeat::Never), HasSubstr("HF4101"));
  EXPECT_EQ(b_.gets, before);
}

// The first half may have carried it out before it fell: that no half serves afterwards does not
// mean that nothing was done.
TEST_F(PickPairTest, ACallThatMayHaveBeenCarriedOutIsNotReportedAsRefused) {
  start_on_a();
  a_.set_active(b_.address());
  a_.unavailable = true;
  const int before = a_.gets;
  std::optional<Status> ended;
  asio::co_spawn(io_,
                 link_->call<v1::Resources>(&ResourceMethods::Get, {},
                                            {.timeout = 3s, .repeat = Repeat::Safe}),
                 [&ended](std::exception_ptr, const auto& answer) { ended = answer.status(); });
  ASSERT_TRUE(until([&] { return a_.gets > before; }));

  a_.passive = true;
  a_.unavailable = false;

  const int refused = a_.refusals + b_.refusals;
  ASSERT_TRUE(until([&] { return ended.has_value(); }));
  EXPECT_GT(a_.refusals + b_.refusals, refused) << "the last word was a refusal";
  EXPECT_THAT(ended->ToString(), HasSubstr("as asked"));
}

TEST_F(PickPairTest, AnIdleClientMovesWhenItsHalfStopsServing) {
  start_on_a();
  const Time begun = clock_.now();

  switch_to_b();

  ASSERT_TRUE(
      until([this] { return link_->picked() && link_->picked()->address == b_.address(); }));
  EXPECT_LT(clock_.now() - begun, kAtOnce);
}

TEST_F(PickPairTest, AStrangerThatIsNamedIsDialledIfTheClientKnowsItByItsCertificate) {
  follows_strangers_ = true;
  start({b_.address()});

  EXPECT_EQ(get(kAtOnce), "a");
}

TEST_F(PickPairTest, OtherwiseItIsNot) {
  start({b_.address()});

  EXPECT_THAT(get(kAtOnce), HasSubstr("HF4101"));
  EXPECT_EQ(a_.gets, 0);
}

TEST_F(PickPairTest, WhenNeitherServesTheyAreNotStormed) {
  start_on_a();
  a_.set_active(b_.address());
  a_.passive = true;
  const uint64_t dialled = link_->stats().dialled;

  EXPECT_THAT(get(3s), HasSubstr("HF4101"));

  EXPECT_LE(link_->stats().dialled - dialled, 16u);
  b_.epoch = 2;
  b_.passive = false;
  EXPECT_EQ(get(), "b");
}

TEST_F(PickPairTest, TheHighestEpochGoesWithEveryCall) {
  highest_ = 1;

  start_on_a();

  EXPECT_EQ(a_.heard_epoch, 1u);
}

TEST_F(PickPairTest, AnAnswerWhoseEpochIsOverIsNotGivenToTheCaller) {
  start_on_a();
  // It froze before b took over, and knows nothing of it.
  b_.epoch = 2;
  b_.passive = false;
  highest_ = 2;

  EXPECT_EQ(get(kAtOnce), "b");
  EXPECT_GE(a_.gets, 2) << "it was asked, and answered";
  EXPECT_GE(link_->stats().not_active, 1u);
}

TEST_F(PickPairTest, AControllerWithoutAnEpochIsRefusedOnceAPairWasSeen) {
  highest_ = 2;
  a_.epoch = 0;
  start({a_.address()});

  EXPECT_THAT(get(kAtOnce), HasSubstr("HF4302"));
}

TEST_F(PickPairTest, APassiveHalfThatKnowsLessStillSaysWhoServes) {
  highest_ = 4;
  a_.epoch = 5;
  b_.epoch = 2;
  follows_strangers_ = true;
  start({b_.address()});

  EXPECT_EQ(get(kAtOnce), "a");
}

TEST_F(PickPairTest, AStreamOfAnEpochThatIsOverEndsBeforeItsFirstMessageIsSeen) {
  start_on_a();
  const Pinned pinned = link_->picked();
  highest_ = 2;
  const auto stub = v1::Events::NewStub(pinned->channel);
  ServerStream<v1::WatchResponse> stream(io_.get_executor());

  stream.start(static_cast<EventMethods&>(*stub->async()), &EventMethods::Watch, {},
               link_->stream_options(pinned));

  EXPECT_FALSE(run(stream.read()).has_value());
  EXPECT_EQ(split_reason(run(stream.finish())).code, "HF4302");
  EXPECT_GE(link_->stats().not_active, 1u);
}

TEST_F(PickPairTest, AStreamThatIsRefusedMovesTheClientToo) {
  start_on_a();
  const Pinned pinned = link_->picked();
  switch_to_b();
  const auto stub = v1::Events::NewStub(pinned->channel);
  ServerStream<v1::WatchResponse> stream(io_.get_executor());

  stream.start(static_cast<EventMethods&>(*stub->async()), &EventMethods::Watch, {},
               link_->stream_options(pinned));

  EXPECT_FALSE(run(stream.read()).has_value());
  EXPECT_EQ(split_reason(run(stream.finish())).code, "HF4101");
  EXPECT_TRUE(
      until([this] { return link_->picked() && link_->picked()->address == b_.address(); }));
}

TEST_F(PickPairTest, AnIdleClientMissesAServerThatFallsSilent) {
  a_.beat_ms = 200;
  start_on_a();
  ASSERT_TRUE(until([this] { return a_.gets >= 1; }));
  b_.epoch = 2;
  b_.passive = false;
  const Time begun = clock_.now();

  a_.silent = true;

  ASSERT_TRUE(
      until([this] { return link_->picked() && link_->picked()->address == b_.address(); }));
  EXPECT_LT(clock_.now() - begun, 3s);
  EXPECT_EQ(link_->stats().missed_beats, 1u);
  a_.silent = false;
}

}  // namespace
}  // namespace holdfast::rpc
