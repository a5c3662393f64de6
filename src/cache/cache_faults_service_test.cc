// A cache service when things break: upstream at any operation, the disk, the process, and a stop
// at any moment.
#include "base/private_file.h"
#include "base/reason.h"
#include "cache/cache_fixture_service.h"
#include "support/temp_dir.h"

namespace holdfast::cache {
namespace {

using testing::HasSubstr;

class CacheFaults : public CacheServiceTest {
 protected:
  CacheFaults() {
    for (const char* name : {"edge-1", "edge-2", "edge-3"}) upstream_.put(Kind::Agent, name);
    upstream_.put(Kind::Service, "web");
  }
  CacheServiceOptions with_copy(std::string version = "1.0") const {
    CacheServiceOptions made = options();
    made.copy = {.folder = dir_.file("data"),
                 .owner = {.schema = std::move(version), .cluster = "demo", .node = "edge-1"},
                 .limits = {}};
    return made;
  }
  static bool is_whole(const CacheService& cache) {
    return all_cached(cache) && row(cache, "agent").items() == 3 &&
           row(cache, "service").items() == 1;
  }
  // How many operations a start needs if all goes well.
  size_t operations_of_a_start() {
    const auto cache = make(options());
    run(cache->start());
    settle();
    const size_t count = upstream_.operations;
    run(cache->stop());
    return count;
  }

  test::TempDir dir_;
};

TEST_F(CacheFaults, ConvergesWhicheverOperationFailsAndHowever) {
  const size_t count = operations_of_a_start();
  ASSERT_GE(count, 5u) << "a watch, its messages, and pages of two kinds";
  for (const absl::StatusCode code :
       {absl::StatusCode::kUnavailable, absl::StatusCode::kAborted, absl::StatusCode::kOutOfRange,
        absl::StatusCode::kDeadlineExceeded, absl::StatusCode::kInternal,
        absl::StatusCode::kPermissionDenied}) {
    for (size_t nth = 1; nth <= count; ++nth) {
      upstream_.operations = 0;
      upstream_.fail_at = nth;
      upstream_.failure = Status(code, "told to fail");
      const auto cache = make(options());

      run(cache->start());

      EXPECT_TRUE(run_until([&] { return is_whole(*cache); })) << code << " at " << nth;
      run(cache->stop());
      EXPECT_EQ(upstream_.streams(), 0u);
    }
  }
}

TEST_F(CacheFaults, ConvergesWhicheverOperationHangs) {
  const size_t count = operations_of_a_start();
  for (size_t nth = 1; nth <= count; ++nth) {
    upstream_.operations = 0;
    upstream_.hang_at = nth;
    CacheServiceOptions hasty = options();
    hasty.first_wait = 5ms;
    hasty.cache.init_timeout = 10ms;
    const auto cache = make(hasty);

    run(cache->start());
    // Upstream's contract: every call but next() ends. What hangs ends when the stream does.
    upstream_.end_hanging();

    EXPECT_TRUE(run_until([&] { return is_whole(*cache); })) << nth;
    run(cache->stop());
  }
}

TEST_F(CacheFaults, StopsWhereverItIs) {
  bool started = false;
  for (int turns = 0; !started; ++turns) {
    ASSERT_LT(turns, 1'000);
    const auto cache = make(with_copy());
    bool stopped = false;
    size_t answers = 0;
    const auto answered = [&](const std::exception_ptr&, const Result<Read<Shared>>&) {
      answers += 1;
    };
    asio::co_spawn(io_, cache->start(), [&](const std::exception_ptr&) { started = true; });
    asio::co_spawn(io_, cache->get_one<Kind::Agent>("edge-1"), answered);
    asio::co_spawn(io_, cache->get_one<Kind::Role>("admin"), answered);
    for (int turn = 0; turn < turns; ++turn) {
      io_.restart();
      if (io_.run_one_for(20ms) == 0) break;
    }
    const bool was_started = started;

    asio::co_spawn(io_, cache->stop(), [&](const std::exception_ptr&) { stopped = true; });

    EXPECT_TRUE(run_until([&] { return stopped; })) << "after " << turns << " turns";
    EXPECT_TRUE(run_until([&] { return started; })) << "start() returns too";
    EXPECT_EQ(answers, 2u);
    EXPECT_EQ(upstream_.streams(), 0u);
    started = was_started;
  }
}

TEST_F(CacheFaults, StopsWhicheverOperationHangs) {
  const size_t count = operations_of_a_start();
  for (size_t nth = 1; nth <= count; ++nth) {
    upstream_.operations = 0;
    upstream_.hang_at = nth;
    CacheServiceOptions hasty = options();
    hasty.first_wait = 2ms;
    const auto cache = make(hasty);
    run(cache->start());

    run(cache->stop());

    EXPECT_EQ(upstream_.streams(), 0u) << nth;
  }
}

TEST_F(CacheFaults, AReadIsEndedByAStop) {
  const auto cache = make(options());
  run(cache->start());
  upstream_.hang_gets = true;
  Status status;
  asio::co_spawn(
      io_, cache->get_one<Kind::Role>("admin"),
      [&](const std::exception_ptr&, const Result<Read<Shared>>& read) { status = read.status(); });
  settle();

  run(cache->stop());

  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(ask(cache->get_one<Kind::Role>("admin")).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(CacheFaults, ALoadGoesOnWhenWhoAskedGivesUp) {
  const auto cache = make(options());
  run(cache->start());
  upstream_.put(Kind::Role, "admin");
  upstream_.hang_at = upstream_.operations + 1;
  net::TaskGroup impatient(io_.get_executor());
  const auto asking = [&]() -> asio::awaitable<void> {
    (void)co_await cache->get_one<Kind::Role>("admin");
  };
  impatient.spawn(asking());
  settle();

  run(impatient.join());
  settle();
  Result<Read<Shared>> second = absl::UnknownError("");
  asio::co_spawn(io_, cache->get_one<Kind::Role>("admin"),
                 [&](const std::exception_ptr&, Result<Read<Shared>> read) { second = read; });
  settle();
  EXPECT_EQ(upstream_.gets["role"], 1u) << "the second joined what the first had begun";
  upstream_.end_hanging();

  EXPECT_TRUE(run_until([&] { return second.status().code() == absl::StatusCode::kCancelled; }));
  run(cache->stop());
}

TEST_F(CacheFaults, StartsFromItsCopyWhileUpstreamIsGone) {
  {
    const auto before = make(with_copy());
    run(before->start());
    upstream_.put(Kind::Agent, "edge-4");
    ASSERT_TRUE(run_until([&] { return row(*before, "agent").items() == 4; }));
    run(before->stop());
  }
  upstream_.gone = true;
  clock_.advance(1h);
  CacheServiceOptions patient = with_copy();
  patient.cache.kinds[0].max_staleness = 24h;
  const auto after = make(patient);

  run(after->start());
  const auto read = ask(after->get_one<Kind::Agent>("edge-4"));

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->source, Source::Stale);
  EXPECT_GE(read->age, 1h);
  EXPECT_EQ(row(*after, "agent").source(), "stale");
  EXPECT_EQ(row(*after, "agent").code(), "HF1205");
  EXPECT_EQ(row(*after, "agent").generation(), 0u);
  upstream_.come_back();
  EXPECT_TRUE(run_until([&] { return all_cached(*after); }));
  run(after->stop());
}

TEST_F(CacheFaults, ACopyThatIsNotItsOwnLeavesItEmptyAndSaysWhy) {
  {
    const auto before = make(with_copy("1.0"));
    run(before->start());
    run(before->stop());
  }
  upstream_.gone = true;
  const auto newer = make(with_copy("2.0"));
  run(newer->start());

  EXPECT_EQ(row(*newer, "agent").source(), "upstream");
  EXPECT_EQ(row(*newer, "agent").items(), 0u);
  EXPECT_THAT(row(*newer, "agent").reason(), HasSubstr("HF1252"));
  EXPECT_THAT(row(*newer, "agent").reason(), HasSubstr("version \"1.0\" wrote it"));
  run(newer->stop());

  ASSERT_TRUE(write_private_file(dir_.file("data/cache.key"), std::string(32, 'k')).ok());
  const auto another_key = make(with_copy("1.0"));
  run(another_key->start());

  EXPECT_EQ(row(*another_key, "agent").items(), 0u);
  EXPECT_EQ(split_reason(another_key->load_status()).code, "HF1251");
  another_key->update_metrics();
  EXPECT_THAT(registry_.expose(),
              HasSubstr("holdfast_cache_copy_failures_total{operation=\"load\"} 1"));
  run(another_key->stop());
}

TEST_F(CacheFaults, GoesOnWithoutACopyIfTheDiskTakesNone) {
  ASSERT_TRUE(write_private_file(dir_.file("data"), "a file where a folder should be").ok());
  const auto cache = make(with_copy());

  run(cache->start());
  ASSERT_TRUE(run_until([&] { return !cache->save_status().ok(); }));

  EXPECT_EQ(split_reason(cache->save_status()).code, "HF1255");
  EXPECT_TRUE(is_whole(*cache));
  std::filesystem::remove(dir_.file("data"));
  EXPECT_TRUE(run_until([&] { return cache->save_status().ok(); })) << "it tries again";
  run(cache->stop());
}

TEST_F(CacheFaults, SavesWithoutBeingStopped) {
  const auto cache = make(with_copy());
  run(cache->start());
  const auto saved_items = [&] {
    const auto copy = load_copy(with_copy().copy);
    return copy.ok() && !copy->kinds.empty() ? copy->kinds[0].items.size() : 0;
  };
  ASSERT_TRUE(run_until([&] { return saved_items() == 3; })) << "after the first generation";

  upstream_.put(Kind::Agent, "edge-4");

  EXPECT_TRUE(run_until([&] { return saved_items() == 4; })) << "and when something has changed";
  run(cache->stop());
}

TEST_F(CacheFaults, ACacheOnACacheConvergesAndLearnsThatItIsStale) {
  const auto near = make(options());
  const auto far = make_on(*near, options());
  run(near->start());
  run(far->start());
  ASSERT_TRUE(run_until([&] { return is_whole(*far); }));

  upstream_.put(Kind::Agent, "edge-4");
  upstream_.erase(Kind::Service, "web");
  EXPECT_TRUE(run_until(
      [&] { return row(*far, "agent").items() == 4 && row(*far, "service").items() == 0; }));

  upstream_.leave();
  EXPECT_TRUE(run_until([&] { return row(*far, "agent").source() == "stale"; }));
  const auto read = ask(far->get_one<Kind::Agent>("edge-4"));
  EXPECT_EQ(read->source, Source::Stale);

  upstream_.put(Kind::Agent, "edge-5");
  upstream_.come_back();
  EXPECT_TRUE(run_until([&] { return all_cached(*far) && row(*far, "agent").items() == 5; }));
  run(far->stop());
  run(near->stop());
}

TEST_F(CacheFaults, AStreamOfACacheThatIsGoneEnds) {
  auto cache = make(options());
  run(cache->start());
  v1::WatchRequest request;
  request.add_kinds()->set_kind("agent");
  auto stream = ask(cache->watch(request));
  ASSERT_TRUE(stream.ok()) << stream.status();
  const auto init = ask((*stream)->next());
  ASSERT_TRUE(init.ok());
  EXPECT_EQ(init->events(0).type(), v1::EVENT_TYPE_INIT);

  run(cache->stop());
  const Status ended = ask((*stream)->next()).status();
  cache.reset();

  EXPECT_EQ(ended.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(ask((*stream)->next()).status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace holdfast::cache
