#include "store/replicated_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/reason.h"
#include "store/local_watch.h"
#include "store/memory_store.h"
#include "store/store_contract_fixture.h"

namespace holdfast::store {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;

// A pair as a test wants it: acknowledges up to `through`, fails the waits of who is told so.
class FakeAdmission final : public Admission {
 public:
  explicit FakeAdmission(const asio::any_io_executor& executor) : changed_(executor) {}

  Status may_write() const override { return granted-- > 0 ? absl::OkStatus() : write; }
  Status may_read() const override { return read; }
  uint64_t activation() const override { return activated; }
  Revision acknowledged_through() const override { return through; }
  asio::awaitable<Status> acknowledged(Revision revision) override {
    waits += 1;
    while (through < revision && fails.ok()) co_await changed_.wait();
    co_return through >= revision ? absl::OkStatus() : fails;
  }
  void acknowledge(Revision revision) {
    through = revision;
    changed_.notify_all();
  }
  void fail(Status why) {
    fails = std::move(why);
    changed_.notify_all();
  }

  Status write, read, fails;
  mutable int granted = 0;  // writes, whatever `write` says
  uint64_t activated = 1;
  Revision through = kFirstRevision;
  int waits = 0;

 private:
  Signal changed_;
};

// What a coroutine answered, once it has.
template <typename T>
struct Answer {
  std::optional<T> value;
};

class Replicated : public testing::Test {
 protected:
  template <typename T>
  std::unique_ptr<Answer<T>> start(asio::awaitable<T> work) {
    auto answer = std::make_unique<Answer<T>>();
    asio::co_spawn(io_, std::move(work), [to = answer.get()](std::exception_ptr, T value) {
      to->value.emplace(std::move(value));
    });
    settle();
    return answer;
  }
  // Runs all that can run; nothing here waits for a clock.
  void settle() {
    io_.restart();
    while (io_.poll() > 0) io_.restart();
  }
  // Written by this half and not acknowledged.
  Revision write(std::vector<Operation> operations) {
    const auto revision = store::run(io_, inner_.commit(std::move(operations)));
    HF_CHECK(revision.ok(), revision.status().ToString());
    return *revision;
  }
  void acknowledge(Revision revision) {
    admission_.acknowledge(revision);
    settle();
  }
  void become_passive() {
    const Status passive = coded(StatusCode::kUnavailable, "HF4101", "the active is at b:1");
    admission_.write = passive;
    admission_.read = passive;
    admission_.fail(passive);
    settle();
  }

  asio::io_context io_;
  MemoryStore inner_{io_.get_executor(), {}};
  FakeAdmission admission_{io_.get_executor()};
  ReplicatedStore store_{inner_, admission_};
};

TEST_F(Replicated, ACommitIsAnsweredWhenItIsAcknowledged) {
  const auto commit = start(store_.commit({put("a", "1")}));
  EXPECT_FALSE(commit->value);
  EXPECT_TRUE(store::run(io_, inner_.get("a")).ok()) << "it is written here";

  acknowledge(2);

  ASSERT_TRUE(commit->value);
  EXPECT_EQ(commit->value->value_or(0), 2);
}

TEST_F(Replicated, ACommitThatIsNotAcknowledgedHasAnUnknownOutcome) {
  const auto commit = start(store_.commit({put("a", "1")}));

  admission_.fail(absl::DeadlineExceededError("the peer is silent"));
  settle();

  ASSERT_TRUE(commit->value);
  const Status status = commit->value->status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(split_reason(status).code, "HF4115");
  EXPECT_THAT(std::string(status.message()), HasSubstr("outcome unknown"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("the peer is silent"));
}

TEST_F(Replicated, ACommitThatOutlivedAnActivationHasAnUnknownOutcome) {
  const auto commit = start(store_.commit({put("a", "1")}));

  admission_.activated = 2;
  acknowledge(9);  // of another history, by its number

  ASSERT_TRUE(commit->value);
  EXPECT_THAT(std::string(commit->value->status().message()), HasSubstr("outcome unknown"));
}

TEST_F(Replicated, APassiveHalfRefusesWithTheActivesAddress) {
  write({put("a", "1")});
  become_passive();

  const std::vector<Status> refused = {
      store::run(io_, store_.commit({put("a", "2")})).status(),
      store::run(io_, store_.expire(WallTime(), 1)).status(),
      store::run(io_, store_.compact(1)),
      store::run(io_, store_.get("a")).status(),
      store::run(io_, store_.range(request(KeyRange{}))).status(),
      store::run(io_, store_.watch(KeyRange{}, 1)).status(),
  };

  for (const Status& status : refused) {
    EXPECT_EQ(status, coded(StatusCode::kUnavailable, "HF4101", "the active is at b:1"));
  }
  EXPECT_EQ(store::run(io_, inner_.get("a"))->value, "1");
}

TEST_F(Replicated, AReadWaitsForWhatItSaw) {
  write({put("a", "1")});
  const auto get = start(store_.get("a"));
  const auto range = start(store_.range(request(KeyRange{})));
  EXPECT_FALSE(get->value);
  EXPECT_FALSE(range->value);

  acknowledge(2);

  ASSERT_TRUE(get->value && range->value);
  EXPECT_EQ((*get->value)->value, "1");
  EXPECT_EQ((*range->value)->items.size(), 1u);
  EXPECT_EQ((*range->value)->revision, 2);
}

TEST_F(Replicated, AReadDoesNotWaitForWhatItDidNotSee) {
  acknowledge(write({put("a", "1")}));
  write({put("b", "2")});

  const auto get = start(store_.get("a"));
  const auto absent = start(store_.get("c"));

  ASSERT_TRUE(get->value);
  EXPECT_EQ((*get->value)->value, "1");
  EXPECT_FALSE(absent->value) << "its deletion could be what is not acknowledged";
  acknowledge(3);
  ASSERT_TRUE(absent->value);
  EXPECT_EQ(absent->value->status().code(), StatusCode::kNotFound);
}

TEST_F(Replicated, AReadIsAnsweredOnlyWhileTheLeaseHolds) {
  acknowledge(write({put("a", "1")}));
  write({put("a", "2")});
  const auto get = start(store_.get("a"));

  admission_.read = absl::UnavailableError("no lease");
  acknowledge(3);

  ASSERT_TRUE(get->value);
  EXPECT_EQ(get->value->status(), absl::UnavailableError("no lease"));
}

TEST_F(Replicated, AReadThatIsNotAcknowledgedFails) {
  write({put("a", "1")});
  const auto get = start(store_.get("a"));

  admission_.fail(absl::DeadlineExceededError("the peer is silent"));
  settle();

  ASSERT_TRUE(get->value);
  EXPECT_EQ(get->value->status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(split_reason(get->value->status()).code, "HF4115");
}

TEST_F(Replicated, AReadThatOutlivedAnActivationFails) {
  write({put("a", "1")});
  const auto range = start(store_.range(request(KeyRange{})));

  admission_.activated = 2;
  acknowledge(9);

  ASSERT_TRUE(range->value);
  EXPECT_EQ(range->value->status().code(), StatusCode::kUnavailable);
}

TEST_F(Replicated, AFailedPreconditionIsAReadOfWhatIsStored) {
  write({put("a", "1")});
  const auto create = start(store_.commit({put("a", "2", Precondition::Absent)}));
  EXPECT_FALSE(create->value) << "what is in its way may yet be lost";

  acknowledge(2);

  ASSERT_TRUE(create->value);
  EXPECT_EQ(create->value->status().code(), StatusCode::kAlreadyExists);
}

TEST_F(Replicated, ACommitThatOnlyReadNeedsTheLease) {
  acknowledge(write({put("a", "1")}));
  admission_.read = absl::UnavailableError("no lease");

  const auto check = store::run(io_, store_.commit({store::check("a", Precondition::Present)}));
  const auto put_it = start(store_.commit({put("a", "2")}));
  acknowledge(3);

  EXPECT_EQ(check.status().code(), StatusCode::kUnavailable);
  ASSERT_TRUE(put_it->value);
  EXPECT_TRUE(put_it->value->ok()) << "every member has it";
}

TEST_F(Replicated, AStoreThatFollowsByNowSaysWhoIsActive) {
  ASSERT_TRUE(store::run(io_, inner_.promise(2)).ok());
  become_passive();
  admission_.granted = 1;  // asked a moment before

  const auto late = store::run(io_, store_.commit({put("a", "1")}));

  EXPECT_EQ(split_reason(late.status()).code, "HF4101");
}

class ReplicatedWatchTest : public Replicated {
 protected:
  std::unique_ptr<Watch> open(KeyRange range, Revision after) {
    auto opened = store::run(io_, store_.watch(std::move(range), after));
    HF_CHECK(opened.ok(), opened.status().ToString());
    return *std::move(opened);
  }
};

TEST_F(ReplicatedWatchTest, HandsOutNothingThatIsNotAcknowledged) {
  const auto watch = open(KeyRange{}, kFirstRevision);
  write({put("a", "1")});
  write({put("a", "2")});
  const auto next = start(watch->next());
  acknowledge(2);
  EXPECT_FALSE(next->value) << "it saw both together";
  EXPECT_EQ(watch->reached(), kFirstRevision);

  acknowledge(3);

  ASSERT_TRUE(next->value);
  EXPECT_THAT(texts(**next->value, 1), ElementsAre("put a=1@1", "put a=2@2"));
  EXPECT_EQ(watch->reached(), 3);
}

TEST_F(ReplicatedWatchTest, HasReachedOnlyWhatIsAcknowledged) {
  const auto watch = open(prefix_range("a"), kFirstRevision);
  const auto next = start(watch->next());
  write({put("b", "outside")});
  write({put("b", "outside")});
  settle();
  EXPECT_EQ(watch->reached(), 1);

  acknowledge(2);
  EXPECT_EQ(watch->reached(), 2);
  write({put("a", "inside")});
  settle();
  EXPECT_EQ(watch->reached(), 2);
  acknowledge(3);
  EXPECT_FALSE(next->value);
  EXPECT_EQ(watch->reached(), 2) << "what it holds is not handed out";
  acknowledge(4);

  ASSERT_TRUE(next->value);
  EXPECT_EQ(watch->reached(), 4);
}

TEST_F(ReplicatedWatchTest, AFailedWaitLosesNoChange) {
  const auto watch = open(KeyRange{}, kFirstRevision);
  write({put("a", "1")});
  const auto failed = start(watch->next());
  admission_.fail(absl::UnavailableError("the peer is silent"));
  settle();
  ASSERT_TRUE(failed->value);
  EXPECT_EQ(failed->value->status(), absl::UnavailableError("the peer is silent"));

  admission_.fail(absl::OkStatus());
  acknowledge(2);
  const auto again = start(watch->next());

  ASSERT_TRUE(again->value);
  EXPECT_THAT(texts(**again->value, 1), ElementsAre("put a=1@1"));
}

TEST_F(ReplicatedWatchTest, EndsWithTheReasonWhenThisHalfStopsBeingActive) {
  const auto idle = open(prefix_range("nothing"), kFirstRevision);
  const auto busy = open(KeyRange{}, kFirstRevision);
  write({put("a", "1")});
  const auto idle_next = start(idle->next());
  const auto busy_next = start(busy->next());

  store_.end_watches(absl::UnavailableError("HF4101: not here"));
  become_passive();

  ASSERT_TRUE(idle_next->value && busy_next->value);
  EXPECT_EQ(idle_next->value->status(), absl::UnavailableError("HF4101: not here"));
  EXPECT_EQ(busy_next->value->status(), absl::UnavailableError("HF4101: not here"));
  EXPECT_EQ(start(idle->next())->value->status(), absl::UnavailableError("HF4101: not here"));
}

TEST_F(ReplicatedWatchTest, DoesNotGoOnInAnotherActivation) {
  const auto watch = open(KeyRange{}, kFirstRevision);
  admission_.activated = 2;
  write({put("a", "1")});
  acknowledge(2);

  const auto next = start(watch->next());

  ASSERT_TRUE(next->value);
  EXPECT_EQ(next->value->status().code(), StatusCode::kOutOfRange);
}

TEST_F(ReplicatedWatchTest, AClosedOneIsCancelledWhenItsWaitEnds) {
  const auto watch = open(KeyRange{}, kFirstRevision);
  write({put("a", "1")});
  const auto next = start(watch->next());

  watch->close();
  acknowledge(2);

  ASSERT_TRUE(next->value);
  EXPECT_EQ(next->value->status().code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace holdfast::store
